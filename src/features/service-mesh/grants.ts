import type { MeshPolicy } from '../../core/policies/models.ts'
import { namesProblem } from '../../core/policies/name-problem.ts'
import type { Guard, RequestedPolicy } from '../../core/policies/request.ts'
import { remoteSubject } from '../../core/relations/peer-entry.ts'
import type { Relation } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import type { MeshConfig } from '../../mesh/istio/beacon-config.ts'
import { runsWaypoint } from '../../mesh/istio/waypoint.ts'
import { type Condition, waitFor } from '../../platform/base/condition.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { findLookup, isUnreadable, type Lookups } from '../../platform/kubernetes/lookups.ts'
import { nameOf, type Reference } from '../../platform/kubernetes/objects.ts'
import { isHeadless, isServiceOf, NAME_LABEL } from '../../platform/kubernetes/services.ts'
import { type DeclaredTarget, type Requester, readRequests } from './consumer-requests.ts'
import { consumersOf, isGuardingItself } from './consumers.ts'
import type { Guarded } from './declared-targets.ts'
import { guardsFor, unreachable } from './guards.ts'
import { HEADLESS } from './services.ts'

/** The requests that a beacon grants, and the problems of the others. */
export type Grants = {
  requests: RequestedPolicy[]
  /** Targets that stay guarded even if nothing is granted there. */
  guards: Guard[]
  /** Relations with unknown data, by the names of their requests. */
  unknown: string[]
  waiting: Condition[]
  /** Requests that are not granted, and data that cannot be read. */
  unserved: string[]
  messages: string[]
  /** Pods also admit the clients of their Services, while these switch to the waypoint or away from it. */
  isOpening: boolean
}

/** The limit of other Services. Each costs a read in every step. */
const MOST_OTHER_SERVICES = 20

/** Lists the Services that policies name besides the requester's own. The objects in the cluster show if they belong to the requester. */
export const requestedServices = (subject: Subject, state: EffectiveState): Reference[] =>
  selectConsumers(state).flatMap((relation) => servicesOf(subject, relation))

/** Lists the Services that the request of a relation names besides the requester's own. */
export const servicesOf = (beacon: Subject, relation: Relation, guarded: readonly Guarded[] = []): Reference[] => {
  const { requester, declared } = readRequests(beacon, relation, guarded)
  return otherServices(requester, declared).map((name) => serviceReference(requester, name))
}

/**
 * Tells if a Service is a consumer's: it has the consumer's name, or selects its pods. Of one that is missing, or cannot be read, the consumer's request
 * tells, because the consumer guards what it names there.
 */
export const isServiceOfConsumer = (beacon: Subject, relation: Relation, name: string, lookups: Lookups): boolean => {
  const consumer = remoteSubject(beacon, relation)
  const key = nameOf(serviceReference(consumer, name))
  if (name === consumer.application || !lookups.has(key)) return name === consumer.application
  const service = findLookup(lookups, key)
  return service === undefined
    ? servicesOf(beacon, relation).some((one) => one.name === name)
    : isServiceOf(consumer, service)
}

export const NO_GRANTS: Grants = {
  ...{ requests: [], guards: [], unknown: [] },
  ...{ waiting: [], unserved: [], messages: [], isOpening: false },
}

/**
 * Checks the requests of all consumers one by one. Invalid ones are named and skipped. A requester may only request access to itself, and to another
 * Service only if that selects its pods. A declared target is guarded even if its request is invalid.
 */
export const grantsFor = (
  subject: Subject,
  state: EffectiveState,
  lookups: Lookups,
  mesh: MeshConfig = {},
  isOpening: (relation: Relation) => boolean = () => false,
): Grants => {
  const each = selectConsumers(state).map((relation) => grantsTo(subject, relation, lookups, mesh, isOpening))
  return {
    requests: each.flatMap(({ requests }) => requests),
    guards: each.flatMap(({ guards }) => guards),
    unknown: each.flatMap(({ unknown }) => unknown),
    waiting: each.flatMap(({ waiting }) => waiting),
    unserved: each.flatMap(({ unserved }) => unserved),
    messages: each.flatMap(({ messages }) => messages),
    isOpening: each.some((one) => one.isOpening),
  }
}

/** The consumers whose policies the beacon writes, because meshstep does not run them. */
const selectConsumers = (state: EffectiveState): Relation[] =>
  consumersOf(state.relations).filter((consumer) => !isGuardingItself(consumer))

/** Checks the requests of one consumer. */
export const grantsTo = (
  subject: Subject,
  relation: Relation,
  lookups: Lookups,
  mesh: MeshConfig,
  isOpening: (relation: Relation) => boolean,
  guardedByConfig: readonly Guarded[] = [],
): Grants => {
  const { requester, policies, declared, problems, isUnknown } = readRequests(subject, relation, guardedByConfig)
  const services = otherServices(requester, declared)
  const checked = policies.map((policy) => ({ policy, ...findProblem({ requester, policy }, services, lookups, mesh) }))
  const granted = checked.filter(({ refused, waiting }) => refused === undefined && waiting === undefined)
  const { relation: held } = requester
  // the owner of a missing Service is unknown, so nothing is granted there until it exists
  const judged = declared.map((one) => ({
    one,
    ...findProblem({ requester, policy: one.policy }, services, lookups, {}),
  }))
  const own = judged.flatMap(({ one, refused }) => (refused === undefined ? [one] : []))
  // a Service may be refused before anybody is related
  const unasked = checked.length + problems.length === 0 ? judged : []
  const requests = granted.map(({ policy }) => policy)
  const isGuarding = mesh.guard !== 'whenGranted'
  const guarded = isGuarding ? own.map(({ policy }) => policy) : requests
  const opening = isGuarding || !isOpening(relation) ? [] : atPods(requester, requests)
  return {
    requests: [...requests, ...opening].map((policy) => ({ policy, relation: requester.relation })),
    isOpening: opening.length > 0,
    guards: guardsFor(subject, mesh, requester, guarded),
    unknown: isUnknown || checked.some((one) => one.isUnknown) ? [requester.relation] : [],
    waiting: checked.flatMap(({ waiting }) =>
      waiting === undefined ? [] : [waitFor([waiting.for], 'ServiceUnguarded', held, `${held}: ${waiting.message}`)],
    ),
    unserved: [
      ...problems,
      ...[...checked, ...unasked].flatMap(({ refused }) => (refused === undefined ? [] : [`${held}: ${refused}`])),
    ],
    messages: isGuarding ? unreachable(requester, own, requests) : [],
  }
}

/**
 * Requests access to the pods for the same clients, unless a request is already for pods. Without a waypoint these pods are open, so the switch must not
 * refuse clients there.
 */
const atPods = ({ application }: Requester, requests: readonly MeshPolicy[]): MeshPolicy[] => {
  const pods = { target_type: 'unit', target_app_name: application, target_service: null } as const
  return requests.every(({ target_type: type }) => type === 'app')
    ? requests.map((policy) => ({ ...policy, ...pods, endpoints: [] }))
    : []
}

/** Lists the other Services that a requester names as its own, up to the limit. */
const otherServices = (requester: Requester, declared: readonly DeclaredTarget[]): string[] => {
  const named = declared.filter(({ policy }) => isItself(requester, policy))
  return [...new Set(named.flatMap(({ policy }) => otherService(requester, policy) ?? []))].slice(
    0,
    MOST_OTHER_SERVICES,
  )
}

const isItself = (
  { namespace, application }: Requester,
  { target_namespace, target_app_name, target_service, target_selector_labels }: MeshPolicy,
): boolean => {
  if (target_namespace !== namespace) return false
  if (target_selector_labels !== null) return ownValue(target_selector_labels, NAME_LABEL) === application
  return target_app_name === null ? target_service !== null : target_app_name === application
}

const otherService = ({ application }: Requester, { target_service }: MeshPolicy): string | undefined =>
  target_service === null || target_service === application ? undefined : target_service

const serviceReference = ({ namespace }: Pick<Requester, 'namespace'>, name: string): Reference => ({
  kind: 'Service',
  namespace,
  name,
})

type Requested = { requester: Requester; policy: MeshPolicy }

type Problem = { refused?: string; waiting?: { for: string; message: string }; isUnknown?: true }

const findProblem = (
  { requester, policy }: Requested,
  services: readonly string[],
  lookups: Lookups,
  mesh: MeshConfig,
): Problem => {
  const { namespace, application } = requester
  const invalid = namesProblem(policy)
  if (invalid !== undefined) return { refused: `${invalid}: not granted` }
  if (!isItself(requester, policy))
    return { refused: `asks for ${targetName(policy)}, and may only name ${namespace}/${application}: not granted` }
  if (policy.target_type === 'app' && !runsWaypoint(mesh))
    return { waiting: { for: WAYPOINT, message: `asks for ${targetName(policy)} as a Service, ${NO_WAYPOINT}` } }
  const other = otherService(requester, policy)
  return other === undefined ? {} : findServiceProblem(requester, other, services, lookups)
}

export const WAYPOINT = 'a waypoint'

export const NO_WAYPOINT =
  'which nothing guards without a waypoint: not granted; set waypoint and units of the beacon, or ask for type unit'

const findServiceProblem = (
  { namespace, application }: Requester,
  name: string,
  services: readonly string[],
  lookups: Lookups,
): Problem => {
  const reference = serviceReference({ namespace }, name)
  const waitingFor = (why: string) => ({ waiting: { for: nameOf(reference), message: `${nameOf(reference)} ${why}` } })
  if (!services.includes(name))
    return {
      refused: `names ${nameOf(reference)}, and more than ${MOST_OTHER_SERVICES} Services before it: not granted`,
    }
  if (isUnreadable(lookups, nameOf(reference)))
    return { ...waitingFor('cannot be read: what is granted there stays as it is'), isUnknown: true }
  const service = findLookup(lookups, nameOf(reference))
  if (service === undefined)
    return waitingFor('does not exist, so its application is unknown: its policy is not granted yet')
  if (!isServiceOf({ namespace, application }, service))
    return {
      refused: `asks for ${nameOf(reference)}, which does not select the pods of ${application} by ${NAME_LABEL}: not granted`,
    }
  return isHeadless(service) ? waitingFor(HEADLESS) : {}
}

const targetName = ({
  target_namespace,
  target_app_name,
  target_service,
  target_selector_labels,
}: MeshPolicy): string =>
  target_selector_labels === null
    ? `${target_namespace}/${target_app_name ?? target_service}`
    : `pods of ${target_namespace} by labels`
