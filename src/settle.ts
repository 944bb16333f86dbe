import { applicationStatus } from './application-status.ts'
import type { Clock } from './clock.ts'
import type { Surroundings } from './cluster/surroundings.ts'
import { type Desired, desire, lookups, ownedKinds } from './desire.ts'
import { type Facts, observeFacts } from './facts.ts'
import { isDifferent, observe, type Place, reconcileLabels } from './kubernetes/apply-labels.ts'
import { followingOwnWrites, type Kubernetes } from './kubernetes/client.ts'
import { isUnknown, type WantedLabels } from './kubernetes/label-difference.ts'
import type { KubernetesObject } from './kubernetes/objects.ts'
import { livePods } from './kubernetes/pods.ts'
import type { DesiredLabels } from './labels/desired.ts'
import { type Content, isStored, type Memory, memoryObject, saveMemory } from './memory.ts'
import { observeUnits } from './observe-units.ts'
import type { Conflict } from './outcome.ts'
import { type Owned, type OwnedObjects, observeOwned, ownedObjects } from './owned.ts'
import { fieldManager } from './owner.ts'
import { at, defined } from './record.ts'
import { type Effective, gated, otherSide } from './relations/effective.ts'
import { subjectName } from './relations/mirror.ts'
import { type Peers, readPeers } from './relations/peers.ts'
import {
  acted,
  dueIntents,
  type Intent,
  isHeldByConsumers,
  namespaceAwaits,
  withIntents,
} from './relations/progress.ts'
import { isSameTarget, type State, type Subject, type Target, targetsOf } from './state.ts'
import { annotate, isAnnotated } from './template-annotations.ts'
import { withoutRun } from './workload/loop.ts'
import type { ApplicationStatus } from './workload/status.ts'

/** The result of bringing the cluster to the memory, and the memory as it is then. */
export type Settled = {
  state: State
  conflicts: readonly Conflict[]
  missing: readonly Target[]
  /** What does not exist or is not ready yet, a sentence each. */
  waiting: readonly string[]
  messages: readonly string[]
  /** The status of the application itself. */
  application: ApplicationStatus
}

/** A target with the places where its labels are, or undefined where it does not exist. */
type Found = { target: Target; places: readonly Place[] | undefined }

type Targets = { current: readonly Found[]; earlier: readonly Found[]; library: readonly Target[] }

/** The cluster as far as a step looks at it. */
export type Observed = { facts: Facts; owned: Owned; targets: Targets; pods?: readonly KubernetesObject[] | undefined }

type Dependencies = { kubernetes: Kubernetes; clock: Clock; surroundings: Surroundings }

/** Reads what the state desires something of; what was read before by the same client is not read again. */
export const observeCluster = async (
  kubernetes: Kubernetes,
  subject: Subject,
  state: State,
  resolved: Effective,
): Promise<Observed> => {
  const [facts, owned, targets] = await Promise.all([
    observeFacts(kubernetes, lookups(subject, resolved)),
    observeOwned(kubernetes, subject, state),
    observeTargets(kubernetes, subject, state),
  ])
  return { facts, owned, targets, pods: await observeReloading(kubernetes, state, targets) }
}

/** The pods of an application that rolls them out for its nginx, which tell the file that they started with. */
const observeReloading = async (
  kubernetes: Kubernetes,
  { config }: State,
  { current: [workload] }: Targets,
): Promise<KubernetesObject[] | undefined> => {
  const [place] = workload?.places ?? []
  const isAsked = config?.coordinator?.reload === true && workload?.target.kind !== 'Service'
  return isAsked && place && workload?.target.on !== 'pods' ? await livePods(kubernetes, place.object) : undefined
}

/** Whether a workload or a Service of the application is there. */
export const isDeployed = ({ targets }: Observed): boolean => targets.current.some(({ places }) => places !== undefined)

export type Input = {
  subject: Subject
  /** The memory as it was read; `next` is what it is to be. */
  memory: Memory
  next: State
  resolved: Effective
  peers: Peers
  /** Whose requests are not known, and are granted as they are. */
  requesters: readonly string[]
  observed: Observed
  /** The mark of an attempt of this step, all of whose calls were answered. */
  ownMark: string | undefined
  /** Is told when the memory is saved, with the mark of what is being written: the changes are in it from then on. */
  saved(mark: string): void
  /** Is told the name of each object that is written. */
  wrote(name: string): void
}

/**
 * Saves the memory, brings the cluster to it, and saves how far that came. Answers undefined, or rejects with an error that isStale, when
 * somebody was faster: then all has to be looked at again.
 *
 * What is to be written is saved before (write-ahead), with a mark of its own, and each write is bound to what was observed before that. So of two steps
 * the one that saved first loses, and a write that is executed late finds another resourceVersion. Where such a mark is found, all that
 * could still be written is written once more.
 *
 * The order is safe at each moment: what allows is there before labels put anything on the mesh, and before what denies the rest; labels
 * take off the mesh before anything is revoked, and what is new stands before what is stale goes.
 */
export const settle = async (outer: Dependencies, input: Input): Promise<Settled | undefined> => {
  const dependencies = { ...outer, kubernetes: followingOwnWrites(outer.kubernetes) }
  const { subject, memory, next, peers, observed, wrote } = input
  const resolved = gated(subject, next, input.resolved, peers)
  const step: Step = { ...dependencies, ...input, resolved, ...(await planned(dependencies, { ...input, resolved })) }
  const intents = dueIntents(subject, next, resolved, peers)
  const isQuiet =
    step.objects.isQuiet &&
    isLabelled(step) &&
    isTemplateAnnotated(step) &&
    intents.every(isNothing) &&
    memory.state.writing === undefined
  if (isQuiet) return await finish(step, memory, observed.targets, await holdLabels(step, observed.targets))
  const mark = dependencies.clock.random().toString(36).slice(2, 12)
  const saved = await saveMemory(
    dependencies.kubernetes,
    subject,
    memory,
    ahead(step, withIntents(next, intents), mark),
  )
  input.saved(mark)
  wrote(memoryObject(subject))
  if (await isOvertaken(step, intents)) return undefined
  const { targets, conflicts } = await execute(step)
  return await finish(step, saved, targets, conflicts)
}

const isNothing = ({ entry }: Intent): boolean => Object.keys(entry).length === 0

/** Whether the other side of an intent has moved: one of the two that move at once sees the other. */
const isOvertaken = async (
  { kubernetes, subject, next, peers }: Step,
  intents: readonly Intent[],
): Promise<boolean> => {
  const known = intents.filter(({ remote }) => peers.has(subjectName(remote)))
  const again = new Map(
    (
      await readPeers(
        kubernetes,
        known.map(({ remote }) => remote),
      )
    ).map((peer) => [subjectName(peer.subject), peer]),
  )
  return known.some(({ key }) => {
    const [before, now] = [peers, again].map((read) => otherSide(subject, next, key, read))
    return before?.shows !== now?.shows || before?.holds !== now?.holds
  })
}

type Step = Dependencies & Input & { desired: Desired; objects: OwnedObjects; fence: string | undefined }

const planned = async (
  { kubernetes, surroundings }: Dependencies,
  { subject, memory, next, resolved, peers, requesters, observed, ownMark, wrote }: Input,
): Promise<{ desired: Desired; objects: OwnedObjects; fence: string | undefined }> => {
  const all = desire(subject, resolved, observed.facts, surroundings)
  const desired = { ...all, unknown: [...all.unknown, ...requesters] }
  const fence = memory.state.writing === ownMark ? undefined : memory.state.writing
  const objects = await ownedObjects({
    kubernetes,
    subject,
    state: next,
    owned: observed.owned,
    desired,
    isHeld: isHeldByConsumers(subject, next, peers),
    namespaceAwaits: namespaceAwaits(subject, next, resolved, peers),
    fence,
    write: wrote,
  })
  return { desired, objects, fence }
}

/** Whether all labels are as they are wanted. */
const isLabelled = ({ subject, next, desired, observed: { targets } }: Step): boolean => {
  const manager = fieldManager(subject.application)
  const places = placesOf(targets.current)
  return (
    places.every((place) => !isDifferent(place, wantedAt(place, desired.labels, next, targets), manager)) &&
    without(placesOf(targets.earlier), places).every(
      (place) => !isDifferent(place, wantedAt(place, RELEASED, next, targets), manager),
    )
  )
}

const isTemplateAnnotated = ({ subject, desired, observed: { targets } }: Step): boolean => {
  const current = placesOf(targets.current)
  return (
    isAnnotated(current, desired.annotations, subject.application) &&
    isAnnotated(without(placesOf(targets.earlier), current), RELEASED_ANNOTATIONS, subject.application)
  )
}

const RELEASED_ANNOTATIONS: WantedLabels = { labels: {}, unknown: [], inherited: {} }

/** After the objects: pods that start for an annotation find the file that it tells of. */
const holdAnnotations = async (
  { kubernetes, subject, desired, wrote }: Step,
  targets: Targets,
): Promise<Conflict[]> => {
  const current = placesOf(targets.current)
  const earlier = without(placesOf(targets.earlier), current)
  const reports = [
    ...(await annotate(kubernetes, current, desired.annotations, subject.application)),
    ...(await annotate(kubernetes, earlier, RELEASED_ANNOTATIONS, subject.application)),
  ]
  for (const name of reports.flatMap(({ written }) => written)) wrote(name)
  return reports.flatMap(({ conflicts }) => conflicts)
}

/** Write-ahead record: the labels that are newly wanted, and that something is being written. */
const ahead = ({ memory, desired }: Step, state: State, mark: string): Content => ({
  state: { ...state, writing: mark },
  labels: { ...memory.labels, ...desired.labels.labels },
})

type Executed = { targets: Targets; conflicts: readonly Conflict[] }

const execute = async (step: Step): Promise<Executed> => {
  const { kubernetes, subject, memory, next, desired, objects, observed } = step
  const isLeaving = isOnlyRemoving(memory.labels, desired.labels)
  // whoever leaves the mesh does so before anything that it was allowed is narrowed
  const first = isLeaving ? await holdLabels(step, observed.targets) : undefined
  await objects.allow()
  const isNew = observed.targets.current.some(({ target, places }) => places === undefined || target.on === 'pods')
  const isOwn = next.config?.workload !== undefined && next.config.workload !== null
  const found = isNew && isOwn ? await observeTargets(kubernetes, subject, next) : observed.targets
  const targets = objects.refusedSpec() ? withRunning(subject, found) : found
  const conflicts = first && found === observed.targets ? first : await holdLabels(step, targets)
  const onTemplates = await holdAnnotations(step, targets)
  await objects.holdModelLabels()
  await objects.deny()
  await objects.touch()
  await objects.removeStale()
  return { targets: found, conflicts: [...conflicts, ...onTemplates] }
}

const isOnlyRemoving = (held: Readonly<Record<string, string>>, { labels, unknown }: Wanted): boolean =>
  unknown !== 'all' &&
  Object.keys(held).some((key) => at(labels, key) === undefined) &&
  Object.entries(labels).every(([key, value]) => at(held, key) === value)

/** Narrows the memory to what is held, and saves it, if it is not the same. */
const finish = async (
  step: Step,
  saved: Memory,
  { current }: Targets,
  conflicts: readonly Conflict[],
): Promise<Settled | undefined> => {
  const { kubernetes, subject, memory, next, resolved, peers, desired, objects, wrote, clock } = step
  const units = await observeUnits(kubernetes, subject, next, current[0])
  const onWorkload =
    current[0]?.places?.map(({ object }) => `${object.kind} ${object.metadata.namespace}/${object.metadata.name}`) ?? []
  const held = narrowed(
    memory,
    next,
    desired,
    current[0],
    conflicts.filter(({ object }) => onWorkload.includes(object)),
  )
  const done = acted(subject, held.state, resolved, peers, objects.failed())
  const state = withFormerKinds(withWorkload({ ...done, units }, objects.refusedSpec()), next, new Date(clock.now()))
  const content = {
    state: defined({ ...state, awaits: objects.awaits }),
    labels: held.labels,
  }
  let settled = saved
  if (!isStored(saved, content)) {
    settled = await saveMemory(kubernetes, subject, saved, content)
    wrote(memoryObject(subject))
  }
  const missing = current.filter(({ places }) => desired.labels.required && places === undefined)
  return {
    state: settled.state,
    conflicts: [...conflicts, ...objects.conflicts],
    missing: missing.map(({ target }) => target),
    waiting: [...resolved.waiting, ...desired.waiting, ...objects.waiting, ...objects.refused],
    messages: desired.messages,
    application: applicationStatus(subject, settled.state, resolved),
  }
}

/** A spec that the API server refuses has changed nothing that runs, and is no part of a loop. */
const withWorkload = ({ refusedSpec: _, ...state }: State, refused: string | undefined): State => {
  if (refused === undefined) return state
  return { ...state, refusedSpec: refused, ...(state.specs && { specs: withoutRun(state.specs) }) }
}

const observeTargets = async (kubernetes: Kubernetes, subject: Subject, state: State): Promise<Targets> => {
  const find = async (target: Target): Promise<Found> => ({
    target,
    places: await observe(kubernetes, subject.namespace, target, state.workloadKind),
  })
  const library = libraryTargets(subject, state)
  const targets = targetsOf(subject.application, state.config)
  const former = [...(state.former ?? []), ...library].filter(
    (one) => !targets.some((other) => isSameTarget(one, other)),
  )
  const found = await Promise.all([...targets, ...former].map(find))
  return { current: found.slice(0, targets.length), earlier: found.slice(targets.length), library }
}

/** Where a spec is refused, what was deployed before it runs on, and keeps its labels. */
const withRunning = ({ application }: Subject, { current, earlier, library }: Targets): Targets => {
  const running = earlier.filter(({ target }) => target.name === application)
  return { current: [...current, ...running], earlier: earlier.filter((one) => !running.includes(one)), library }
}

const holdLabels = async (step: Step, targets: Targets): Promise<Conflict[]> => {
  const { kubernetes, subject, next, desired, fence, wrote } = step
  const conflicts: Conflict[] = []
  const reconcile = async (places: readonly Place[], labels: Wanted): Promise<void> => {
    for (const place of places) {
      const wanted = wantedAt(place, labels, next, targets)
      const report = await reconcileLabels(kubernetes, place, wanted, fieldManager(subject.application), fence)
      report.written.map(wrote)
      conflicts.push(...report.conflicts)
    }
  }
  const current = placesOf(targets.current)
  await reconcile(current, desired.labels)
  await reconcile(without(placesOf(targets.earlier), current), RELEASED)
  return conflicts
}

type Wanted = Pick<DesiredLabels, 'labels' | 'unknown'>

const RELEASED: Wanted = { labels: {}, unknown: [] }

const wantedAt = (
  place: Place,
  { labels, unknown }: Wanted,
  { inherited }: State,
  { library }: Targets,
): WantedLabels => ({
  labels,
  unknown,
  inherited: isAt(place, library) ? (inherited ?? {}) : {},
})

/** The charm library labels the StatefulSet and the Service of the application's name, whatever the config says. */
const libraryTargets = ({ application }: Subject, { inherited }: State): Target[] =>
  inherited === undefined
    ? []
    : [
        { kind: 'StatefulSet', name: application },
        { kind: 'Service', name: application },
      ]

const isAt = ({ object: { kind, metadata } }: Place, targets: readonly Target[]): boolean =>
  targets.some((target) => target.kind === kind && target.name === metadata.name)

const placesOf = (found: readonly Found[]): Place[] => found.flatMap(({ places }) => places ?? [])

/** A former target may be found at an object that is a target again, or was one twice, under another name for it. */
const without = (places: readonly Place[], others: readonly Place[]): Place[] =>
  places.filter((place, index) => ![...others, ...places.slice(0, index)].some((other) => isSamePlace(place, other)))

const isSamePlace = (one: Place, other: Place): boolean =>
  one.object.metadata.uid === other.object.metadata.uid && one.path === other.path

/** The memory once the cluster is settled: what is held of labels and kinds, and of the inherited labels those that are wanted yet. */
const narrowed = (
  memory: Memory,
  { writing: _, awaits: _a, ...state }: State,
  { labels: desired }: Desired,
  workload: Found | undefined,
  conflicts: readonly Conflict[],
): Content => {
  const refused = new Set(conflicts.map((conflict) => ('key' in conflict ? conflict.key : undefined)))
  const held = [
    ...Object.entries(desired.labels).filter(([key]) => !refused.has(key)),
    ...Object.entries(memory.labels).filter(([key]) => isUnknown(desired, key)),
  ]
  const inherited = Object.entries(state.inherited ?? {}).filter(
    ([key, value]) => at(desired.labels, key) === value || isUnknown(desired, key),
  )
  const next = withOwned(withInherited(withWorkloadKind(state, workload), inherited))
  return { state: next, labels: Object.fromEntries(held) }
}

const withOwned = ({ owned: _, ...state }: State): State => {
  const kinds = [...new Set([...ownedKinds(state), ...formerKinds(state)])].toSorted()
  return kinds.length === 0 ? state : { ...state, owned: kinds }
}

const formerKinds = ({ formerlyOwned = {} }: State) => Object.keys(formerlyOwned) as NonNullable<State['owned']>

/** A step that began before may still write what this one has let go of: its kinds are looked at for a day. */
const withFormerKinds = (state: State, { owned = [] }: State, now: Date): State => {
  const current = ownedKinds(state)
  const left = owned.filter((kind) => !current.includes(kind))
  const former = { ...Object.fromEntries(left.map((kind) => [kind, now.toISOString()])), ...state.formerlyOwned }
  const kept = Object.entries(former).filter(([kind]) => !current.some((one) => one === kind))
  const { formerlyOwned: _, ...others } = state
  return kept.length === 0 ? others : withOwned({ ...others, formerlyOwned: Object.fromEntries(kept) })
}

const withInherited = ({ inherited: _, ...state }: State, entries: readonly [string, string][]): State =>
  entries.length === 0 ? state : { ...state, inherited: Object.fromEntries(entries) }

/** Remembers which kind to look for first; a workload that is away for now does not change it. */
const withWorkloadKind = (state: State, workload: Found | undefined): State => {
  if (workload?.target.kind !== 'Workload' || workload.target.on === 'pods' || workload.places?.[0] === undefined)
    return state
  const { workloadKind: _, ...others } = state
  return workload.places[0].object.kind === 'Deployment' ? { ...others, workloadKind: 'Deployment' } : others
}
