import type { Event } from '../../platform/cloudevents/cloud-event.ts'
import { type KubernetesObject, nameOf } from '../../platform/kubernetes/objects.ts'
import type { ChangeEvent } from '../api/api.ts'

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
export const sourceEvent = ({ type, object }: ChangeEvent): Event | undefined => {
  if (!isWatched(object)) return undefined
  const verb = VERBS[type]
  const { apiVersion, kind, metadata } = object
  if (PASSED[kind]?.includes(verb) === false) return undefined
  return {
    id: crypto.randomUUID(),
    source: 'http://embedded',
    type: `dev.knative.apiserver.resource.${verb}`,
    subject: nameOf({ kind, ...metadata }).replace(' ', '/'),
    time: new Date().toISOString(),
    datacontenttype: 'application/json',
    extensions: { apiversion: apiVersion, kind, name: metadata.name, namespace: metadata.namespace ?? '' },
    data: object,
  }
}
