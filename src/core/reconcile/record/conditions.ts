import { type Condition, condition, waitFor } from '../../../platform/base/condition.ts'
import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import { objectKey } from '../../../platform/kubernetes/objects.ts'
import { isLeavingPods } from '../../../platform/kubernetes/rollout.ts'
import type { Features } from '../../feature/combine.ts'
import type { DesiredLabels } from '../../feature/feature.ts'
import type { ResolvedRelations } from '../../relations/resolve-relations.ts'
import { isRemoved, type State, stands } from '../../state/state.ts'
import type { Leader } from '../../units/leader.ts'
import { type ApplicationStatus, statusBy, typeOf } from '../../units/report.ts'
import { unitStatuses } from '../../units/unit-status.ts'
import { ownWorkload } from '../../workload/config.ts'
import { desiredReplicas, isRollingOut, reportHealth } from '../../workload/health.ts'
import type { Desired } from '../decide/desired-state.ts'
import type { Running } from '../observe/units.ts'

/** The observation of an application, and what is desired and cannot be. */
export type Sight = {
  readonly running: Running
  /** Everything that is held back until others act, or because it is refused. */
  readonly held: readonly Condition[]
  readonly desired: Pick<Desired, 'unserved'> & { readonly labels: Pick<DesiredLabels, 'refused'> }
  readonly now: Date
}

/** Everything that is open at an application, and the status that follows. */
export type Judgement = { readonly conditions: readonly Condition[]; readonly application: ApplicationStatus }

/**
 * Lists everything that is open at an application. A pure function of its memory, its resolved relations and the observation. Answers,
 * questions, lint and the page show exactly these conditions, because nothing of the observation is remembered.
 */
export const judge = (
  features: Pick<Features, 'kinds' | 'reports'>,
  subject: Subject,
  memory: State,
  resolved: ResolvedRelations,
  { running, held, desired, now }: Sight,
): Judgement => {
  const name = subjectName(subject)
  const { units, pending = [] } = memory
  const { workload, pods, namesake } = running
  const reports = [...features.reports(subject, resolved), ...unitStatuses(subject.application, units, now)]
  const told = (reason: 'Reported' | 'WorkloadFailing', all: readonly ApplicationStatus[]) =>
    all.flatMap(({ status, message }) => {
      const type = typeOf(status)
      const why = reason === 'WorkloadFailing' && type === 'Waiting' ? 'PodsUnavailable' : reason
      return type === undefined ? [] : [condition(type, why, name, message)]
    })
  const { failed = [], waits = [] } = Object.groupBy(held, ({ type }) => (type === 'Error' ? 'failed' : 'waits'))
  const isOver = isGone(memory, running)
  const conditions = [
    ...failed,
    ...(isOver ? [] : told('WorkloadFailing', reportHealth(workload, pods))),
    ...(namesake === undefined ? [] : [namesakeOf(objectKey(namesake))]),
    ...resolved.blocked.map((why) => condition('Blocked', 'NoVersionInCommon', name, why)),
    ...(isOver ? [] : told('Reported', reports)),
    ...(desired.labels.refused ?? []).map((why) => condition('Blocked', 'LabelRefused', name, why)),
    ...pending.slice(-1).map((asked) => leaderless(name, asked)),
    ...waits,
    ...desired.unserved
      .filter((why) => !resolved.blocked.includes(why))
      .map((why) => condition('Waiting', 'DataUnserved', name, why)),
    ...rollout(running),
    ...(!isOver && lacksUnits(features, memory, running, held.length > 0)
      ? [condition('Waiting', 'NoUnits', name, 'no unit is there yet')]
      : []),
  ]
  const isLeft = isOver && held.length === 0
  const good = reports.find(({ status }) => status === 'active')
  return { conditions, application: statusBy(conditions, isLeft ? 'removed' : 'active', isLeft ? undefined : good) }
}

/** Returns the condition of a document that cannot be read, or that asks for more than its author may. */
export const documentRefused = (
  { namespace }: Subject,
  { name, problem }: { readonly name: string; readonly problem: string },
): Condition => condition('Blocked', 'DocumentRefused', `ConfigMap ${namespace}/${name}`, problem)

/** Adds conditions that do not follow from the memory and the observation. */
export const withConditions = ({ conditions, application }: Judgement, more: readonly Condition[]): Judgement => {
  const all = [...conditions, ...more]
  return {
    conditions: all,
    application: statusBy(all, application.status === 'removed' ? 'removed' : 'active', application),
  }
}

/** Lists what is held back until others act, or because it is refused. A step adds what depends on that (`skipped`), a question does not see it. */
export const heldOf = (
  subject: Subject,
  { config }: Pick<State, 'config'>,
  {
    waiting,
    refused,
    running: { problem },
    noRoom,
    skipped = [],
  }: {
    readonly waiting: readonly Condition[]
    readonly refused: readonly (readonly [object: string, why: string])[]
    readonly running: Pick<Running, 'problem'>
    readonly noRoom: readonly Condition[]
    readonly skipped?: readonly Condition[]
  },
): Condition[] => [
  ...waiting,
  ...(problem === undefined ? [] : [condition('Error', 'Refused', `the pods of ${subjectName(subject)}`, problem)]),
  ...refused.map(([object, why]) => refusal(subject, config, object, why)),
  ...skipped,
  ...noRoom,
]

const refusal = ({ namespace, application: name }: Subject, config: State['config'], object: string, why: string) =>
  ownWorkload(config) && ['StatefulSet', 'Deployment'].some((kind) => object === `${kind} ${namespace}/${name}`)
    ? condition('Error', 'SpecRefused', object, `the pod spec is refused, and what runs stays: ${why}`)
    : condition('Error', 'Refused', object, why)

const namesakeOf = (name: string): Condition =>
  condition('Blocked', 'NameTaken', name, `${name} is somebody else's: the application's own is not deployed`)

const leaderless = (name: string, { unit }: Leader): Condition =>
  waitFor([unit], 'NoLeader', name, `no leader: what ${unit} asked for is applied once ${unit} is elected`)

/** Pods of an earlier template are left, though enough are available. Whoever holds a rollout back knows. */
const rollout = ({ workload }: Running): Condition[] => {
  if (workload === undefined || isLeavingPods(workload) || !isRollingOut(workload)) return []
  const name = objectKey(workload)
  return [condition('Waiting', 'RolloutIncomplete', name, `the rollout of ${name} is not complete`)]
}

/** Tells if an application should have pods, and has none. */
const lacksUnits = (
  features: Pick<Features, 'kinds'>,
  { config, units }: State,
  { workload, isAbsent }: Running,
  isExplained: boolean,
): boolean => {
  const own = ownWorkload(config)
  if (own) return own.replicas !== 0 && Object.keys(units.present).length === 0
  if (workload) return desiredReplicas(workload) === 0
  // waits name a missing workload that should carry labels
  return isAbsent === true && !isExplained && features.kinds({ config, relations: {} }).length === 0
}

/** Tells if the application was removed and has not come back, or if nothing of it is told or runs any more. */
const isGone = (memory: State, { isAbsent }: Running): boolean =>
  isRemoved(memory) ||
  (isAbsent === true &&
    memory.config === undefined &&
    !Object.values(memory.relations).some((entry) => stands(memory, entry)))
