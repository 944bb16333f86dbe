import { type Condition, waitFor } from '../../../platform/base/condition.ts'
import { ownValue } from '../../../platform/base/own-value.ts'
import { namesakeConflict, type ObjectPlan, objectDifference } from '../../../platform/kubernetes/apply-objects.ts'
import { listAppliers } from '../../../platform/kubernetes/field-managers.ts'
import { type KubernetesObject, objectKey } from '../../../platform/kubernetes/objects.ts'
import { isOfNamesake, isOwnedBy, isTakenOver } from '../../../platform/kubernetes/ownership-labels.ts'
import { ownWorkload } from '../../workload/config.ts'
import { BESIDE_WORKLOADS, isWorkload, managerOf } from '../../workload/objects.ts'
import { withPresentReplicas } from '../../workload/replicas.ts'
import type { Listed } from '../observe/cluster.ts'
import { applyOf, type Operation, objectOf, type Plan, writeOf } from './operation.ts'
import { planKept } from './plan-kept.ts'
import { planLibrary, planPrune } from './plan-prune.ts'
import { liveIn, type Situation, type Templates } from './situation.ts'
import { isRequestUnknown } from './stays.ts'
import { inParts, type Pair } from './widen.ts'

/**
 * `touches` go to objects that stay as they are. `allowing` is what lets in, `own` the own workload and its objects, `later` all others. `isHolding`: stale
 * objects are kept for the consumers.
 */
type PlannedObjects = Pick<Plan, 'blocked' | 'conflicts' | 'waiting' | 'messages'> &
  Readonly<Record<'touches' | 'allowing' | 'own' | 'later', readonly Operation[]>> & { readonly isHolding: boolean }

/** Plans the writes that bring the application's objects to the desired state. */
export const planObjects = (situation: Situation, templates: Templates): PlannedObjects => {
  const kinds = situation.observed.owned.kinds.map((listed) => compare(situation, templates, listed))
  const applies = planApplies(situation, templates, kinds)
  const stale = kinds.flatMap((one) => one.stale)
  const { kept, touches, ...staying } = planKept(
    situation,
    kinds.flatMap((one) => one.staying),
    stale,
  )
  const library = planLibrary(
    situation,
    kinds.flatMap((one) => one.library),
    new Set(kinds.flatMap(({ same }) => same.map(({ live }) => objectKey(live)))),
  )
  const removals = planPrune(situation, without(stale, kept))
  const { isDenying, isForAll } = situation.features.mesh
  // nothing replaces what denies all, which would refuse what joins the mesh
  const isEnding = (one: Operation) => one.needs.length === 0 && isDenying(objectOf(one)) && isForAll(objectOf(one))
  const applied = Object.groupBy(applies.operations, ({ desired: object }) =>
    isDenying(object) ? 'denying' : isRun(object) ? 'own' : 'allowing',
  )
  return {
    touches,
    allowing: [...(applied.allowing ?? []), ...staying.operations, ...removals.filter(isEnding)],
    own: applied.own ?? [],
    later: [...(applied.denying ?? []), ...removals.filter((one) => !isEnding(one)), ...library.operations],
    blocked: [...kinds.flatMap(({ blocked }) => blocked), ...applies.blocked],
    conflicts: [...kinds.flatMap(({ conflicts }) => conflicts), ...applies.conflicts],
    waiting: [...kinds.flatMap(({ waiting }) => waiting), ...staying.waiting, ...library.waiting],
    messages: library.messages,
    isHolding: kept.length > 0,
  }
}

type Compared = Pick<ObjectPlan, 'same' | 'stale' | 'conflicts'> &
  Pick<PlannedObjects, 'blocked' | 'waiting'> & {
    readonly due: readonly Pair[]
    /** The live objects that are as desired, or are kept for unknown requesters. */
    readonly staying: readonly KubernetesObject[]
    readonly library: readonly KubernetesObject[]
  }

/** Compares the live and desired objects of one kind. Objects of an unknown kind stay as they are. */
const compare = (situation: Situation, templates: Templates, { kind, live, library, problem }: Listed): Compared => {
  const { subject, desired } = situation
  const manager = managerOf(subject, kind)
  const wanted = desired.objects
    .filter((object) => object.kind === kind)
    .map((object) => withPresentReplicas(object, live ?? [], manager))
  const isTakingOver = (pair: Pair) => (releasesOf(situation, templates, pair) ?? []).length > 0
  const plan = objectDifference(live ?? [], wanted, manager, isTakingOver)
  const isUnknown = isRequestUnknown(situation)
  const isKnown = live !== undefined
  const owned = plan.stale.filter((object) => isOwnedBy(object, manager))
  const changing = plan.apply.flatMap((pair) => pair.live ?? [])
  const unknown = [...owned, ...changing].filter(isUnknown)
  return {
    same: plan.same,
    stale: owned.filter((object) => !isUnknown(object)),
    staying: [...plan.same.map((pair) => pair.live), ...unknown],
    due: isKnown ? plan.apply.filter((pair) => pair.live === undefined || !isUnknown(pair.live)) : [],
    library: without(library, [...wanted, ...plan.stale]).filter((object) => isLeftover(situation, object)),
    conflicts: plan.conflicts,
    blocked: isKnown ? [] : wanted.map((object) => ({ object, problem })),
    waiting: isKnown || problem !== undefined || wanted.length === 0 ? [] : [unservedKind(kind, wanted.length)],
  }
}

const planApplies = (
  situation: Situation,
  templates: Templates,
  kinds: readonly Compared[],
): Pick<Plan, 'blocked' | 'conflicts'> & { readonly operations: readonly (Operation & { verb: 'apply' })[] } => {
  const { features, subject, desired } = situation
  const places = new Map(desired.objects.map((object, index) => [objectKey(object), index]))
  // files come before the pods that mount them
  const placeOf = ({ desired: object }: Pair) => (isFile(object) ? -1 : (places.get(objectKey(object)) ?? 0))
  const due = kinds.flatMap((one) => one.due).toSorted((one, other) => placeOf(one) - placeOf(other))
  const looked = due.map((pair) => ({ ...pair, ...foundAt(situation, pair) }))
  const taken = looked.filter(({ desired: object, live }) => live !== undefined && !mayWrite(situation, object, live))
  const unread = looked.filter(({ problem }) => problem !== undefined)
  const free = looked.filter((pair) => !taken.includes(pair) && !unread.includes(pair))
  const drafts = inParts(features.mesh, free, liveIn(situation))
  const takenIds = taken.map(({ desired: object }) => applyOf(object))
  const toRun = neededToRun(situation, templates, takenIds)
  return {
    operations: drafts.map((draft) => ({
      ...writeOf(subject, 'apply', draft.desired),
      id: draft.id,
      needs: [...draft.needs, ...toRun(draft.desired)],
      reason: draft.live === undefined ? 'it is desired' : 'it is not as it is desired',
      verb: 'apply',
      desired: draft.desired,
      found: draft.live,
      releases: releasesOf(situation, templates, draft),
    })),
    blocked: [...taken, ...unread].map(({ desired: object, problem }) => ({ object, problem })),
    conflicts: taken.flatMap(({ desired: object, live }) =>
      live === undefined ? [] : [namesakeConflict(object, live, managerOf(subject, object.kind))],
    ),
  }
}

const isFile = ({ kind }: KubernetesObject): boolean => kind === 'ConfigMap' || kind === 'Secret'

/** Tells if an object belongs to the own workload. */
const isRun = (object: KubernetesObject): boolean =>
  isWorkload(object.kind) || isFile(object) || BESIDE_WORKLOADS.some((kind) => kind === object.kind)

/** Returns the live object with the name of a desired one: ours, a namesake or none. Returns a problem if reading it is forbidden. */
const foundAt = ({ namesakes }: Situation, { desired, live }: Pair) => {
  const read = namesakes.get(objectKey(desired)) ?? { object: undefined }
  return 'problem' in read ? { live, problem: read.problem } : { live: live ?? read.object, problem: undefined }
}

/** Tells if an object may be written. One that another application has taken over is its own. A dry run does not take over a policy that another program enforces. */
const mayWrite = (situation: Situation, wanted: KubernetesObject, object: KubernetesObject): boolean => {
  const { features, subject } = situation
  const manager = managerOf(subject, object.kind)
  const isOwn = listAppliers(object).includes(manager) && !isOfNamesake(subject, object)
  return (
    (isOwn && !isTakenOver(object, manager)) ||
    formerOf(situation, object) !== undefined ||
    (isLeftover(situation, object) && !features.mesh.isDryRun(wanted))
  )
}

const isLeftover = ({ leftovers }: Situation, object: KubernetesObject): boolean =>
  leftovers.some((one) => one.isLeftover(object))

/** Lists the managers whose fields an apply takes over: of earlier separate writes to a template, or of the beacon that wrote a policy before. */
const releasesOf = (
  situation: Situation,
  { whole }: Templates,
  { desired, live }: Pair,
): readonly string[] | undefined => {
  const former = live && formerOf(situation, live)
  const isOther = former !== undefined && former !== managerOf(situation.subject, desired.kind)
  return whole.get(objectKey(desired)) ?? (isOther ? [former] : undefined)
}

/** Returns the manager of the beacon that wrote a policy that the application writes itself by its offer now. */
const formerOf = ({ desired }: Situation, object: KubernetesObject): string | undefined => {
  const former = desired.formerly.get(objectKey(object))
  return listAppliers(object).find((one) => one === former)
}

/** Lists the operations before an object of a workload. Its objects go together: a Service must not switch to ports that its pods do not have. */
const neededToRun = (
  { state, desired: { objects, annotations } }: Situation,
  { before }: Templates,
  taken: readonly string[],
): ((object: KubernetesObject) => string[]) => {
  const workload = objects.filter(({ kind }) => isWorkload(kind)).map(applyOf)
  const { configMaps = {}, secrets = {} } = ownWorkload(state.config) ?? {}
  const mounted = { ConfigMap: configMaps, Secret: secrets }
  const isTold = Object.keys(annotations.labels).length > 0
  // pods must not start with another owner's files, or with outdated ones
  const files = objects.filter(
    ({ kind, metadata: { name } }) =>
      Object.hasOwn(ownValue(mounted, kind) ?? {}, name) || (isTold && kind === 'ConfigMap'),
  )
  return (object) => {
    if (!isWorkload(object.kind) || object.kind === 'ServiceAccount') return []
    const earlier = workload.slice(0, workload.indexOf(applyOf(object))).filter((id) => !taken.includes(id))
    return [...earlier, ...files.map(applyOf), ...(before.get(objectKey(object)) ?? [])]
  }
}

const without = (objects: readonly KubernetesObject[], others: readonly KubernetesObject[]): KubernetesObject[] => {
  const names = new Set(others.map(objectKey))
  return objects.filter((object) => !names.has(objectKey(object)))
}

const REMEDIES: Readonly<Record<string, string>> = {
  AuthorizationPolicy: 'install Istio',
  Gateway: 'install the Gateway API',
}

const unservedKind = (kind: Listed['kind'], count: number): Condition =>
  waitFor(
    ['the API server'],
    'KindUnserved',
    `${kind} objects`,
    `the API server does not know the kind ${kind}: ${REMEDIES[kind] ?? 'it is too old'}; the next event after that applies ${count}`,
  )
