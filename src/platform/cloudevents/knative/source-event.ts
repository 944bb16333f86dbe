import { type KubernetesObject, nameOf } from '../../kubernetes/objects.ts'
import type { Event } from '../cloud-event.ts'

/** A change of an object, as a watch tells it. */
export type ObjectEvent = { readonly type: keyof typeof VERBS; readonly object: KubernetesObject }

const VERBS = { ADDED: 'add', MODIFIED: 'update', DELETED: 'delete' } as const

/** The events that the manifests' Triggers pass on, by kind. Of other kinds they pass on all. */
const PASSED: Readonly<Record<string, readonly string[]>> = { Pod: ['add', 'delete'], Deployment: ['update'] }

/** Tells if the manifests' sources watch an object. */
const isWatched = ({ kind, metadata }: KubernetesObject): boolean =>
  kind === 'Pod' ||
  (kind === 'Deployment' &&
    ['gateway.networking.k8s.io/gateway-name', 'meshstep.dev/application'].every((label) =>
      Object.hasOwn(metadata.labels ?? {}, label),
    )) ||
  (kind === 'ConfigMap' && ['relation', 'config'].includes(metadata.labels?.['meshstep.dev/kind'] ?? ''))

/** The event of Knative's ApiServerSource for a change; undefined for one that it does not watch. */
export const sourceEvent = ({ type, object }: ObjectEvent): Event | undefined => {
  if (!isWatched(object)) return undefined
  const verb = VERBS[type]
  const { apiVersion, kind, metadata } = object
  if (PASSED[kind]?.includes(verb) === false) return undefined
  return {
    id: crypto.randomUUID(),
    source: 'https://kubernetes.default.svc',
    type: `dev.knative.apiserver.resource.${verb}`,
    subject: nameOf({ kind, ...metadata }).replace(' ', '/'),
    time: new Date().toISOString(),
    datacontenttype: 'application/json',
    extensions: { apiversion: apiVersion, kind, name: metadata.name, namespace: metadata.namespace ?? '' },
    data: object,
  }
}
