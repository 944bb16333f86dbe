import { at, type Json, type JsonMap, listOf } from '../../platform/base/json.ts'

/** The annotation of a pod or pod template that sets the pod's state. Nothing runs here: without it every pod is ready. */
const POD_STATE = 'embedded.meshstep.dev/pod'

type Looks = {
  readonly phase: string
  readonly ready: boolean
  /** The reason of the pod as a whole. */
  readonly reason?: string
  readonly message?: string
  /** The state of its containers. */
  readonly waiting?: { readonly reason: string; readonly message: string }
  readonly isScheduled: boolean
  readonly restarts: number
}

const running: Looks = { phase: 'Running', ready: true, isScheduled: true, restarts: 0 }

const states: Readonly<Record<string, Looks>> = {
  pending: { ...running, phase: 'Pending', ready: false, isScheduled: false },
  'image-pull': {
    ...running,
    phase: 'Pending',
    ready: false,
    waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image' },
  },
  'crash-loop': {
    ...running,
    ready: false,
    waiting: { reason: 'CrashLoopBackOff', message: 'back-off 5m0s restarting failed container' },
    restarts: 7,
  },
  evicted: {
    ...running,
    phase: 'Failed',
    ready: false,
    reason: 'Evicted',
    message: 'The node was low on resource: memory.',
  },
  'not-ready': { ...running, ready: false },
  terminating: running,
}

/** The state in the annotation of a pod or template; undefined for a ready pod. */
export const stateOf = (object: Json | undefined): string | undefined => {
  const state = String(at(object, 'metadata', 'annotations', POD_STATE))
  return Object.hasOwn(states, state) ? state : undefined
}

const truth = (value: boolean): string => (value ? 'True' : 'False')

const containerState = ({ phase, waiting }: Looks, startTime: Json): JsonMap => {
  if (waiting) return { waiting: { ...waiting } }
  return phase === 'Running'
    ? { running: { startedAt: startTime } }
    : { terminated: { exitCode: 137, reason: 'Error' } }
}

const containerStatuses = (containers: readonly Json[], looks: Looks, startTime: Json): Json[] =>
  containers.map((container) => ({
    name: at(container, 'name'),
    image: at(container, 'image'),
    imageID: '',
    lastState: {},
    ready: looks.ready,
    restartCount: looks.restarts,
    started: looks.phase === 'Running' && looks.waiting === undefined,
    state: containerState(looks, startTime),
  }))

/** The status of a pod in the state of its annotation. */
export const podStatus = (pod: JsonMap, podIP: string): JsonMap => {
  const looks = states[stateOf(pod) ?? ''] ?? running
  const { phase, ready, reason, message, isScheduled } = looks
  const startTime = at(pod, 'metadata', 'creationTimestamp') ?? null
  const truths = {
    PodReadyToStartContainers: isScheduled,
    Initialized: isScheduled,
    Ready: ready,
    ContainersReady: ready,
    PodScheduled: isScheduled,
  }
  const conditions = Object.entries(truths).map(([type, holds]) => ({
    type,
    status: truth(holds),
    lastProbeTime: null,
    lastTransitionTime: startTime,
    ...(type === 'PodScheduled' && !holds && { reason: 'Unschedulable', message: '0/1 nodes are available.' }),
  }))
  const placed = isScheduled ? { hostIP: '192.168.100.10', podIP, podIPs: [{ ip: podIP }], startTime } : {}
  const statuses = containerStatuses(listOf(at(pod, 'spec', 'containers')), looks, startTime)
  return {
    phase,
    ...(reason !== undefined && { reason, message }),
    conditions,
    ...(isScheduled && { containerStatuses: statuses }),
    ...placed,
    qosClass: 'BestEffort',
  }
}

/** The pod counts as ready for its workload. */
export const isReady = (pod: JsonMap): boolean =>
  at(pod, 'metadata', 'deletionTimestamp') === undefined &&
  listOf(at(pod, 'status', 'conditions')).some((each) => at(each, 'type') === 'Ready' && at(each, 'status') === 'True')

/** The pod has ended: its workload, if it can, makes another beside it. */
export const isOver = (pod: JsonMap): boolean =>
  at(pod, 'metadata', 'deletionTimestamp') !== undefined || at(pod, 'status', 'phase') === 'Failed'
