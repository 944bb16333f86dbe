import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import type { EmbeddedApi } from '../api/api.ts'
import { kindOf } from '../kinds/kinds.ts'
import { startCapture } from './capture.ts'
import { demoConditions } from './conditions.ts'
import { demoWaypointObjects } from './waypoint-objects.ts'

const GATEWAY = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway' }
const AUTOSCALER = { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' }

type Named = { apiVersion: string; kind: string; metadata: { name: string; namespace?: string } }

type Stoppable = { stop(): void }

/**
 * Does what istiod does, as far as others see it: it runs waypoints, and says in their status what becomes of policies and Services. It also marks the pods
 * that Istio's CNI captures.
 */
export const startIstio = ({ api }: { api: EmbeddedApi }): Stoppable => {
  const waypoints = startWaypoints({ api })
  const capture = startCapture({ api })
  const judge = (objects: readonly KubernetesObject[]): void => {
    for (const object of objects) writeConditions(api, object)
  }
  judge(api.objects())
  const stop = api.subscribe(({ object }) => judge(affectedBy(object, api.objects())))
  return {
    stop: () => {
      waypoints.stop()
      capture.stop()
      stop()
    },
  }
}

/**
 * Does what Istio's gateway controller does: a Gateway of the class istio-waypoint gets a ServiceAccount, a Deployment and a Service of
 * its name, which go with it, and a status. It acts within the write that it reacts to; what it finds done it leaves alone.
 */
export const startWaypoints = ({ api }: { api: EmbeddedApi }): Stoppable => {
  const react = (object: KubernetesObject): void => {
    const name = gatewayName(object)
    if (name !== undefined) settle(api, object.metadata.namespace, name)
  }
  for (const object of api.objects()) react(object)
  return { stop: api.subscribe(({ object }) => react(object)) }
}

/** The policies and Services whose conditions may follow from an object. */
const affectedBy = (object: KubernetesObject, objects: readonly KubernetesObject[]): KubernetesObject[] => {
  if (object.kind === 'AuthorizationPolicy') return [object]
  if (!['Service', 'Namespace', GATEWAY.kind].includes(object.kind)) return []
  return objects.filter((one) => one.kind === 'AuthorizationPolicy' || (one.kind === 'Service' && isNear(one, object)))
}

const isNear = ({ metadata }: KubernetesObject, { kind, metadata: changed }: KubernetesObject): boolean =>
  kind === GATEWAY.kind ||
  (kind === 'Namespace'
    ? metadata.namespace === changed.name
    : metadata.namespace === changed.namespace && metadata.name === changed.name)

/** The object is read as it is now. What it has already is not written. */
const writeConditions = (
  api: EmbeddedApi,
  { apiVersion, kind, metadata: { name, namespace } }: KubernetesObject,
): void => {
  if (kind !== 'AuthorizationPolicy' && kind !== 'Service') return
  const named = { apiVersion, kind, metadata: { name, ...(namespace !== undefined && { namespace }) } }
  const object = find(api, named)
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) return
  const { generation, creationTimestamp: lastTransitionTime } = object.metadata
  // istiod writes the generation of a policy as a string, and none of a Service
  const seen = kind === 'Service' ? {} : { observedGeneration: String(generation) }
  for (const { manager, conditions } of demoConditions(object, api.objects())) {
    const wanted = conditions.map((condition) => ({ ...condition, ...seen }))
    if (isWritten(object, wanted)) continue
    const dated = wanted.map((condition) => ({ ...condition, lastTransitionTime }))
    apply(api, { ...named, status: { conditions: dated } }, '/status', manager)
  }
}

type Fields = Readonly<Record<string, unknown>>

const isWritten = ({ status }: KubernetesObject, wanted: readonly Fields[]): boolean => {
  const { conditions: live = [] } = (status ?? {}) as { conditions?: Fields[] }
  if (wanted.length === 0) return !live.some(({ type }) => type === 'istio.io/WaypointBound')
  return wanted.every((condition) => live.some((one) => isSame(one, condition)))
}

const isSame = (live: Fields, wanted: Fields): boolean =>
  Object.entries(wanted).every(([key, value]) => live[key] === value)

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
const apply = (
  api: EmbeddedApi,
  object: Named & { status?: unknown },
  subresource = '',
  manager = 'istio',
): string | undefined => {
  const { status, body } = api.handle({
    method: 'PATCH',
    path: `${pathOf(object)}${subresource}?fieldManager=${manager}&force=true`,
    headers: { 'content-type': 'application/apply-patch+yaml' },
    body: JSON.stringify(object),
  })
  return status < 300 ? undefined : JSON.parse(body).message
}
