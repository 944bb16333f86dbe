import { applicationStatus } from './application-status.ts'
import type { Clock } from './clock.ts'
import type { Environment } from './cluster/desire.ts'
import { type Desired, desire, lookups, ownedKinds } from './desire.ts'
import { observeFacts } from './facts.ts'
import { observe, type Place, reconcileLabels } from './kubernetes/apply-labels.ts'
import type { Kubernetes } from './kubernetes/client.ts'
import { isUnknown, type WantedLabels } from './kubernetes/label-difference.ts'
import type { DesiredLabels } from './labels/desired.ts'
import { type Content, isStored, loadMemory, type Memory, memoryObject, saveMemory } from './memory.ts'
import { observeUnits } from './observe-units.ts'
import type { Conflict } from './outcome.ts'
import { observeOwned, ownedObjects } from './owned.ts'
import { fieldManager } from './owner.ts'
import { at } from './record.ts'
import { isSameTarget, type State, type Subject, type Target, targetsOf } from './state.ts'
import { withoutRun } from './workload/loop.ts'
import type { ApplicationStatus } from './workload/status.ts'

/** What bringing the cluster to the memory came upon, and the memory as it is then. */
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

type Dependencies = { kubernetes: Kubernetes; clock: Clock; environment: Environment }

/**
 * Brings the cluster to what the memory desires, then narrows the memory to what is held, and tells `wrote` the name of each object
 * it writes. Answers undefined, or rejects with an error that isStale, when the memory moved meanwhile: what was written may be
 * old by then, and the newest memory has to be settled.
 *
 * The order is safe at each moment: what allows is there before labels put anything on the mesh, and before what denies the rest; labels
 * take off the mesh before anything is revoked, and what is new stands before what is stale goes.
 */
export const settle = async (
  { kubernetes, clock, environment }: Dependencies,
  subject: Subject,
  memory: Memory,
  wrote: (name: string) => void,
): Promise<Settled | undefined> => {
  const { state } = memory
  let writes = 0
  const write = (name: string) => {
    writes += 1
    wrote(name)
  }
  const [facts, owned, seen] = await Promise.all([
    observeFacts(kubernetes, lookups(subject, state)),
    observeOwned(kubernetes, subject, state),
    observeTargets(kubernetes, subject, state),
  ])
  const desired = desire(subject, state, facts, environment)
  const objects = ownedObjects({ kubernetes, subject, state, owned, desired, write })
  await objects.allow()
  const isDeployed =
    writes > 0 && seen.current.some(({ target, places }) => places === undefined || target.on === 'pods')
  const found = isDeployed ? await observeTargets(kubernetes, subject, state) : seen
  const onTargets = await holdLabels(
    kubernetes,
    subject,
    state,
    desired.labels,
    objects.refusedSpec() ? withRunning(subject, found) : found,
    write,
  )
  await objects.holdModelLabels()
  await objects.deny()
  await objects.removeStale()

  const units = await observeUnits(kubernetes, subject, state, found.current[0])
  const held = narrowed(memory, desired, found.current[0], onTargets.onWorkload)
  const next = { ...held, state: withWorkload({ ...held.state, units }, objects.refusedSpec()) }
  let settled = memory
  if (!isStored(memory, next)) {
    settled = await saveMemory(kubernetes, subject, memory, next, clock.now())
    wrote(memoryObject(subject))
  } else if (writes > 0 && versionOf(await loadMemory(kubernetes, subject)) !== versionOf(memory)) {
    return undefined
  }
  const missing = found.current.filter(({ places }) => desired.labels.required && places === undefined)
  return {
    state: settled.state,
    conflicts: [...onTargets.conflicts, ...objects.conflicts],
    missing: missing.map(({ target }) => target),
    waiting: [...desired.waiting, ...objects.waiting, ...objects.refused],
    messages: desired.messages,
    application: applicationStatus(subject, settled.state),
  }
}

/** A spec that the API server refuses has changed nothing that runs, and is no part of a loop. */
const withWorkload = ({ refusedSpec: _, ...state }: State, refused: string | undefined): State => {
  if (refused === undefined) return state
  return { ...state, refusedSpec: refused, ...(state.specs && { specs: withoutRun(state.specs) }) }
}

type Targets = { current: readonly Found[]; earlier: readonly Found[]; library: readonly Target[] }

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

type Held = { onWorkload: readonly Conflict[]; conflicts: readonly Conflict[] }

const holdLabels = async (
  kubernetes: Kubernetes,
  subject: Subject,
  state: State,
  desired: DesiredLabels,
  { current, earlier, library }: Targets,
  write: (name: string) => void,
): Promise<Held> => {
  const reconcile = async (places: readonly Place[], { labels, unknown }: Wanted): Promise<Conflict[]> => {
    const conflicts: Conflict[] = []
    for (const place of places) {
      const inherited = isAt(place, library) ? (state.inherited ?? {}) : {}
      const wanted = { labels, unknown, inherited }
      const report = await reconcileLabels(kubernetes, place, wanted, fieldManager(subject.application))
      report.written.map(write)
      conflicts.push(...report.conflicts)
    }
    return conflicts
  }
  const onWorkload = await reconcile(placesOf(current.slice(0, 1)), desired)
  const onOthers = await reconcile(placesOf(current.slice(1)), desired)
  await reconcile(without(placesOf(earlier), placesOf(current)), RELEASED)
  return { onWorkload, conflicts: [...onWorkload, ...onOthers] }
}

type Wanted = Omit<WantedLabels, 'inherited'>

const RELEASED: Wanted = { labels: {}, unknown: [] }

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

/** A former target may be found at an object that is a target again, under another name for it. */
const without = (places: readonly Place[], others: readonly Place[]): Place[] =>
  places.filter(
    ({ object, path }) =>
      !others.some((other) => other.object.metadata.uid === object.metadata.uid && other.path === path),
  )

const versionOf = ({ stored }: Memory): string | undefined => stored?.metadata.resourceVersion

/** The memory once the cluster is settled: what is held of labels and kinds, and of the inherited labels those that are wanted yet. */
const narrowed = (
  { state, labels }: Memory,
  { labels: desired }: Desired,
  workload: Found | undefined,
  conflicts: readonly Conflict[],
): Content => {
  const refused = new Set(conflicts.map(({ key }) => key))
  const held = [
    ...Object.entries(desired.labels).filter(([key]) => !refused.has(key)),
    ...Object.entries(labels).filter(([key]) => isUnknown(desired, key)),
  ]
  const inherited = Object.entries(state.inherited ?? {}).filter(
    ([key, value]) => at(desired.labels, key) === value || isUnknown(desired, key),
  )
  const next = withOwned(withInherited(withWorkloadKind(state, workload), inherited))
  return { state: next, labels: Object.fromEntries(held) }
}

const withOwned = ({ owned: _, ...state }: State): State => {
  const kinds = ownedKinds(state).toSorted()
  return kinds.length === 0 ? state : { ...state, owned: kinds }
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
