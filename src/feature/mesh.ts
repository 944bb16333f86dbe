import type { Subject } from '../base/subject.ts'
import type { Guard, PolicyRequest } from '../istio/grant.ts'
import type { LabelConflict, SeenLabels } from '../kubernetes/label-difference.ts'
import type { KubernetesObject } from '../kubernetes/objects.ts'
import type { Config } from '../state/config.ts'

/** The labels to hold on a namespace; those that are `inherited` are ours whoever's name they carry. */
export type NamespaceLabels = {
  readonly labels: Readonly<Record<string, string>>
  readonly inherited: Readonly<Record<string, string>>
  readonly conflict?: LabelConflict
}

/** All that the reconciler knows of a service mesh: how it writes policies, and what they do to each other. */
export type Mesh = {
  /** The policies that allow what is requested and nothing else, and guard what is guarded. */
  policies(
    subject: Subject,
    config: Config | undefined,
    requests: readonly PolicyRequest[],
    guards: readonly Guard[],
  ): KubernetesObject[]
  /** The objects with the policies of audited requesters as dry runs, and a sentence on those that have none. */
  audited(
    objects: readonly KubernetesObject[],
    requesters: 'all' | readonly string[],
  ): { readonly objects: readonly KubernetesObject[]; readonly messages: readonly string[] }
  isPolicy(object: KubernetesObject): boolean
  /** The policy refuses what no other policy allows, or whatever it matches. */
  isDenying(object: KubernetesObject): boolean
  /** The policy is only logged, and enforces nothing. */
  isDryRun(object: KubernetesObject): boolean
  /** The policy holds for its whole namespace, or for the mesh. */
  isForAll(policy: KubernetesObject): boolean
  /** The policy guards pods or Services of these names. */
  isGuarding(policy: KubernetesObject, names: readonly string[]): boolean
  /** Tells the targets of policies apart. */
  targetOf(policy: KubernetesObject): string
  /** The relations that asked for the policy. */
  requestersOf(object: KubernetesObject): string[]
  /** The first of several policies of one target, letting in whom they let in together; undefined for a single one. */
  widened(policies: readonly KubernetesObject[]): KubernetesObject | undefined
  /** The reason why the mesh does not enforce the policy; undefined when it does. */
  acceptanceProblem(policy: KubernetesObject): string | undefined
  /** The labels of the application's namespace; `isKept` while its consumers need them yet. */
  namespaceLabels(subject: Subject, config: Config | undefined, seen: SeenLabels, isKept: boolean): NamespaceLabels
}
