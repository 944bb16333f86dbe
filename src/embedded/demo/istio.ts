import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import type { EmbeddedApi, Reference } from '../api/api.ts'
import { kindOf } from '../kinds/kinds.ts'
import { startCapture } from './capture.ts'
import { demoConditions } from './conditions.ts'
import { demoWaypointObjects } from './waypoint-objects.ts'

const GATEWAY = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway' }
const AUTOSCALER = { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' }

type Stoppable = { stop(): void }

/**
 * Does what istiod does, as far as others see it: it runs waypoints, and says in their status what becomes of policies and Services. It also marks the pods
 * that Istio's CNI captures.
 */
export const startIstio = ({ api }: { api: EmbeddedApi }): Stoppable => {
  const waypoints = startWaypoints({ api })
  const capture = startCapture({ api })
  // by an object, who has read it, or its absence, since it was written last: nobody else is judged again when it is written
  const readers = new Map<string, Map<string, Reference>>()
  const judge = (reader: Reference): void => {
    writeConditions(api, reader, (read) => {
      readers.set(keyOf(read), (readers.get(keyOf(read)) ?? new Map()).set(keyOf(reader), reader))
      return api.find(read)
    })
  }
  for (const object of api.objects()) judge(referenceTo(object))
  const stop = api.subscribe(({ object }) => {
    const affected = readers.get(keyOf(object))?.values() ?? []
    readers.delete(keyOf(object))
    for (const one of [referenceTo(object), ...affected]) judge(one)
  })
  return {
    stop: () => {
      waypoints.stop()
      capture.stop()
      stop()
    },
  }
}

const keyOf = ({ apiVersion, kind, metadata: { namespace, name } }: Reference): string =>
  `${apiVersion} ${kind} ${namespace}/${name}`

const referenceTo = ({ apiVersion, kind, metadata: { name, namespace } }: Reference): Reference => ({
  apiVersion,
  kind,
  metadata: { name, ...(namespace !== undefined && { namespace }) },
})

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

/** The object is read as it is now. What it has already is not written. */
const writeConditions = (api: EmbeddedApi, named: Reference, find: EmbeddedApi['find']): void => {
  const { kind } = named
  if (kind !== 'AuthorizationPolicy' && kind !== 'Service') return
  const object = api.find(named)
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) return
  const { generation, creationTimestamp: lastTransitionTime } = object.metadata
  // istiod writes the generation of a policy as a string, and none of a Service
  const seen = kind === 'Service' ? {} : { observedGeneration: String(generation) }
  for (const { manager, conditions } of demoConditions(object, find)) {
    const wanted = conditions.map((condition) => ({ ...condition, ...seen }))
    if (isWritten(object, wanted)) continue
    const dated = wanted.map((condition) => ({ ...condition, lastTransitionTime }))
    apply(api, { ...named, status: { conditions: dated } }, '/status', manager)
  }
}

type Fields = Readonly<Record<string, unknown>>

const isWritten = ({ status }: KubernetesObject, wanted: readonly Fields[]): boolean => {
  const { conditions: live = [] }: { conditions?: Fields[] } = status ?? {}
  if (wanted.length === 0) return !live.some(({ type }) => type === 'istio.io/WaypointBound')
  return wanted.every((condition) => live.some((one) => isSame(one, condition)))
}

const isSame = (live: Fields, wanted: Fields): boolean =>
  Object.entries(wanted).every(([key, value]) => live[key] === value)

/** Of the Gateway that an object is, belongs to, or, as an autoscaler, scales. */
const gatewayName = ({ kind, metadata }: KubernetesObject): string | undefined =>
  kind === GATEWAY.kind || kind === AUTOSCALER.kind
    ? metadata.name
    : metadata.ownerReferences?.find((owner) => owner.kind === GATEWAY.kind)?.name

/** The Gateway is read as it is now: it may be gone since the change that is told. */
const settle = (api: EmbeddedApi, namespace: string | undefined, name: string): void => {
  const metadata = { name, ...(namespace !== undefined && { namespace }) }
  const gateway = api.find({ ...GATEWAY, metadata })
  if (gateway?.spec?.gatewayClassName !== 'istio-waypoint' || gateway.metadata.deletionTimestamp !== undefined) return
  const scaled = api.find({ ...AUTOSCALER, metadata })?.spec?.minReplicas
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

const pathOf = ({ apiVersion, kind, metadata: { namespace, name } }: Reference): string => {
  const root = apiVersion.includes('/') ? 'apis' : 'api'
  return `/${root}/${apiVersion}/namespaces/${namespace}/${kindOf(apiVersion, kind)?.plural}/${name}`
}

/** Applies an object as Istio does. Returns the reason for a refusal, else undefined. */
const apply = (
  api: EmbeddedApi,
  object: Reference & { status?: unknown },
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
