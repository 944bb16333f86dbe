import type { KubernetesObject } from '../kubernetes/objects.ts'
import { LONGEST_MESSAGE, type Report } from '../units/report.ts'

/** What the API server tells of a workload or a pod; all else may be anything. */
type Condition = { type?: string; status?: string; reason?: string; message?: string }
type Container = { name?: string; state?: { waiting?: { reason?: string; message?: string } } }
type Status = {
  observedGeneration?: number
  availableReplicas?: number
  updatedReplicas?: number
  conditions?: Condition[]
  containerStatuses?: Container[]
  initContainerStatuses?: Container[]
}

const statusOf = ({ status }: KubernetesObject): Status => (typeof status === 'object' && status) || {}

/** How many pods a workload is to have. */
export const replicasOf = ({ spec }: KubernetesObject): number => Number(spec?.replicas ?? 1)

/** Whether all pods of a workload are of its template, and available: then none of them has anything to tell. */
export const isAvailable = (workload: KubernetesObject): boolean => {
  const { observedGeneration = 0, availableReplicas = 0, updatedReplicas = 0 } = statusOf(workload)
  const wanted = replicasOf(workload)
  const isSeen = observedGeneration >= Number(workload.metadata.generation ?? 0)
  return isSeen && availableReplicas >= wanted && updatedReplicas >= wanted
}

/** What keeps a workload from working: first what its pods tell, then what itself does, then how many are available. */
export const healthOf = (workload: KubernetesObject | undefined, pods: readonly KubernetesObject[] = []): Report[] => [
  ...pods.flatMap(podReports),
  ...(workload ? workloadReports(workload) : []),
]

const workloadReports = (workload: KubernetesObject): Report[] => {
  const { availableReplicas = 0, conditions = [] } = statusOf(workload)
  const wanted = replicasOf(workload)
  const failed = conditions.filter(isFailure)
  return [
    ...failed.map(({ message }) => told('error', `${workload.kind} ${workload.metadata.name}`, message)),
    ...(availableReplicas < wanted
      ? [told('waiting', `${availableReplicas} of ${wanted} pods are available`, undefined)]
      : []),
  ]
}

/** https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#failed-deployment */
const isFailure = ({ type, status, reason }: Condition): boolean =>
  (type === 'ReplicaFailure' && status === 'True') ||
  (type === 'Progressing' && status === 'False' && reason === 'ProgressDeadlineExceeded')

const podReports = (pod: KubernetesObject): Report[] => {
  const { conditions = [], containerStatuses = [], initContainerStatuses = [] } = statusOf(pod)
  const { name } = pod.metadata
  const failing = [...initContainerStatuses, ...containerStatuses].filter(
    ({ state }) => state?.waiting?.reason !== undefined && !STARTING.includes(state.waiting.reason),
  )
  const unscheduled = conditions.filter(({ type, status }) => type === 'PodScheduled' && status === 'False')
  return [
    ...failing.map(({ name: container, state }) =>
      told('error', `pod ${name}, container ${container}: ${state?.waiting?.reason}`, state?.waiting?.message),
    ),
    ...unscheduled.map(({ message }) => told('blocked', `pod ${name} cannot be scheduled`, message)),
  ]
}

/** All other reasons why a container waits are failures: CrashLoopBackOff, ImagePullBackOff, CreateContainerConfigError … */
const STARTING = ['ContainerCreating', 'PodInitializing']

const told = (status: Report['status'], what: string, message: string | undefined): Report => {
  const text = message ? `${what}: ${message}` : what
  return { status, message: text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE - 1)}…` : text }
}
