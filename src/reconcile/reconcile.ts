import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../base/clock.ts'
import { changed, defined, ownValue } from '../base/own-value.ts'
import type { Recall } from '../base/recall.ts'
import { type Subject, subjectName } from '../base/subject.ts'
import type { Wait } from '../base/wait.ts'
import type { Features } from '../feature/combine.ts'
import type { Environment } from '../feature/feature.ts'
import { isStale } from '../kubernetes/api-error.ts'
import { isTemplate } from '../kubernetes/apply-labels.ts'
import { followingOwnWrites, type Kubernetes } from '../kubernetes/client.ts'
import type { KubernetesObject } from '../kubernetes/objects.ts'
import { isSettling } from '../policies/unenforced.ts'
import { labelsHandedElsewhere, labelsHandedOn } from '../relations/handed-on.ts'
import { withSending } from '../relations/nudges.ts'
import { withGenerations } from '../relations/peer-entry.ts'
import { type Peers, readPeers } from '../relations/peers.ts'
import { dueIntents, type Intent, recordProgress, withEntries, workersAwaited } from '../relations/progress.ts'
import { gateEnrolment, isAwaiting, peerView, type ResolvedRelations } from '../relations/resolve-relations.ts'
import { type Content, type Memory, memoryObject, memoryVersion, savedAt } from '../state/memory.ts'
import type { State } from '../state/state.ts'
import type { ApplicationStatus } from '../units/report.ts'
import { type Execution, execute, isFailed, type Lost, type Report, skipAll, skippedMessage } from './apply/execute.ts'
import { type Drift, driftOf } from './decide/drift.ts'
import { hashOf, headsOf, isLabelling, isRolling, type Operation, PHASES } from './decide/operation.ts'
import { blockedIn, dueIn, type Plan, plan, problemKeys } from './decide/plan.ts'
import { readSituation } from './decide/read-situation.ts'
import type { Situation } from './decide/situation.ts'
import {
  type Found,
  missingIn,
  type Observed,
  observeTargets,
  type Targets,
  workloadLabelsIn,
} from './observe/cluster.ts'
import { withCauses } from './observe/not-taken.ts'
import { waitForRemainingPods } from './observe/pods-on-mesh.ts'
import { observeRunning, type Running, withUnits } from './observe/units.ts'
import type { Conflict } from './outcome.ts'
import { applicationStatus } from './record/application-status.ts'
import { finalMemory, withPreviousKinds, withRefusals } from './record/final-memory.ts'
import { isLeavingPods } from './record/unlabelled.ts'
import { beginnings, isDatedAnew, waitsOf, withBeginnings } from './record/waits.ts'

/** The result of bringing the cluster to the memory, and the memory as it is then. */
export type Reconciled = {
  state: State
  conflicts: readonly Conflict[]
  /** All that is held back until others act. */
  waiting: readonly Wait[]
  /** A sentence for each object that was refused, or cannot be read, and for each that depends on one. */
  problems: readonly string[]
  messages: readonly string[]
  /** The status of the application itself. */
  application: ApplicationStatus
}

type Dependencies = {
  features: Features
  kubernetes: Kubernetes
  clock: Clock
  environment: Environment
  recall: Recall
}

export type Input = {
  subject: Subject
  /** The memory as it was read; `next` is what it is to be. */
  memory: Memory
  next: State
  resolved: ResolvedRelations
  peers: Peers
  /** The applications with unknown requests, which are granted as they are. */
  requesters: readonly string[]
  observed: Observed
  /** All pods are listed, also those that nothing controls. */
  isWhole: boolean
  /** The mark of an attempt of this step, all of whose calls were answered. */
  ownMark: string | undefined
  /** An attempt of this step was overtaken: others write as well. */
  hasLost: boolean
  /** An attempt of this step has tried again what was refused before. */
  hasRetried: boolean
}

type Step = Dependencies & Input & { situation: Situation }

/** One object that was written: what changed in it, and whether it is gone. */
export type ObjectWrite = { readonly name: string; readonly drift: readonly Drift[]; readonly isGone: boolean }

/** An attempt to bring the cluster to the memory. */
export type Attempt = {
  /** Undefined where somebody was faster: then all has to be looked at again. */
  readonly reconciled?: Reconciled | undefined
  /** The mark of what was being written; with one the memory is saved, and the changes are in it. */
  readonly mark?: string | undefined
  readonly writes: readonly ObjectWrite[]
  /** The operations that were refused before were tried again. */
  readonly hasRetried?: boolean
  /** The answer of the API server that says who was faster, where there is one. */
  readonly cause?: unknown
}

/** The executed part of a plan, its reports, and the targets as they were then. */
type Executed = Execution & { plan: Plan; targets: Targets; waitForPods: Wait | undefined }

/**
 * Saves the memory, brings the cluster to it, and saves how far that came; never rejects because somebody was faster.
 *
 * What is to be written is planned, saved (write-ahead), with a mark of its own, and executed in the order of the plan's phases. So of two
 * steps the one that saved first loses, and a write that is executed late finds another resourceVersion. Where such a mark is found,
 * all that could still be written is written once more.
 *
 * What was refused before is tried again without saving anything: the memory has it already.
 */
export const reconcile = async (outer: Dependencies, input: Input): Promise<Attempt> => {
  const { subject, memory, next, peers } = input
  const dependencies = { ...outer, kubernetes: followingOwnWrites(outer.kubernetes) }
  const resolved = gateEnrolment(
    subject,
    next,
    input.resolved,
    peers,
    workloadLabelsIn(subject, input.observed.targets),
  )
  const situation = await readSituation(dependencies, { ...input, resolved })
  const step: Step = { ...dependencies, ...input, resolved, situation }
  // each is some tens of milliseconds where there is much of all: others have a turn in between
  await outer.clock.yieldTurn()
  const first = step.recall('plan', planOf, { situation, failed: NOTHING_FAILED })
  const intents = dueIntents(subject, memory.state, next, resolved, peers)
  const isSaved = intents.every(isNothing) && memory.state.writeToken === undefined
  const due = dueIn(first)
  if (isSaved && due.length === 0) return await finish(step, memory, withSkipped(step, first, []), { writes: [] })
  if (isSaved && isKnownRefusal(step, first, due)) return await retry(step, first, headsOf(due))
  return await write(step, first, intents)
}

/** The end of a plan of which nothing more can be done: the rest waits for what failed. */
const withSkipped = ({ observed, situation }: Step, planned: Plan, reports: readonly Report[]): Executed => ({
  plan: planned,
  reports: [...reports, ...skipAll(left(planned, reports), failedIn(planned, reports))],
  targets: observed.targets,
  waitForPods: situation.waitForPods,
})

const write = async (step: Step, first: Plan, intents: readonly Intent[]): Promise<Attempt> => {
  const { clock, memory, next } = step
  const mark = clock.random().toString(36).slice(2, 12)
  const saved = await save(step, memory, ahead(step, withEntries(next, intents), mark))
  if ('lost' in saved) return { writes: [], ...saved.lost }
  const attempt = { mark, writes: [memoryWrite(step)] }
  if (await isOvertaken(step, intents)) return attempt
  const executed = await executePlan(step, first, saved.memory)
  const done = { ...attempt, writes: [...attempt.writes, ...writesOf(executed.reports)] }
  return executed.lost ? { ...done, ...executed.lost } : await finish(step, saved.memory, executed, done)
}

/** Saves the memory, unless somebody was faster. */
const save = async (
  { features, kubernetes, subject }: Step,
  memory: Memory,
  content: Content,
): Promise<{ readonly memory: Memory } | { readonly lost: Lost }> => {
  try {
    return { memory: await features.memories.save(kubernetes, subject, memory, content) }
  } catch (error) {
    if (!isStale(error)) throw error
    return { lost: { cause: error } }
  }
}

const memoryWrite = ({ subject }: Step): ObjectWrite => ({ name: memoryObject(subject), drift: [], isGone: false })

const writesOf = (reports: readonly Report[]): ObjectWrite[] =>
  reports.flatMap(({ operation, isWritten }) =>
    isWritten ? [{ name: operation.object, drift: driftOf(operation), isGone: operation.verb === 'remove' }] : [],
  )

/** Tells if all due operations were refused before, exactly as they are, and nothing else is due meanwhile. */
const isKnownRefusal = ({ memory, hasRetried, situation }: Step, first: Plan, due: readonly Operation[]): boolean => {
  const heads = headsOf(due)
  const refused = heads.map(({ id }) => id)
  return (
    !hasRetried &&
    hashOf(heads, problemKeys(first.problems)) === memory.state.refused?.hash &&
    dueIn(plan(situation, new Set(refused)), refused).length === 0
  )
}

/** Tries again what was refused. Where anything is accepted, all has to be looked at again. */
const retry = async (step: Step, first: Plan, heads: readonly Operation[]): Promise<Attempt> => {
  const { kubernetes, memory } = step
  const { reports, lost } = await execute(kubernetes, heads, {
    failed: blockedIn(first),
    isCurrent: () => isCurrent(step, memory),
  })
  const attempt = { writes: writesOf(reports), hasRetried: true, ...lost }
  if (lost || !reports.every(isFailed)) return attempt
  const second = plan(step.situation, failedIn(first, reports))
  return await finish(step, memory, withSkipped(step, second, reports), attempt)
}

const isNothing = ({ entry }: Intent): boolean => Object.keys(entry).length === 0

/** Tells if the other side of an intent has moved. Of two that move at once, one sees the other. */
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
    const [before, now] = [peers, again].map((read) => peerView(subject, next, key, read))
    return (
      before?.shows !== now?.shows ||
      before?.hasLabels !== now?.hasLabels ||
      !isDeepStrictEqual(before?.labels, now?.labels)
    )
  })
}

/** The time a step waits for other writers, also recent ones, so that pods restart once for all. */
const GATHERING_MILLISECONDS = 150
const RECENT_MILLISECONDS = 2_000

/** Tells if others write as well, or wrote just now. */
const isGathering = ({ clock, hasLost, memory }: Step): boolean =>
  hasLost || clock.now() - (savedAt(memory) ?? 0) < RECENT_MILLISECONDS

/** Tells if the memory is as it was saved: a step that was overtaken restarts no pods. */
const isCurrent = async (step: Step, { stored }: Memory): Promise<boolean> => {
  const { kubernetes, clock, subject } = step
  if (isGathering(step)) await clock.sleep(GATHERING_MILLISECONDS)
  return (await memoryVersion(kubernetes, subject)) === stored?.metadata.resourceVersion
}

/** Write-ahead record: the labels that are newly wanted, and whether others wait for more, and that something is being written. */
const ahead = (step: Step, state: State, mark: string): Content => ({
  state: { ...state, writeToken: mark, ...(isAwaitingWorkers(step) && { awaiting: 'labels-applied' }) },
  labels: {
    ...step.memory.labels,
    ...labelsHandedElsewhere(step.subject, step.resolved.state),
    ...step.situation.desired.labels.labels,
  },
})

const isAwaitingWorkers = ({ subject, next, resolved, peers }: Step): boolean =>
  workersAwaited(subject, next, resolved, peers).length > 0

/**
 * Executes a plan, and observes the targets of its first phases again before it labels them. Objects that those phases could not make have
 * replaced nothing.
 */
const executePlan = async (step: Step, first: Plan, saved: Memory): Promise<Executed> => {
  const { features, kubernetes, subject, next, observed, situation, recall } = step
  const run = (operations: readonly Operation[], failed: Iterable<string>, isFresh: boolean) =>
    execute(kubernetes, operations, { failed, isCurrent: () => isCurrent(step, saved), isFresh })
  const isEarly = ({ phase }: Operation) => PHASES.indexOf(phase) < PHASES.indexOf('enrol')
  const isAlone = !isGathering(step)
  const { reports: early, lost } = await run(first.operations.filter(isEarly), blockedIn(first), isAlone)
  if (lost) return { ...withSkipped(step, first, early), lost }
  const isNew = observed.targets.current.some(({ target, places }) => places === undefined || target.on === 'pods')
  const isOwn = next.config?.workload !== undefined && next.config.workload !== null
  const targets = isNew && isOwn ? await observeTargets(features, kubernetes, subject, next) : observed.targets
  const failed = failedIn(first, early)
  const isChanged = early.some(({ operation }) => isLabelling(operation) || isRolling(operation))
  const isLookedAt = situation.waitForPods !== undefined && isChanged
  const waitForPods = isLookedAt
    ? await waitForRemainingPods(features.mesh, kubernetes, subject, observed.targets)
    : situation.waitForPods
  const now = { ...situation, waitForPods, observed: { ...observed, targets } }
  const second = recall('plan', planOf, { situation: now, failed })
  // what waited for something else may not do so any more
  const done = early.filter(({ skipped }) => skipped === undefined)
  const late = await run(left(second, done), failedIn(first, done), isAlone && early.length === 0)
  return { ...late, plan: second, reports: [...done, ...late.reports], targets, waitForPods }
}

type PlanInput = { readonly situation: Situation; readonly failed: ReadonlySet<string> }

const planOf = ({ situation, failed }: PlanInput): Plan => plan(situation, failed)

const NOTHING_FAILED: ReadonlySet<string> = new Set()

const failedIn = (planned: Plan, reports: readonly Report[]): Set<string> =>
  new Set([...blockedIn(planned), ...reports.filter(isFailed).map(({ operation }) => operation.id)])

/** Selects the operations of a plan that have not been executed yet. */
const left = ({ operations }: Plan, reports: readonly Report[]): Operation[] => {
  const done = new Set(reports.map(({ operation }) => operation.id))
  return operations.filter(({ id }) => !done.has(id))
}

/** Observes what runs once more, as what was written may have replaced pods; and the template itself where it may not have. */
const observeWritten = async (step: Step, workload: Found | undefined): Promise<Running> => {
  const { features, kubernetes, subject, next, isWhole } = step
  const isLeaving = workload?.places?.some((place) => isTemplate(place) && isLeavingPods(place.object)) === true
  const [found] = isLeaving ? (await observeTargets(features, kubernetes, subject, next)).current : [workload]
  return await observeRunning(features, kubernetes, subject, next, found, isWhole)
}

/** Narrows the memory to what is held, and saves it, if it is not the same. */
const finish = async (step: Step, saved: Memory, executed: Executed, attempt: Attempt): Promise<Attempt> => {
  const { features, subject, memory, next, resolved, peers, situation, observed, clock, recall } = step
  const { plan: planned, reports, targets, waitForPods } = executed
  await clock.yieldTurn()
  const [workload] = targets.current
  const running = saved === memory ? observed.running : await observeWritten(step, workload)
  const { units } = withUnits(features, subject, next, running)
  const now = new Date(clock.now())
  const failed = reports.filter(isFailed)
  const conflicts = [...planned.conflicts, ...reports.flatMap((report) => report.conflicts)]
  const unlabelled = failed.map(({ operation }) => operation).filter(isLabelling)
  const isUnread = [...targets.current, ...targets.earlier].some(({ problem }) => problem !== undefined)
  const elsewhere = labelsHandedElsewhere(subject, resolved.state)
  const handedOn = { ...labelsHandedOn(memory.labels, resolved.state), ...elsewhere }
  const wanted = { ...elsewhere, ...situation.desired.labels.labels }
  const isHandedOn = Object.keys(handedOn).some((key) => ownValue(wanted, key) === undefined)
  const held = finalMemory(features, memory, next, situation.desired, {
    application: subject.application,
    workload,
    isCarried: isUnread || waitForPods !== undefined,
    conflicts,
    failed: unlabelled,
    handedOn,
  })
  const done = recordProgress(subject, held.state, resolved, peers, {
    requesters: new Set(missingObjects(planned, failed).flatMap(features.mesh.requestersOf)),
    isLabelling: unlabelled.length > 0 || isUnread || waitForPods !== undefined || isHandedOn || isAwaiting(resolved),
  })
  const state = withPreviousKinds(
    features,
    withRefusals({ ...done, units }, planned, reports, memory.state.refused),
    next,
    now,
  )
  const { state: shown, labels } = withGenerations(saved, { state, labels: held.labels })
  const awaiting = planned.awaiting ?? (isHandedOn || isAwaitingWorkers(step) ? 'labels-applied' : undefined)
  const missing = missingIn(features, subject, next, targets.current, situation.desired.labels)
  const waits = waitsOf({
    ...{
      mesh: features.mesh,
      subject,
      state: next,
      resolved,
      peers,
      desired: situation.desired,
      plan: planned,
      waitForPods,
      running,
      missing,
    },
    unenforced: await unenforcedSince(step, reports, now),
  })
  const content = { state: defined({ ...withSending(subject, shown, peers), awaiting }), labels }
  const waitingSince = beginnings(waits, content.state.waitingSince, now)
  const isDone = features.memories.isStored(saved, content) && !isDatedAnew(waitingSince, content.state)
  const dated = { ...content, state: changed(content.state, { waitingSince }) }
  const recorded = isDone ? { memory: saved } : await save(step, saved, dated)
  if ('lost' in recorded) return { ...attempt, ...recorded.lost }
  const { state: settled } = recorded.memory
  const waiting = withBeginnings(waits, settled)
  const reporting: Pick<Features, 'reports'> = {
    reports: (...about) => recall('reports', (given) => features.reports(...given), about),
  }
  const reconciled: Reconciled = {
    state: settled,
    conflicts,
    waiting,
    problems: [
      ...planned.problems,
      ...reports.flatMap(({ refused }) => refused ?? []),
      ...reports.flatMap((report) => skippedMessage(report) ?? []),
    ],
    messages: [...situation.desired.messages, ...planned.messages],
    application: applicationStatus(reporting, subject, settled, resolved, { running, waiting, now }),
  }
  return { ...attempt, reconciled, writes: [...attempt.writes, ...(isDone ? [] : [memoryWrite(step)])] }
}

/** The waits for the mesh; what this step wrote, or another one just now, it may be about to take. */
const unenforcedSince = async (
  { features: { mesh }, kubernetes, subject: { namespace }, observed, situation }: Step,
  reports: readonly Report[],
  now: Date,
): Promise<Wait[]> => {
  const written = new Set(reports.flatMap(({ isWritten, operation }) => (isWritten ? [operation.object] : [])))
  const left = situation.unenforced.filter((one) => !written.has(one.held) && !isSettling(one, now))
  const cause = mesh.causeIn(namespace, observed.lookups)
  const isTold = left.some(({ is, object }) => is === 'pending' && object.metadata.namespace === namespace)
  return [...(cause === undefined || isTold ? [] : [cause]), ...(await withCauses(mesh, kubernetes, left))]
}

/** The desired objects that do not stand. */
const missingObjects = ({ blocked }: Plan, failed: readonly Report[]): KubernetesObject[] => [
  ...blocked.map(({ object }) => object),
  ...failed.flatMap(({ operation }) => (operation.verb === 'apply' ? [operation.desired] : [])),
]
