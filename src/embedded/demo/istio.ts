import type { KubernetesObject } from '../../kubernetes/objects.ts'
import type { EmbeddedApi } from '../api.ts'
import { kindOf } from '../kinds.ts'
import { demoWaypointObjects } from './waypoint-objects.ts'

const GATEWAY = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway' }
const AUTOSCALER = { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' }

type Named = { apiVersion: string; kind: string; metadata: { name: string; namespace?: string } }

/**
 * Does what Istio's gateway controller does: a Gateway of the class istio-waypoint gets a ServiceAccount, a Deployment and a Service of
 * its name, which go with it, and a status. It acts within the write that it reacts to; what it finds done it leaves alone.
 */
export const startIstio = ({ api }: { api: EmbeddedApi }): { stop(): void } => {
  const react = (object: KubernetesObject): void => {
    const name = gatewayName(object)
    if (name !== undefined) settle(api, object.metadata.namespace, name)
  }
  for (const object of api.objects()) react(object)
  return { stop: api.subscribe(({ object }) => react(object)) }
}

/** Of the Gateway that an object is, belongs to, or, as an autoscaler, scales. */
const gatewayName = ({ kind, metadata }: KubernetesObject): string | undefined => {
  if (kind === GATEWAY.kind || kind === AUTOSCALER.kind) return metadata.name
  const owners = (metadata.ownerReferences ?? []) as { kind: string; name: string }[]
  return owners.find((owner) => owner.kind === GATEWAY.kind)?.name
}

/** The Gateway is read as it is now: it may be gone since the change that is told. */
const settle = (api: EmbeddedApi, namespace: string | undefined, name: string): void => {
  const metadata = { name, ...(namespace !== undefined && { namespace }) }
  const gateway = find(api, { ...GATEWAY, metadata })
  if (gateway?.spec?.gatewayClassName !== 'istio-waypoint' || gateway.metadata.deletionTimestamp !== undefined) return
  const scaled = find(api, { ...AUTOSCALER, metadata })?.spec?.minReplicas
  const objects = demoWaypointObjects(gateway, typeof scaled === 'number' ? scaled : 1)
  const refusals = objects.flatMap((object) => apply(api, object) ?? [])
  apply(api, { ...GATEWAY, metadata, status: statusOf(gateway, refusals[0]) }, '/status')
}

const statusOf = ({ metadata }: KubernetesObject, refusal: string | undefined) => {
  const { name, namespace, generation: observedGeneration, creationTimestamp: lastTransitionTime } = metadata
  const since = { observedGeneration, lastTransitionTime }
  const programmed =
    refusal === undefined
      ? { status: 'True', reason: 'Programmed', message: 'Resource programmed' }
      : { status: 'False', reason: 'Invalid', message: refusal }
  return {
    addresses: refusal === undefined ? [{ type: 'Hostname', value: `${name}.${namespace}.svc.cluster.local` }] : [],
    conditions: [
      { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'Resource accepted', ...since },
      { type: 'Programmed', ...programmed, ...since },
    ],
  }
}

const pathOf = ({ apiVersion, kind, metadata: { namespace, name } }: Named): string => {
  const root = apiVersion.includes('/') ? 'apis' : 'api'
  return `/${root}/${apiVersion}/namespaces/${namespace}/${kindOf(apiVersion, kind)?.plural}/${name}`
}

const find = (api: EmbeddedApi, object: Named): KubernetesObject | undefined => {
  const { status, body } = api.handle({ method: 'GET', path: pathOf(object), headers: {} })
  return status === 200 ? JSON.parse(body) : undefined
}

/** Applies an object as Istio does. Returns the reason for a refusal, else undefined. */
const apply = (api: EmbeddedApi, object: Named & { status?: unknown }, subresource = ''): string | undefined => {
  const { status, body } = api.handle({
    method: 'PATCH',
    path: `${pathOf(object)}${subresource}?fieldManager=istio&force=true`,
    headers: { 'content-type': 'application/apply-patch+yaml' },
    body: JSON.stringify(object),
  })
  return status < 300 ? undefined : JSON.parse(body).message
}
