import type { Capture, Home } from '../../core/feature/mesh.ts'
import { areEnrolling, ENROLMENT_LABEL } from '../../core/relations/mesh-labels.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { isOnHost, type PodLike, podLabels } from '../../platform/kubernetes/pod-like.ts'
import { isLive, isOver } from '../../platform/kubernetes/pods.ts'

/** Istio's CNI sets it on a pod that it has captured, and takes it off again. istiod goes by it (istio: pkg/config/constants). */
export const CAPTURE_MARK = 'ambient.istio.io/redirection'

const CAPTURED = 'enabled'
const PENDING = 'pending'

/** The injector sets it on a pod with a sidecar. */
export const SIDECAR_STATUS = 'sidecar.istio.io/status'

/** Tells if Istio's CNI has marked the pod as captured, or is about to. */
export const isMarked = (pod: PodLike): boolean => [CAPTURED, PENDING].includes(markOf(pod) ?? '')

/**
 * Decides if the mesh captures a pod, as Istio's CNI does (istio: cni/pkg/util/podutil.go), and compares the result with the mark that it leaves. A missing mark says something only on
 * a pod that runs, and only where other pods of the namespace are marked. Otherwise nobody may mark pods there, or not yet, and the labels count.
 */
export const captureOf = (pod: PodLike, { labels, isMarking = false }: Home = {}): Capture => {
  const never = neverCaptured(pod)
  if (never) return never
  const mark = markOf(pod)
  const isRunning = isLive(pod) && pod.status?.phase === 'Running'
  if (!isEnrolled(pod, labels))
    return isRunning && mark === CAPTURED
      ? { is: 'unknown', why: STILL }
      : { is: 'off', because: 'label', why: outOf(pod) }
  if (mark === CAPTURED || (mark === undefined && !(isRunning && isMarking))) return { is: 'on' }
  return { is: 'unknown', why: mark === undefined ? UNMARKED : otherwise(mark) }
}

/** The pods that Istio captures by no label. */
const neverCaptured = (pod: PodLike): Capture | undefined => {
  if (isOver(pod)) return { is: 'off', because: 'ended', why: 'they have ended' }
  if (isOnHost(pod)) return { is: 'off', because: 'network', why: ON_HOST }
  if (ownValue(pod.metadata?.annotations, SIDECAR_STATUS) === undefined) return undefined
  return { is: 'off', because: 'sidecar', why: WITH_SIDECAR }
}

/** Tells if the answer for a pod depends on whether others of its namespace are marked. */
export const dependsOnMarks = (pod: PodLike, { labels }: Home): boolean =>
  captureOf(pod, { labels }).is === 'on' && captureOf(pod, { labels, isMarking: true }).is === 'unknown'

/** Returns the pod as it would be if it were certainly captured, or certainly not. */
export const ifCaptured = (pod: PodLike, isCaptured: boolean): PodLike => ({
  ...pod,
  metadata: {
    ...pod.metadata,
    labels: { ...podLabels(pod), [ENROLMENT_LABEL]: isCaptured ? 'ambient' : 'none' },
    annotations: { ...pod.metadata?.annotations, [CAPTURE_MARK]: isCaptured ? CAPTURED : '' },
  },
})

/** Returns the pod with the mark that Istio's CNI leaves on it. A mark of somebody else stays. */
export const withMark = <P extends PodLike>(pod: P, namespace: Home['labels']): P => {
  const isCaptured = neverCaptured(pod) === undefined && isEnrolled(pod, namespace) && pod.status?.phase === 'Running'
  const { [CAPTURE_MARK]: mark, ...others } = pod.metadata?.annotations ?? {}
  if (isCaptured === (mark !== undefined) || (mark !== undefined && mark !== CAPTURED)) return pod
  const annotations = isCaptured ? { ...others, [CAPTURE_MARK]: CAPTURED } : others
  return { ...pod, metadata: { ...pod.metadata, annotations } }
}

/** Tells if labels alone would put a pod on the mesh. A pod may opt out of its namespace's enrolment. */
export const isEnrolled = (pod: PodLike, namespace: Home['labels']): boolean =>
  areEnrolling(podLabels(pod)) || (ownValue(podLabels(pod), ENROLMENT_LABEL) !== 'none' && areEnrolling(namespace))

const markOf = ({ metadata }: PodLike): string | undefined => ownValue(metadata?.annotations, CAPTURE_MARK)

const ON_HOST =
  'they run in the network of their node (hostNetwork), where nothing captures them: take hostNetwork out of their template'

const WITH_SIDECAR = `they have a sidecar (${SIDECAR_STATUS}), and Istio captures no such pod: restart them without it, with the label sidecar.istio.io/inject=false`

const outOf = (pod: PodLike): string => {
  const value = ownValue(podLabels(pod), ENROLMENT_LABEL)
  return value === undefined
    ? `they do not have the label ${ENROLMENT_LABEL}=ambient`
    : `${ENROLMENT_LABEL}=${value} keeps them out of the mesh of their namespace: take the label out of the config or the template`
}

const UNGUARDED = 'while that lasts, every request reaches them, and their own requests have no identity'

const UNMARKED = `Istio has not marked them as captured (${CAPTURE_MARK}), as it has others of the namespace: ${UNGUARDED}; see istio-cni-node on their node, and restart them`

const otherwise = (mark: string): string =>
  mark === PENDING
    ? `Istio has marked them as captured in part (${CAPTURE_MARK}: ${PENDING}), as no ztunnel has taken them: see the ztunnel of their node`
    : `their annotation ${CAPTURE_MARK}: ${mark} is not Istio's mark of captured pods: ${UNGUARDED}; take the annotation out, which is Istio's own, and restart them`

const STILL = `Istio still marks them as captured (${CAPTURE_MARK}), though no label puts them on the mesh: see istio-cni-node on their node`
