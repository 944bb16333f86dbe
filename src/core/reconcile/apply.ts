import type { Condition } from '../../platform/base/condition.ts'
import { findMemory, type Memory, savedAt } from '../state/memory.ts'
import { type Execution, execute, isFailed, type Report, skipAll } from './apply/execute.ts'
import type { AttemptProgress, ObjectWrite } from './attempts.ts'
import type { Context } from './context.ts'
import { driftOf } from './decide/drift.ts'
import { isLabelOperation, isRolling, type Operation, type Plan } from './decide/operation.ts'
import { blockedIn, plan } from './decide/plan.ts'
import type { Decision } from './decide.ts'
import { observeTargets, type Targets } from './observe/cluster.ts'
import { waitForRemainingPods } from './observe/pods-on-mesh.ts'
import type { Saved } from './save.ts'

/** The result of applying a plan: the executed plan, its reports, and the targets as they were observed last. */
export type Applied = AttemptProgress & {
  readonly plan: Plan
  readonly reports: readonly Report[]
  readonly targets: Targets
  readonly waitForPods: Condition | undefined
}

type Executed = Execution & Pick<Applied, 'plan' | 'targets' | 'waitForPods'>

/**
 * Applies the plan in its order. Each write is bound to the observed resourceVersion, so a write that arrives late fails. If
 * the memory had another step's write token, each object which that step could still write is written once.
 */
export const apply = async (context: Context, decision: Decision, saved: Saved): Promise<Applied> => {
  if (!decision.isWriting) return { ...withSkipped(decision, decision.plan, []), writes: [] }
  const executed = await executePlan(context, decision, saved.memory)
  return { ...executed, writes: writesOf(executed.reports) }
}

/** Ends a plan that cannot go on: the remaining operations are reported as waiting for the failed ones. */
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

/** The time a step waits for current and recent writers, so that pods restart once for all of them. */
const GATHERING_MILLISECONDS = 150
const RECENT_MILLISECONDS = 2_000

/** Tells if other steps are writing, or wrote a moment ago. */
const isGathering = ({ clock }: Context, { wasOvertaken, memory }: Decision): boolean =>
  wasOvertaken || clock.now() - (savedAt(memory) ?? 0) < RECENT_MILLISECONDS

/** Waits for other writers, then tells if the memory is still the saved one. A step that was overtaken must not restart pods. */
const confirmCurrent = async (context: Context, decision: Decision, { stored }: Memory): Promise<boolean> => {
  const { kubernetes, clock, subject } = context
  if (isGathering(context, decision)) await clock.sleep(GATHERING_MILLISECONDS)
  return (await findMemory(kubernetes, subject))?.metadata.resourceVersion === stored?.metadata.resourceVersion
}

/** Executes the early operations, observes their effects, plans again, and executes the rest of the new plan. */
const executePlan = async (context: Context, decision: Decision, saved: Memory): Promise<Executed> => {
  const { situation, plan: first } = decision
  const isAlone = !isGathering(context, decision)
  const run = (operations: readonly Operation[], failed: Iterable<string>, isFresh: boolean) =>
    execute(context.kubernetes, operations, {
      ...{ failed, isFresh, isDenying: context.features.mesh.isDenying },
      confirmCurrent: () => confirmCurrent(context, decision, saved),
    })
  const { reports: early, overtaken } = await run(first.operations.slice(0, first.early), blockedIn(first), isAlone)
  if (overtaken) return { ...withSkipped(decision, first, early), overtaken }
  const { targets, waitForPods } = await observeAgain(context, decision, early)
  const second = plan({
    situation: { ...situation, waitForPods, observed: { ...situation.observed, targets } },
    failed: failedIn(first, early),
  })
  // a skipped operation may no longer have to wait
  const done = early.filter(({ skipped }) => skipped === undefined)
  const late = await run(left(second, done), failedIn(first, done), isAlone && early.length === 0)
  return { ...late, plan: second, reports: [...done, ...late.reports], targets, waitForPods }
}

/** Observes the targets that the early operations may have created, and the pods that they may have replaced. */
const observeAgain = async (
  { features, kubernetes, subject }: Context,
  { next, observed, situation }: Decision,
  early: readonly Report[],
): Promise<Pick<Applied, 'targets' | 'waitForPods'>> => {
  const isNew = observed.targets.current.some(({ target, places }) => places === undefined || target.on === 'pods')
  const namesWorkload = next.config?.workload !== undefined && next.config.workload !== null
  const targets = isNew && namesWorkload ? await observeTargets(features, kubernetes, subject, next) : observed.targets
  const isChanged = early.some(({ operation }) => isLabelOperation(operation) || isRolling(operation))
  const waitForPods =
    situation.waitForPods !== undefined && isChanged
      ? await waitForRemainingPods(features.mesh, kubernetes, subject, observed.targets)
      : situation.waitForPods
  return { targets, waitForPods }
}

const failedIn = (planned: Plan, reports: readonly Report[]): Set<string> =>
  new Set([...blockedIn(planned), ...reports.filter(isFailed).map(({ operation }) => operation.id)])

/** Selects the operations of a plan that have not been executed yet. */
const left = ({ operations }: Plan, reports: readonly Report[]): Operation[] => {
  const done = new Set(reports.map(({ operation }) => operation.id))
  return operations.filter(({ id }) => !done.has(id))
}
