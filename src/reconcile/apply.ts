import type { Wait } from '../base/wait.ts'
import { type Memory, memoryVersion, savedAt } from '../state/memory.ts'
import { type Execution, execute, isFailed, type Report, skipAll } from './apply/execute.ts'
import type { ObjectWrite, Progress } from './attempts.ts'
import type { Context } from './context.ts'
import { driftOf } from './decide/drift.ts'
import { headsOf, isLabelling, isRolling, type Operation, PHASES } from './decide/operation.ts'
import { blockedIn, dueIn, type Plan, plan, planOf } from './decide/plan.ts'
import type { Decision } from './decide.ts'
import { observeTargets, type Targets } from './observe/cluster.ts'
import { waitForRemainingPods } from './observe/pods-on-mesh.ts'
import type { Saved } from './save.ts'

/** The result of applying a plan: the plan as it was executed, its reports, and the targets as they were then. */
export type Applied = Progress & {
  readonly plan: Plan
  readonly reports: readonly Report[]
  readonly targets: Targets
  readonly waitForPods: Wait | undefined
}

type Executed = Execution & Pick<Applied, 'plan' | 'targets' | 'waitForPods'>

/**
 * Applies the plan in the order of its phases. A write is bound to what was observed, so that one that is executed late finds another
 * resourceVersion. Where the write token of another step was found, all that it could still write is written once more.
 */
export const apply = async (context: Context, decision: Decision, saved: Saved): Promise<Applied> => {
  const { kind, plan: planned } = decision
  if (kind === 'nothing') return { ...withSkipped(decision, planned, []), writes: [] }
  if (kind === 'retry') return await retry(context, decision)
  const executed = await executePlan(context, decision, saved.memory)
  return { ...executed, writes: writesOf(executed.reports) }
}

/** The end of a plan of which nothing more can be done: the rest waits for what failed. */
const withSkipped = ({ observed, situation }: Decision, planned: Plan, reports: readonly Report[]): Executed => ({
  plan: planned,
  reports: [...reports, ...skipAll(left(planned, reports), failedIn(planned, reports))],
  targets: observed.targets,
  waitForPods: situation.waitForPods,
})

const writesOf = (reports: readonly Report[]): ObjectWrite[] =>
  reports.flatMap(({ operation, isWritten }) =>
    isWritten ? [{ name: operation.object, drift: driftOf(operation), isGone: operation.verb === 'remove' }] : [],
  )

/** Tries again what was refused. Where anything is accepted, all has to be looked at again. */
const retry = async (context: Context, decision: Decision): Promise<Applied> => {
  const { memory, situation, plan: planned } = decision
  const { reports, lost } = await execute(context.kubernetes, headsOf(dueIn(planned)), {
    failed: blockedIn(planned),
    isCurrent: () => isCurrent(context, decision, memory),
  })
  const progress = { writes: writesOf(reports), hasRetried: true }
  if (lost || !reports.every(isFailed))
    return { ...withSkipped(decision, planned, reports), ...progress, lost: lost ?? {} }
  return { ...withSkipped(decision, plan(situation, failedIn(planned, reports)), reports), ...progress }
}

/** The time a step waits for other writers, also recent ones, so that pods restart once for all. */
const GATHERING_MILLISECONDS = 150
const RECENT_MILLISECONDS = 2_000

/** Tells if others write as well, or wrote just now. */
const isGathering = ({ clock }: Context, { hasLost, memory }: Decision): boolean =>
  hasLost || clock.now() - (savedAt(memory) ?? 0) < RECENT_MILLISECONDS

/** Tells if the memory is as it was saved: a step that was overtaken restarts no pods. */
const isCurrent = async (context: Context, decision: Decision, { stored }: Memory): Promise<boolean> => {
  const { kubernetes, clock, subject } = context
  if (isGathering(context, decision)) await clock.sleep(GATHERING_MILLISECONDS)
  return (await memoryVersion(kubernetes, subject)) === stored?.metadata.resourceVersion
}

/**
 * Executes a plan, and observes the targets of its first phases again before it labels them. Objects that those phases could not make have
 * replaced nothing.
 */
const executePlan = async (context: Context, decision: Decision, saved: Memory): Promise<Executed> => {
  const { features, kubernetes, subject, recall } = context
  const { plan: first, next, observed, situation } = decision
  const run = (operations: readonly Operation[], failed: Iterable<string>, isFresh: boolean) =>
    execute(kubernetes, operations, { failed, isCurrent: () => isCurrent(context, decision, saved), isFresh })
  const isEarly = ({ phase }: Operation) => PHASES.indexOf(phase) < PHASES.indexOf('enrol')
  const isAlone = !isGathering(context, decision)
  const { reports: early, lost } = await run(first.operations.filter(isEarly), blockedIn(first), isAlone)
  if (lost) return { ...withSkipped(decision, first, early), lost }
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

const failedIn = (planned: Plan, reports: readonly Report[]): Set<string> =>
  new Set([...blockedIn(planned), ...reports.filter(isFailed).map(({ operation }) => operation.id)])

/** Selects the operations of a plan that have not been executed yet. */
const left = ({ operations }: Plan, reports: readonly Report[]): Operation[] => {
  const done = new Set(reports.map(({ operation }) => operation.id))
  return operations.filter(({ id }) => !done.has(id))
}
