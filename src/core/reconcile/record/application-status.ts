import { ownValue } from '../../../platform/base/own-value.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import { describeWait, type Wait } from '../../../platform/base/wait.ts'
import { nameOf, objectKey } from '../../../platform/kubernetes/objects.ts'
import type { Features } from '../../feature/combine.ts'
import { MESH_KEYS } from '../../relations/mesh-labels.ts'
import type { ResolvedRelations } from '../../relations/resolve-relations.ts'
import { isRemoved, type State, stands } from '../../state/state.ts'
import type { ApplicationStatus } from '../../units/report.ts'
import { ownWorkload } from '../../workload/config.ts'
import { desiredReplicas, isAvailable, reportHealth } from '../../workload/health.ts'
import { combineStatuses } from '../../workload/status.ts'
import type { Plan } from '../decide/operation.ts'
import type { Running } from '../observe/units.ts'
import { isLeavingPods } from './unlabelled-pods.ts'

/** The observation of an application: its workload and pods, its waits, and the time. */
export type Sight = { readonly running: Running; readonly waiting: readonly Wait[]; readonly now: Date }

/**
 * Computes the status of an application. A pure function of its memory, its resolved relations and the observation. Outcomes and questions
 * give the same status, because nothing of the observation is remembered.
 */
export const applicationStatus = (
  features: Pick<Features, 'kinds' | 'reports'>,
  subject: Subject,
  memory: State,
  resolved: ResolvedRelations,
  { running, waiting, now }: Sight,
): ApplicationStatus => {
  const { blocked } = resolved
  const isOver = isGone(memory, running)
  const { config, units, refused = {}, pending } = memory
  const { workload, pods, namesake, problem } = running
  const own = ownWorkload(config)
  const [badSpec] = ['StatefulSet', 'Deployment'].flatMap(
    (kind) => ownValue(refused, nameOf({ kind, ...subject, name: subject.application })) ?? [],
  )
  return combineStatuses({
    application: subject.application,
    units,
    now,
    isRemoved: isOver,
    hasNoUnits: own
      ? own.replicas !== 0 && Object.keys(units.present).length === 0
      : workload
        ? desiredReplicas(workload) === 0
        : // waits name a missing workload that should carry labels
          running.isAbsent && !isOver && waiting.length === 0 && features.kinds({ config, relations: {} }).length === 0,
    badSpec,
    refused: [...Object.values(refused), problem ?? []].flat().filter((one) => one !== badSpec),
    health: reportHealth(workload, pods),
    namesake: namesake && objectKey(namesake),
    incompatible: blocked[0],
    reports: features.reports(subject, resolved),
    pending: pending?.at(-1),
    waiting,
  })
}

/**
 * Lists the reasons why an application is not ready, a sentence each. It is ready if there are none: it is `active`, it waits for nobody, nobody else
 * holds a part of it, it has no problem, and its rollout is complete, unless somebody holds that back.
 */
export const unreadyReasons = (
  { status, message }: ApplicationStatus,
  { running: { workload }, waiting, plan }: Omit<Sight, 'now'> & { plan: Pick<Plan, 'conflicts' | 'problems'> },
  problems: readonly string[],
): string[] => [
  ...(status === 'active' ? [] : [message === '' ? `it is ${status}` : `it is ${status}: ${message}`]),
  // the status has the message of one wait already
  ...waiting.filter((wait) => !message.startsWith(wait.message)).map(describeWait),
  // names that are taken and labels of a mesh are waits
  ...plan.conflicts
    .filter(({ key }) => key !== undefined && !MESH_KEYS.includes(key))
    .map(
      ({ manager, key, object }) => `${manager} holds ${key} on ${object}: make it stop, or no longer request the key`,
    ),
  ...problems,
  ...plan.problems,
  ...(workload && !isLeavingPods(workload) && !isAvailable(workload)
    ? [`the rollout of ${objectKey(workload)} is not complete`]
    : []),
]

/** Tells if the application was removed and has not come back, or if nothing of it is told or runs any more. */
const isGone = (memory: State, { isAbsent }: Running): boolean =>
  isRemoved(memory) ||
  (isAbsent === true &&
    memory.config === undefined &&
    !Object.values(memory.relations).some((entry) => stands(memory, entry)))
