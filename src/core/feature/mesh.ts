import type { Subject } from '../../platform/base/subject.ts'
import type { Wait } from '../../platform/base/wait.ts'
import type { LabelConflict, SeenLabels } from '../../platform/kubernetes/label-difference.ts'
import type { Lookups } from '../../platform/kubernetes/lookups.ts'
import type { KubernetesObject, Reference } from '../../platform/kubernetes/objects.ts'
import type { Guard, RequestedPolicy } from '../policies/request.ts'
import type { Unenforced } from '../policies/unenforced.ts'
import type { Config } from '../state/config.ts'

/** The labels to hold on a namespace; `inherited` ones are ours under whichever field manager. */
export type NamespaceLabels = {
  readonly labels: Readonly<Record<string, string>>
  readonly inherited: Readonly<Record<string, string>>
  readonly conflict?: LabelConflict
}

/** The reconciler's view of a service mesh: how it writes policies, and their effect on each other. */
export type Mesh = {
  /** The label that puts a pod on the mesh. */
  readonly enrolment: { readonly key: string; readonly value: string }
  /** Writes the policies that allow the requests and nothing else, and guard the targets. */
  policies(
    subject: Subject,
    config: Config | undefined,
    requests: readonly RequestedPolicy[],
    guards: readonly Guard[],
  ): KubernetesObject[]
  /** Turns the policies of audited requesters into dry runs, with a sentence on those that have none. */
  audited(
    objects: readonly KubernetesObject[],
    requesters: 'all' | readonly string[],
  ): { readonly objects: readonly KubernetesObject[]; readonly messages: readonly string[] }
  /** Labels that a beacon may have asked for: they lead to no other one's waypoint. */
  mayAskFor(beacon: Subject, labels: Readonly<Record<string, string>>): boolean
  /** The selector of what is led to the waypoint of a beacon. */
  ledBy(beacon: Subject): string
  isPolicy(object: KubernetesObject): boolean
  /** The policy denies all that no other policy allows, or all that it matches. */
  isDenying(object: KubernetesObject): boolean
  /** The policy is only logged, and enforces nothing. */
  isDryRun(object: KubernetesObject): boolean
  /** The policy holds for its whole namespace, or for the mesh. */
  isForAll(policy: KubernetesObject): boolean
  /** The policy guards pods or Services of these names. */
  isGuarding(policy: KubernetesObject, names: readonly string[]): boolean
  /** The key that tells the targets of policies apart. */
  targetOf(policy: KubernetesObject): string
  /** The relations that asked for the policy. */
  requestersOf(object: KubernetesObject): string[]
  /** The first of several policies of one target, letting in the peers of all; undefined for a single one. */
  widened(policies: readonly KubernetesObject[]): KubernetesObject | undefined
  /** Lists what the mesh refuses, and what it has not taken yet; that it says so at all, `witnesses` may show as well. */
  unenforced(objects: readonly KubernetesObject[], witnesses?: readonly KubernetesObject[]): Unenforced[]
  /** The objects that may say why the mesh takes nothing of a namespace. */
  causeLookups(namespace: string): readonly Reference[]
  /** The wait for the mesh to take anything of a namespace, where `causeLookups` say that it does not. */
  causeIn(namespace: string, lookups: Lookups): Wait | undefined
  /** Names the reason for which the mesh has not taken an object. */
  withCause(wait: Unenforced, cause: Wait | undefined): Unenforced
  /** The labels of the application's namespace; `isKept` while its consumers still need them. */
  namespaceLabels(
    subject: Subject,
    config: Config | undefined,
    seen: SeenLabels,
    lookups: Lookups,
    isKept: boolean,
  ): NamespaceLabels
}
