import { ownValue } from '../../../platform/base/own-value.ts'
import { labelDifference, type SeenLabels } from '../../../platform/kubernetes/label-difference.ts'
import { type KubernetesObject, objectKey } from '../../../platform/kubernetes/objects.ts'
import { MESH_KEYS, USE_WAYPOINT_LABEL, USE_WAYPOINT_NAMESPACE_LABEL } from '../../relations/mesh-labels.ts'
import { readHeld } from '../../workload/pod-labels.ts'
import { placesOf } from '../observe/cluster.ts'
import { applyOf, idOf, isReleasing, type Operation, objectOf, removalOf } from './operation.ts'
import { liveIn, type Situation } from './situation.ts'
import { changesAny, isService, wantedAt } from './wanted-labels.ts'
import { targetOf } from './widen.ts'

/**
 * The order among labels, policies, Services and pods: an operation of the group `what` comes after those in `after`, and is skipped if one of
 * them fails. What replaces what is in `plan-prune.ts`, and the order of a workload's own objects in `plan-objects.ts`.
 */
const EDGES: readonly Edge[] = [
  { what: 'mesh label', after: ['policy', 'first policy'], because: 'nothing is on the mesh without its policies' },
  { what: 'joining pods', after: ['leading label'], because: 'they accept only what comes from the waypoint' },
  { what: 'first policy', after: ['leading label'], because: 'it closes the pods to all who come another way' },
  { what: 'Service label', after: ['policy'], because: 'the waypoint lets in only whom they allow' },
  { what: 'freed Service', after: ['last policy'], because: 'until it is gone, the pods accept only the waypoint' },
  { what: 'last policy', after: ['release'], because: 'pods with labels of the mesh keep their policies' },
  { what: 'change', after: ['release', 'Service release'], because: 'no access is narrowed before labels are gone' },
  { what: 'stale policy', after: ['leading label'], because: 'until then, requests come as only that lets them in' },
  { what: 'namespace', after: ['basic policy here'], because: 'all of its pods join the mesh with it' },
  { what: 'denial', after: ['basic policy'], because: 'it refuses all that nothing allows' },
  { what: 'end of denial', after: ['missing policy'], because: 'until they are there, only it guards their targets' },
  { what: 'less allowed', after: ['end of hardening'], because: 'until then, whom only that lets in is refused' },
]

type Edge = { readonly what: Group; readonly after: readonly Listed[]; readonly because: string }

/** Own policies are those of the application's pods and Services. Labels are those of the mesh. */
type Group =
  /** Applies of own policies, but for the first ones. */
  | 'policy'
  /** Applies of the first policies of pods whose Service is yet to be led to the waypoint. */
  | 'first policy'
  /** Removals, where the application leaves, of own policies of pods that nothing replaces. */
  | 'last policy'
  /** All other writes of own policies that may take access away. */
  | 'change'
  /** The removals among them. */
  | 'stale policy'
  /** Applies of policies that allow access without a request. */
  | 'basic policy'
  /** Those among them of the application's namespace. */
  | 'basic policy here'
  /** Applies of policies that are not there yet. */
  | 'missing policy'
  /** Applies of what is new and denies all that nothing allows. */
  | 'denial'
  /** Removals of what denies. */
  | 'end of denial'
  /** Enforced policies that allow, and go or become dry runs. */
  | 'less allowed'
  /** Enforced policies that deny all that nothing allows, and go or become dry runs. */
  | 'end of hardening'
  /** Labels of pods, and of former targets. */
  | 'mesh label'
  /** Those among them of pods that are not led to a waypoint yet. */
  | 'joining pods'
  /** The label that enrols the namespace. */
  | 'namespace'
  /** Labels of Services. */
  | 'Service label'
  /** Those among them that lead to a waypoint. */
  | 'leading label'
  /** Labels of the Service of an application that is not to be on the mesh. */
  | 'freed Service'
  /** Removals of labels from pods. */
  | 'release'
  /** Removals of labels from Services. */
  | 'Service release'

/** The groups whose operations are listed. To the others an operation belongs by what it changes, once it is planned. */
type Listed = Exclude<Group, 'mesh label' | 'joining pods' | 'namespace' | 'Service label' | 'freed Service'>

type Groups = Readonly<Partial<Record<Listed, readonly string[]>>>

export type Order = {
  /** Labels only become fewer. So they go before any access is narrowed. */
  readonly labelsGoFirst: boolean
  /** The application is to be on the mesh. Otherwise its labels wait for no policies. */
  readonly isOnMesh: boolean
  /** The ids of the operations of each group, as far as they are known beforehand. */
  readonly groups: Groups
}

/** Computes the order of a plan's writes. It is the same whatever fails. */
export const orderOf = (situation: Situation): Order => {
  const { features, subject, desired, observed, waitForPods } = situation
  const { isPolicy, isDenying, isDryRun, isForAll, isForPods, requestersOf, enrolment } = features.mesh
  const { objects } = desired
  const live = liveIn(situation)
  const isOnMesh = Object.hasOwn(desired.labels.labels, enrolment.key)
  const labelsGoFirst = waitForPods !== undefined || (!isOnMesh && isOnlyRemoving(situation))
  const isOwn = isOwnPolicy(situation)
  const [policies, livePolicies] = [objects.filter(isOwn), live.filter(isOwn)]
  const leading = leadsOf(situation)
  const pods = placesOf(observed.targets.current).filter((place) => !isService(place))
  const isOn = pods.some((place) => readHeld(subject.application, place).holders.own.has(enrolment.key))
  // one that denies refuses single requests, and closes the pods to nobody else
  const isClosing = (object: KubernetesObject) => isForPods(object) && !isDenying(object)
  // further policies only open what others close, and where labels of pods stay, their policies let in whoever comes either way
  const isOpen = leading.length > 0 && !isOn && !livePolicies.some(isClosing)
  const isFirst = (object: KubernetesObject) => isOpen && isClosing(object)
  const targets = new Set(objects.filter(isClosing).map((object) => targetOf(features.mesh, object)))
  const isLast = (one: KubernetesObject) =>
    labelsGoFirst && isClosing(one) && !targets.has(targetOf(features.mesh, one))
  const there = new Set(live.map(objectKey))
  const missing = objects.filter((one) => isPolicy(one) && !there.has(objectKey(one)))
  const basic = objects.filter((one) => isPolicy(one) && !isDenying(one) && requestersOf(one).length === 0)
  const enforced = live.filter((one) => isPolicy(one) && !isDryRun(one))
  const audited = new Set(objects.filter(isDryRun).map(objectKey))
  const endsOf = (policies: readonly KubernetesObject[]) =>
    policies.map((one) => (audited.has(objectKey(one)) ? applyOf(one) : removalOf(one)))
  const narrowed = livePolicies.filter((one) => !isLast(one)).map(removalOf)
  const groups = {
    policy: policies.filter((one) => !isFirst(one)).map(applyOf),
    'first policy': policies.filter(isFirst).map(applyOf),
    'last policy': livePolicies.filter(isLast).map(removalOf),
    'stale policy': narrowed,
    change: labelsGoFirst ? [...policies.map(applyOf), ...narrowed] : narrowed,
    'basic policy': basic.map(applyOf),
    'basic policy here': basic.filter(({ metadata }) => metadata.namespace === subject.namespace).map(applyOf),
    'missing policy': missing.map(applyOf),
    denial: missing.filter((one) => isDenying(one) && isForAll(one)).map(applyOf),
    'end of denial': live.filter(isDenying).map(removalOf),
    'less allowed': endsOf(enforced.filter((one) => !isDenying(one))),
    'end of hardening': endsOf(enforced.filter((one) => isDenying(one) && isForAll(one))),
    'leading label': leading,
  }
  return { labelsGoFirst, isOnMesh, groups }
}

/** Lists the ids of what comes before operations of these groups. */
export const neededBy = (groups: Groups, ofs: readonly Group[]): string[] =>
  EDGES.filter(({ what }) => ofs.includes(what)).flatMap(({ after }) => after.flatMap((one) => groups[one] ?? []))

/** Orders a plan, and adds what each operation comes after. `leaving` holds the ids of the applies that remove labels from pods. */
export const ordered = (
  situation: Situation,
  order: Order,
  operations: readonly Operation[],
  leaving: readonly string[],
): Operation[] => {
  const released = operations.filter((one) => isReleasing(one) && objectOf(one).kind !== 'Namespace')
  const isOfService = (operation: Operation) => objectOf(operation).kind === 'Service'
  const groups: Groups = {
    ...order.groups,
    release: [...released.filter((one) => !isOfService(one)).map(({ id }) => id), ...leaving],
    'Service release': released.filter(isOfService).map(({ id }) => id),
  }
  const members = Object.entries(groups).map(([what, ids]) => [what as Listed, new Set(ids)] as const)
  const needing = operations.map((operation) => {
    const id = operation.verb === 'apply' ? applyOf(operation.desired) : operation.id
    const known = members.flatMap(([what, ids]) => (ids.has(id) ? [what] : []))
    const needs = neededBy(groups, [...known, ...labelGroups(situation, order, operation)])
    return { ...operation, needs: [...operation.needs, ...needs] }
  })
  return inOrder(needing)
}

/** Lists each operation once, and before it those that it needs. Else the order of the list stays, also between two that need each other. */
export const inOrder = (operations: readonly Operation[]): Operation[] => {
  const listed = operations.map((operation, place) => ({ operation, place }))
  const byId = new Map(listed.map((one) => [one.operation.id, one]))
  const met = new Set<string>()
  const sorted: Operation[] = []
  const add = ({ operation, place }: (typeof listed)[number]): void => {
    // labels and an object of the application's own may ask for the same touch
    if (met.has(operation.id)) return
    met.add(operation.id)
    // in the order of the list, because parts of one target rest on it
    const needed = operation.needs.flatMap((id) => byId.get(id) ?? [])
    for (const need of needed.toSorted((one, other) => one.place - other.place))
      if (need.place < place || !need.operation.needs.includes(operation.id)) add(need)
    sorted.push(operation)
  }
  for (const one of listed) add(one)
  return sorted
}

/** Lists the groups of a write of mesh labels. */
const labelGroups = (situation: Situation, order: Order, operation: Operation): Group[] => {
  if (operation.verb !== 'label' && operation.verb !== 'release') return []
  const { id, verb, place, difference } = operation
  const seen = readHeld(situation.subject.application, place)
  if (!changesAny(MESH_KEYS, seen, difference)) return []
  const { key } = situation.features.mesh.enrolment
  if (place.object.kind === 'Namespace') return ownValue(difference.apply ?? {}, key) ? ['namespace'] : []
  if (isService(place) && verb === 'label') return [serviceGroup(order, id)]
  if (!order.isOnMesh) return []
  return verb === 'release' ? ['mesh label'] : podGroups(situation, seen)
}

const serviceGroup = ({ isOnMesh, groups }: Order, id: string): Group =>
  isOnMesh || groups['leading label']?.includes(id) ? 'Service label' : 'freed Service'

/** Lists the groups of a write that puts pods on the mesh, or changes how they are on it. */
export const podGroups = ({ features }: Situation, { holders }: SeenLabels): Group[] => {
  const isLed = [features.mesh.enrolment.key, USE_WAYPOINT_LABEL].every((key) => holders.own.has(key))
  return isLed ? ['mesh label'] : ['mesh label', 'joining pods']
}

/** Creates a test for policies of the application's pods and of its present and former Services. */
const isOwnPolicy = ({ features, subject, state, observed }: Situation): ((object: KubernetesObject) => boolean) => {
  const { namespace, application } = subject
  const targets = [
    ...features.targets(application, state.config),
    ...observed.targets.earlier.map(({ target }) => target),
  ]
  const names = [application, ...targets.filter(({ kind }) => kind === 'Service').map(({ name }) => name)]
  const { isPolicy, isGuarding } = features.mesh
  return (object) => isPolicy(object) && object.metadata.namespace === namespace && isGuarding(object, names)
}

const leadsOf = (situation: Situation): string[] => {
  const { subject, desired, observed } = situation
  const services = placesOf(observed.targets.current).filter(isService)
  const led = services.filter((place) => {
    const seen = readHeld(subject.application, place)
    const { apply = {} } = labelDifference(seen, wantedAt(situation, place, desired.labels))
    return Object.hasOwn(apply, USE_WAYPOINT_LABEL) && changesAny(WAYPOINT_KEYS, seen, { remove: {}, apply })
  })
  return led.map(({ object }) => idOf('label', objectKey(object)))
}

const WAYPOINT_KEYS = [USE_WAYPOINT_LABEL, USE_WAYPOINT_NAMESPACE_LABEL]

const isOnlyRemoving = ({ heldLabels, desired }: Situation): boolean => {
  const { labels, unknown } = desired.labels
  return (
    unknown !== 'all' &&
    Object.keys(heldLabels).some((key) => ownValue(labels, key) === undefined) &&
    Object.entries(labels).every(([key, value]) => ownValue(heldLabels, key) === value)
  )
}
