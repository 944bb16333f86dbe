import { ownValue } from '../../../platform/base/own-value.ts'
import { labelDifference } from '../../../platform/kubernetes/label-difference.ts'
import { type KubernetesObject, objectKey } from '../../../platform/kubernetes/objects.ts'
import { USE_WAYPOINT_LABEL, USE_WAYPOINT_NAMESPACE_LABEL } from '../../relations/enrolment-labels.ts'
import { readHeld } from '../../workload/pod-labels.ts'
import { placesOf } from '../observe/cluster.ts'
import { changesAny, isService, wantedAt } from './labels-at-place.ts'
import { applyOf, idOf, type Phase, removalOf } from './operation.ts'
import { liveIn, type Situation } from './situation.ts'
import { targetOf } from './widen.ts'

type Ids = ReadonlySet<string>

/**
 * The order among labels, policies, Services and pods: what comes before what, and why. All but the first two members are ids of operations.
 * Own policies are those of the application's pods and Services. `plan-prune.ts` has what replaces what, and `plan-objects.ts` the order of a
 * workload's own objects.
 */
export type Order = {
  /** The application is to be on the mesh. Otherwise its labels wait for no policies. */
  readonly isStaying: boolean
  /**
   * The phase of labels. Where they only become fewer, they go before any access is narrowed. Otherwise they come after the policies that allow
   * what the new labels need.
   */
  readonly phase: Extract<Phase, 'leave' | 'enrol'>
  /** The applies of own policies. Where labels leave, a policy that stands changes after them. */
  readonly policies: Ids
  /**
   * The own policies, if the application is to be on the mesh. Labels of the mesh, and workloads whose pods get such labels, come after them:
   * nothing is on the mesh without its policies, and no request takes another way before they allow it.
   */
  readonly beforeLabels: readonly string[]
  /** The own policies and `leads`. Pods that join the mesh come after both, as they accept only the waypoint. */
  readonly beforeJoining: readonly string[]
  /** The labels that lead Services to a waypoint. */
  readonly leads: readonly string[]
  /** The writes before a Service is led: to the waypoint, the own policies that are not `closing`; elsewhere, `opening`. */
  readonly beforeLeads: readonly string[]
  /**
   * The applies of the first policies of own pods whose Service is yet to be led to the waypoint. They come after `leads`, as they close the
   * pods to all who come another way: the pods may be on the mesh already, by their namespace. Further policies only open what others close.
   */
  readonly closing: Ids
  /**
   * The removals of policies of own pods that go without a replacement when the application leaves the mesh. They come before its Service is led
   * elsewhere, as pods that stay on the mesh with their namespace accept only the waypoint until then.
   */
  readonly opening: Ids
  /** The removals of all own policies. They come after labels leave, but `opening` not after those of a Service. */
  readonly removals: Ids
  /** The applies of policies that allow access without a request. What denies all other access comes after them. */
  readonly basic: readonly string[]
  /** Those of `basic` in the namespace. The namespace joins the mesh after them. */
  readonly beforeNamespace: readonly string[]
  /** The applies of policies that are not there yet. Until they are, only what denies guards their targets, so that is removed after them. */
  readonly missing: readonly string[]
}

/** Computes the order of a plan's writes. It is the same whatever fails. */
export const orderOf = (situation: Situation): Order => {
  const { features, subject, desired, waitForPods } = situation
  const { isPolicy, isDenying, isForPods, requestersOf, enrolment } = features.mesh
  const { objects } = desired
  const live = liveIn(situation)
  const isStaying = Object.hasOwn(desired.labels.labels, enrolment.key)
  const isLeaving = waitForPods !== undefined || (!isStaying && isOnlyRemoving(situation))
  const isOwn = isOwnPolicy(situation)
  const policies = objects.filter(isOwn)
  const livePolicies = live.filter(isOwn)
  const leads = leadsOf(situation)
  // one that denies refuses single requests, and closes the pods to nobody else
  const isClosing = (object: KubernetesObject) => isForPods(object) && !isDenying(object)
  const isFirst = leads.length > 0 && !livePolicies.some(isClosing)
  const closing = new Set(isFirst ? policies.filter(isClosing).map(applyOf) : [])
  const targets = new Set(objects.filter(isClosing).map((object) => targetOf(features.mesh, object)))
  const isReplaced = (object: KubernetesObject) => targets.has(targetOf(features.mesh, object))
  const unreplaced = livePolicies.filter((object) => isClosing(object) && !isReplaced(object))
  const opening = isLeaving ? unreplaced.map(removalOf) : []
  const basic = objects.filter((one) => isPolicy(one) && !isDenying(one) && requestersOf(one).length === 0)
  const basicHere = basic.filter(({ metadata }) => metadata.namespace === subject.namespace)
  const there = new Set(live.map(objectKey))
  const applies = policies.map(applyOf)
  return {
    isStaying,
    phase: isLeaving ? 'leave' : 'enrol',
    policies: new Set(applies),
    beforeLabels: isStaying ? applies : [],
    beforeJoining: isStaying ? [...applies, ...leads] : [],
    leads,
    beforeLeads: opening.length > 0 ? opening : applies.filter((id) => !closing.has(id)),
    closing,
    opening: new Set(opening),
    removals: new Set(livePolicies.map(removalOf)),
    basic: basic.map(applyOf),
    beforeNamespace: basicHere.map(applyOf),
    missing: objects.filter((one) => isPolicy(one) && !there.has(objectKey(one))).map(applyOf),
  }
}

/** Creates a test for policies of the application's pods and of its present and former Services. */
const isOwnPolicy = ({ features, subject, state, observed }: Situation): ((object: KubernetesObject) => boolean) => {
  const { namespace, application } = subject
  const targets = [
    ...features.targets(application, state.config),
    ...observed.targets.earlier.map(({ target }) => target),
  ]
  const names = [application, ...targets.filter(({ kind }) => kind === 'Service').map(({ name }) => name)]
  const { isPolicy, isGuarding } = features.mesh
  return (object) => isPolicy(object) && object.metadata.namespace === namespace && isGuarding(object, names)
}

const leadsOf = (situation: Situation): string[] => {
  const { subject, desired, observed } = situation
  const services = placesOf(observed.targets.current).filter(isService)
  const led = services.filter((place) => {
    const seen = readHeld(subject.application, place)
    const { apply = {} } = labelDifference(seen, wantedAt(situation, place, desired.labels))
    return Object.hasOwn(apply, USE_WAYPOINT_LABEL) && changesAny(WAYPOINT_KEYS, seen, { remove: {}, apply })
  })
  return led.map(({ object }) => idOf('label', objectKey(object)))
}

const WAYPOINT_KEYS = [USE_WAYPOINT_LABEL, USE_WAYPOINT_NAMESPACE_LABEL]

const isOnlyRemoving = ({ held, desired }: Situation): boolean => {
  const { labels, unknown } = desired.labels
  return (
    unknown !== 'all' &&
    Object.keys(held).some((key) => ownValue(labels, key) === undefined) &&
    Object.entries(labels).every(([key, value]) => ownValue(held, key) === value)
  )
}
