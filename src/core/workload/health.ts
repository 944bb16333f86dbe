import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import type { Typed } from '../../platform/kubernetes/typed.ts'
import { LONGEST_MESSAGE, type Report } from '../units/report.ts'

/** The desired number of pods. */
export const desiredReplicas = ({ spec }: Typed<'Workload'>): number => Number(spec?.replicas ?? 1)

/** Tells if all pods have the current template and are available, so that none has a problem to report. */
export const isAvailable = (workload: Typed<'Workload'>): boolean => {
  const { observedGeneration = 0, replicas = 0, availableReplicas = 0, updatedReplicas = 0 } = workload.status ?? {}
  const wanted = desiredReplicas(workload)
  const isSeen = observedGeneration >= (workload.metadata?.generation ?? 0)
  return isSeen && availableReplicas >= wanted && updatedReplicas >= Math.max(wanted, replicas)
}

/** Tells if enough pods are available, and not all of them have the current template. */
export const isRollingOut = (workload: Typed<'Workload'>): boolean =>
  !isAvailable(workload) && (workload.status?.availableReplicas ?? 0) >= desiredReplicas(workload)

/** Lists the problems of a workload: those of its pods, then its own conditions, then its number of available pods. */
export const reportHealth = (
  workload: KubernetesObject | undefined,
  pods: readonly KubernetesObject[] = [],
): Report[] => [...pods.flatMap(podReports), ...(workload ? workloadReports(workload) : [])]

const workloadReports = (workload: Typed<'Workload'>): Report[] => {
  const { availableReplicas = 0, conditions = [] } = workload.status ?? {}
  const wanted = desiredReplicas(workload)
  const failed = conditions.filter(isFailure)
  return [
    ...failed.map(({ message }) => told('error', `${workload.kind} ${workload.metadata?.name}`, message)),
    ...(availableReplicas < wanted
      ? [told('waiting', `${availableReplicas} of ${wanted} pods are available`, undefined)]
      : []),
  ]
}

/** See https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#failed-deployment */
const isFailure = ({ type, status, reason }: Partial<Record<'type' | 'status' | 'reason', string>>): boolean =>
  (type === 'ReplicaFailure' && status === 'True') ||
  (type === 'Progressing' && status === 'False' && reason === 'ProgressDeadlineExceeded')

const podReports = ({ metadata, status }: Typed<'Pod'>): Report[] => {
  const { conditions = [], containerStatuses = [], initContainerStatuses = [] } = status ?? {}
  const failing = [...initContainerStatuses, ...containerStatuses].filter(
    ({ state }) => state?.waiting?.reason !== undefined && !STARTING.includes(state.waiting.reason),
  )
  const unscheduled = conditions.filter(({ type, status }) => type === 'PodScheduled' && status === 'False')
  return [
    ...failing.map(({ name: container, state }) =>
      told(
        'error',
        `pod ${metadata?.name}, container ${container}: ${state?.waiting?.reason}`,
        state?.waiting?.message,
      ),
    ),
    ...unscheduled.map(({ message }) => told('blocked', `pod ${metadata?.name} cannot be scheduled`, message)),
  ]
}

/** Reasons of a starting container. All others are failures: CrashLoopBackOff, ImagePullBackOff, CreateContainerConfigError … */
const STARTING = ['ContainerCreating', 'PodInitializing']

const told = (status: Report['status'], what: string, message: string | undefined): Report => {
  const text = message ? `${what}: ${message}` : what
  return { status, message: text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE - 1)}…` : text }
}
