import * as z from 'zod'
import { isPending, type Unenforced } from '../../core/policies/unenforced.ts'
import { type Condition as Open, waitFor } from '../../platform/base/condition.ts'
import { defined, ownValue } from '../../platform/base/own-value.ts'
import { findLookup, type Lookups } from '../../platform/kubernetes/lookups.ts'
import { type KubernetesObject, nameOf, objectKey, type Reference } from '../../platform/kubernetes/objects.ts'
import { refsOf } from './attachment.ts'
import { isForPods, specOf } from './authorization-policy.ts'
import { discovers, findMeshConfigs, istiodHomes, meshConfigLookups, readMeshConfig } from './mesh-config.ts'
import { namedWaypoint } from './names.ts'
import { isOlder, LOWEST } from './version.ts'

/**
 * A condition that istiod writes. On a policy (pilot/pkg/serviceregistry/ambient/policies.go) it has the generation as a string, on a Gateway as a number.
 * On a Service, which has no generation, it has none.
 */
const Condition = z.object({
  type: z.enum(['WaypointAccepted', 'ZtunnelAccepted', 'istio.io/WaypointBound', 'Accepted', 'Programmed']),
  status: z.string(),
  reason: z.string().default('no reason'),
  message: z.string().default(''),
  lastTransitionTime: z.string().optional(),
  observedGeneration: z.union([z.string(), z.number()]).optional(),
})
type Condition = z.infer<typeof Condition>

/** The conditions that istiod writes with AMBIENT_ENABLE_STATUS, which is on since Istio 1.24. */
const AMBIENT = ['WaypointAccepted', 'ZtunnelAccepted', 'istio.io/WaypointBound']

/** Tells if Istio wrote a condition. The API server itself gives a new Gateway conditions that wait for a controller. */
const isOfIstio = ({ reason }: Condition): boolean => reason !== 'Pending'

const conditionsOf = ({ status }: KubernetesObject): readonly Condition[] => {
  const conditions = status?.conditions
  if (!Array.isArray(conditions)) return []
  return conditions.flatMap((condition) => Condition.safeParse(condition).data ?? []).filter(isOfIstio)
}

/**
 * Lists the objects that Istio refuses, or has not taken yet. An object is taken once it has a condition of its generation. This is only checked if Istio
 * writes conditions: some object or witness has one, or Istio's own config names a supported version. Otherwise Istio is older or absent, and the list is
 * empty.
 */
export const unenforced = (
  objects: readonly KubernetesObject[],
  witnesses: readonly KubernetesObject[] = [],
): Unenforced[] => {
  const written = new Set<string>()
  // there may be a thousand witnesses for each application
  for (const some of [objects, witnesses])
    for (const one of some) for (const { type } of conditionsOf(one)) written.add(type)
  const isAmbient = AMBIENT.some((type) => written.has(type)) || witnesses.some(isConfigOfSupported)
  const isWritten = { ambient: isAmbient, gateway: written.has('Accepted') }
  return objects.flatMap((object) => ownValue(JUDGES, object.kind)?.(object, conditionsOf(object), isWritten) ?? [])
}

const isConfigOfSupported = (object: KubernetesObject): boolean => {
  const version = object.kind === 'ConfigMap' ? readMeshConfig(object)?.version : undefined
  return version !== undefined && !isOlder(version, LOWEST)
}

type Judge = (
  object: KubernetesObject,
  conditions: readonly Condition[],
  isWritten: { readonly ambient: boolean; readonly gateway: boolean },
) => Unenforced | undefined

const judgePolicy: Judge = (object, conditions, isWritten) => {
  const current = conditions.filter(isCurrent(object))
  const problem = current.find(
    ({ status, reason }) => status === 'False' || !['Accepted', 'no reason'].includes(reason),
  )
  if (problem) return refused(object, problem)
  const type = isForPods(specOf(object)) ? 'ZtunnelAccepted' : 'WaypointAccepted'
  return isWritten.ambient && !isTakenAs(type, current) ? pending(object) : undefined
}

const judgeGateway: Judge = (object, conditions, isWritten) => {
  const current = conditions.filter(isCurrent(object))
  // a waypoint without ready pods is not programmed either, but its Deployment reports that
  const problem = current.find(({ status, reason }) => status === 'False' && reason.startsWith('Invalid'))
  if (problem) return refused(object, problem)
  return isWritten.gateway && !isTakenAs('Accepted', current) ? pending(object) : undefined
}

/** Judges a Service. It has no generation, but its condition names its waypoint. */
const judgeService: Judge = (object, conditions, isWritten) => {
  const { namespace = '', labels } = object.metadata
  const named = namedWaypoint(labels, namespace)
  if (named === undefined) return undefined
  const waypoint = `${named.namespace}/${named.name}`
  const bound = conditions.find(({ type }) => type === 'istio.io/WaypointBound')
  if (bound?.status === 'False') return refused(object, bound)
  if (bound === undefined) return isWritten.ambient ? pending(object) : undefined
  const names = bound.message.split(/\s+/).map((word) => word.replace(/[.,]$/, ''))
  return names.includes(waypoint) ? undefined : pending(object)
}

const JUDGES: Readonly<Record<string, Judge>> = {
  AuthorizationPolicy: judgePolicy,
  Gateway: judgeGateway,
  Service: judgeService,
}

/** Tells if a condition is current. One without a generation counts as a refusal only, never as an acceptance. */
const isCurrent =
  ({ metadata }: KubernetesObject) =>
  ({ observedGeneration: seen }: Condition): boolean =>
    seen === undefined || Number(seen) === metadata.generation

const isTakenAs = (type: string, current: readonly Condition[]): boolean =>
  current.some((condition) => condition.type === type && condition.observedGeneration !== undefined)

const refused = (object: KubernetesObject, { status, reason, message, lastTransitionTime }: Condition): Unenforced => {
  const name = objectKey(object)
  const remedy = ownValue(REMEDIES, reason)?.(object)
  const [isNot, isPartly] = object.kind === 'Service' ? BOUND : ENFORCED
  const what = status === 'False' ? isNot : isPartly
  const text = `${name} ${what}: ${message.slice(0, 300)} (${reason})${remedy ? `; ${remedy}` : ''}`
  const since = defined({ since: lastTransitionTime })
  return { live: object, condition: { ...waitFor(['Istio'], 'NotEnforced', name, text), ...since } }
}

const ENFORCED = ['is not enforced', 'is enforced in part'] as const
const BOUND = ['is not led to its waypoint', 'is led to its waypoint in part'] as const

const REMEDIES: Readonly<Record<string, (policy: KubernetesObject) => string>> = {
  AncestorNotBound: () => 'it is enforced once the Service has a waypoint that is ready',
  // istiod does not know a Gateway without an address
  TargetNotFound: (policy) =>
    refsOf(specOf(policy)).some(({ kind }) => kind === 'Gateway')
      ? 'it is enforced once its Gateway has an address'
      : 'it is enforced once that is there',
}

const pending = (object: KubernetesObject): Unenforced => {
  const name = objectKey(object)
  const since = defined({ since: writtenAt(object) })
  const message = `${notTaken(name)}: proxies enforce the previous state until istiod takes it; istiod may be away`
  return { live: object, condition: { ...waitFor(['Istio'], 'NotTaken', name, message), ...since } }
}

const notTaken = (name: string): string => `Istio has not taken ${name} yet`

/** Returns the time of the last write to the object, without writes to its status, in seconds. */
const writtenAt = ({ metadata: { managedFields = [], creationTimestamp } }: KubernetesObject): string | undefined => {
  const times = managedFields.filter(({ subresource }) => subresource === undefined).map(({ time }) => time)
  const known = [...times, creationTimestamp].filter((time) => typeof time === 'string')
  return known.toSorted().at(-1)
}

/** Lists the objects that show why Istio takes nothing of a namespace: the namespace, and what leads to the config of its istiod. */
export const causeLookups = (namespace: string, seen: Lookups): Reference[] =>
  meshConfigLookups({ namespace }, istiodHomes(undefined), seen)

/** Returns the wait for Istio to discover a namespace, if its own config leaves that out. */
export const causeIn = (namespace: string, lookups: Lookups): Open | undefined => {
  const { configs } = findMeshConfigs([{ namespace }], istiodHomes(undefined), lookups)
  const home = findLookup(lookups, nameOf({ kind: 'Namespace', name: namespace }))
  const message = home && configs.flatMap((config) => undiscovered(config, home) ?? [])[0]
  return message === undefined
    ? undefined
    : waitFor(['Istio'], 'NamespaceUndiscovered', `Namespace ${namespace}`, message)
}

/** Adds the reason why Istio has not taken an object. */
export const withCause = (one: Unenforced, cause: Open | undefined): Open =>
  cause === undefined || !isPending(one)
    ? one.condition
    : { ...one.condition, message: `${notTaken(one.condition.object)}: ${cause.message}` }

/** Returns the reason why Istio takes nothing of a namespace, from the ConfigMap of its own config. */
export const undiscovered = (config: KubernetesObject, { metadata }: KubernetesObject): string | undefined => {
  const read = readMeshConfig(config)
  if (read === undefined || discovers(read, metadata.labels ?? {})) return undefined
  return `the discoverySelectors of Istio leave out the namespace ${metadata.name}: nothing there is enforced until they select it`
}
