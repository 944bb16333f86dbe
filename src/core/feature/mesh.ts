import type { Condition } from '../../platform/base/condition.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { LabelConflict, SeenLabels } from '../../platform/kubernetes/label-difference.ts'
import type { Lookups } from '../../platform/kubernetes/lookups.ts'
import type { KubernetesObject, Reference } from '../../platform/kubernetes/objects.ts'
import type { PodLike } from '../../platform/kubernetes/pod-like.ts'
import type { Guard, RequestedPolicy } from '../policies/request.ts'
import type { Unenforced } from '../policies/unenforced.ts'
import type { Config } from '../state/config.ts'

/** The labels to hold on a namespace. `inherited` ones count as ours under any field manager. */
export type NamespaceLabels = {
  readonly labels: Readonly<Record<string, string>>
  readonly inherited: Readonly<Record<string, string>>
  readonly conflict?: LabelConflict
}

/** The place of a pod: the labels of its namespace, and whether some pod there carries the mesh's mark of captured pods. */
export type Home = {
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly isMarking?: boolean | undefined
}

/**
 * Tells if a mesh captures the traffic of a pod, and why not. `unknown`: the labels of the pod say one thing, and the mesh's mark another. `why` is said of
 * several pods.
 */
export type Capture =
  | { readonly is: 'on' }
  | { readonly is: 'off'; readonly because: 'ended' | 'label' | 'network' | 'sidecar'; readonly why: string }
  | { readonly is: 'unknown'; readonly why: string }

/** The reconciler's view of a service mesh: how policies are written, and how they affect each other. */
export type Mesh = {
  /** The label that puts a pod on the mesh. */
  readonly enrolment: { readonly key: string; readonly value: string }
  /** Tells if the mesh captures a pod, or the pods of a template, at this place. */
  capture(pod: PodLike, home?: Home): Capture
  /** Tells if the mesh has marked the pod as captured. */
  isMarked(pod: PodLike): boolean
  /** Builds policies that guard the targets, and allow the requests and nothing else. */
  policies(
    subject: Subject,
    config: Config | undefined,
    requests: readonly RequestedPolicy[],
    guards: readonly Guard[],
  ): KubernetesObject[]
  /** Turns the policies of audited requesters into dry runs. `messages` has a sentence for each policy that cannot be one. */
  audited(
    objects: readonly KubernetesObject[],
    requesters: 'all' | readonly string[],
  ): { readonly objects: readonly KubernetesObject[]; readonly messages: readonly string[] }
  /** Tells if a beacon may have requested the labels: they do not lead to another beacon's waypoint. */
  mayAskFor(beacon: Subject, labels: Readonly<Record<string, string>>): boolean
  /** Tells if a policy has the name that a beacon gives it, whoever wrote it. */
  isOfBeacon(policy: KubernetesObject, beacon: Subject): boolean
  /** Returns the selector of objects that are led to the waypoint of a beacon. */
  ledBy(beacon: Subject): string
  isPolicy(object: KubernetesObject): boolean
  /** Tells if a policy denies everything that no other policy allows, or everything that it matches. */
  isDenying(object: KubernetesObject): boolean
  /** Tells if a policy is only logged, and enforces nothing. */
  isDryRun(object: KubernetesObject): boolean
  /** Tells if a policy applies to its whole namespace, or to the mesh. */
  isForAll(policy: KubernetesObject): boolean
  /** Tells if a policy guards pods that it selects, whatever the way of a request to them. */
  isForPods(policy: KubernetesObject): boolean
  /** Tells if a policy guards pods or Services with these names. */
  isGuarding(policy: KubernetesObject, names: readonly string[]): boolean
  /** Returns a key that tells the targets of policies apart. */
  targetOf(policy: KubernetesObject): string
  /** Tells if labels lead to the object, so that they rest on it whoever carries them. */
  isBasis(object: KubernetesObject): boolean
  /** Lists the identities that a policy lets in by name. */
  clientsOf(policy: KubernetesObject): readonly string[]
  /** Returns the relations that requested the policy. */
  requestersOf(object: KubernetesObject): string[]
  /** Returns the first of several policies of one target, with the peers of all of them. Undefined for a single policy. */
  widened(policies: readonly KubernetesObject[]): KubernetesObject | undefined
  /** Lists the objects that the mesh has refused or not accepted yet. `witnesses` may show as well that it reports acceptance at all. */
  unenforced(objects: readonly KubernetesObject[], witnesses?: readonly KubernetesObject[]): Unenforced[]
  /** Returns references to the objects that may show why the mesh accepts nothing in a namespace. Those in `seen` may lead to further ones. */
  causeLookups(namespace: string, seen: Lookups): readonly Reference[]
  /** Returns the wait for the mesh to accept objects of a namespace, if `lookups` show that it does not. */
  causeIn(namespace: string, lookups: Lookups): Condition | undefined
  /** Adds the reason why the mesh has not accepted an object. */
  withCause(one: Unenforced, cause: Condition | undefined): Condition
  /** Returns the labels of the application's namespace. With `isKept`, its consumers still need them. */
  namespaceLabels(
    subject: Subject,
    config: Config | undefined,
    seen: SeenLabels,
    lookups: Lookups,
    isKept: boolean,
  ): NamespaceLabels
}
