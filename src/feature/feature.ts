import type * as z from 'zod'
import type { Subject } from '../base/subject.ts'
import type { Event } from '../cloudevents/cloud-event.ts'
import type { Guard, PolicyRequest } from '../istio/grant.ts'
import type { WantedLabels } from '../kubernetes/label-difference.ts'
import type { LabelTarget } from '../kubernetes/label-target.ts'
import type { Lookups } from '../kubernetes/lookups.ts'
import type { KubernetesObject, Reference } from '../kubernetes/objects.ts'
import type { Effective } from '../relations/effective.ts'
import type { Config, Teller } from '../state/config.ts'
import type { Relation } from '../state/relation.ts'
import type { EffectiveState, OwnedKind, State, StatePart } from '../state/state.ts'
import type { ApplicationStatus } from '../units/report.ts'

/** What the process knows of the cluster it runs in. */
export type Environment = {
  /** The IP address of the cluster's DNS. */
  readonly resolver: string
  /** The DNS domain of the cluster. @default cluster.local */
  readonly clusterDomain?: string | undefined
}

/** What a step sees of the cluster that the desired state may depend on. */
export type Seen = {
  /** The objects that features look up. */
  readonly lookups: Lookups
  /** The live pods of the application; undefined where nobody looked. */
  readonly pods?: readonly KubernetesObject[] | undefined
  /** The live objects of the application by kind; undefined where the API server does not serve the kind. */
  readonly owned: readonly { readonly kind: string; readonly live: readonly KubernetesObject[] | undefined }[]
}

/** All that the desired state of an application follows from. */
export type Input = {
  readonly subject: Subject
  readonly resolved: Effective
  readonly environment: Environment
  readonly seen: Seen
}

/** The labels that an application should hold on its workload and its Services. */
export type DesiredLabels = {
  readonly labels: Readonly<Record<string, string>>
  /** Keys that cannot be read, and therefore stay as they are where we hold them; or all of them. */
  readonly unknown: 'all' | readonly string[]
  readonly messages: readonly string[]
  /** There must be a workload and a Service to hold them: a beacon need not have any. */
  readonly required: boolean
}

/** What one feature desires of the cluster. */
export type Contribution = {
  readonly labels?: DesiredLabels
  /** Of the template of the application's pods. */
  readonly annotations?: WantedLabels
  readonly objects?: readonly KubernetesObject[]
  readonly requests?: readonly PolicyRequest[]
  readonly guards?: readonly Guard[]
  /** Requesters whose requests cannot be read: what was made for them stays. */
  readonly unknown?: readonly string[]
  /** Requesters whose policies are written as dry runs. */
  readonly audited?: 'all' | readonly string[]
  /** What does not exist yet, a sentence each: the step is not done before it does. */
  readonly waiting?: readonly string[]
  readonly messages?: readonly string[]
}

/** The databags that one side publishes in a relation: of its application, and of its units. Each value is JSON, as Python writes it. */
export type OwnSide = {
  readonly data: Readonly<Record<string, string>>
  readonly units?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** More is published once nothing is missing for it. */
  readonly partial?: true
  /** Keys of `data` that stay as they were published before, and are not there where they were not. */
  readonly kept?: readonly string[]
}

/** The databags that are published in relations, by the relations' keys. */
export type Publications = Readonly<Record<string, OwnSide>>

/** A change of the state, whose consequences within the memory are derived. */
export type Derivation = {
  readonly subject: Subject
  readonly before: State
  readonly by: Teller
  readonly now: Date
  resolve(state: State): Effective
}

/** Objects that another program left of an application. */
export type Leftovers = {
  /** Selects them by their labels. */
  selector(subject: Subject): string
  isLeftover(subject: Subject, object: KubernetesObject): boolean
}

/**
 * An effect beyond the objects that carry the application's own name, as a subresource of `applications.meshstep.dev` that RBAC can name:
 * `workload` runs pods, or labels and restarts a workload or Service of another name; `policies` writes policies as they are given;
 * `mesh` decides about policies and labels of others; `root` about those of the whole mesh.
 */
export type Effect = 'workload' | 'policies' | 'mesh' | 'root'

/**
 * A feature: a folder that adds keys to the config and parts to the state, and says what follows from them. The reconciler knows features
 * by this contract alone. Every hook is optional and pure.
 */
export type Feature = {
  readonly name: string
  /** Keys of the config. */
  readonly config?: Readonly<Record<string, z.ZodType>>
  /** Parts of the state. */
  readonly state?: Readonly<Record<string, StatePart>>
  /** The problems of a config as it is given; one that is remembered may have them. */
  problems?(config: Config): readonly { readonly path: readonly (string | number)[]; readonly message: string }[]
  /** The effects that a config asks for, each with the part of the config that has it. */
  effects?(subject: Subject, config: Config): Partial<Record<Effect, unknown>>
  /** The leftovers of another program, while the config takes them over. */
  leftovers?(config: Config): Leftovers | undefined
  /** Where the application holds labels. */
  targets?(application: string, config: Config): readonly LabelTarget[]
  /** Names of Services that hold labels as well, when they are the application's. */
  services?(application: string, config: Config): readonly string[]
  /** The kinds of which the config may desire objects. */
  kinds?(config: Config): readonly OwnedKind[]
  /** The objects of others that the desired state depends on. */
  lookups?(subject: Subject, resolved: Effective): readonly Reference[]
  /** The labels that are desired. */
  labels?(subject: Subject, resolved: Effective): DesiredLabels
  desire?(input: Input): Contribution
  /** The databags of the application's relations. */
  publications?(input: Input): Publications
  /** The databag of the relation stays as it was published while something is unknown. */
  keeps?(resolved: Effective, relation: Relation): boolean
  /** Nothing to publish in the relation withdraws nothing. */
  leaves?(state: EffectiveState, relation: Relation): boolean
  /** Something is said once the policies stand that are written now. */
  isHeldBack?(input: Input): boolean
  /** What is said, or done, depends on which units there are. */
  dependsOnUnits?(state: Pick<EffectiveState, 'config' | 'relations'>): boolean
  /** The state with what follows from a change. */
  derive?(state: State, derivation: Derivation): State
  /** The state with the announcements that are planned, once all is resolved. */
  plan?(state: State, resolved: Effective, now: Date): State
  /** The announcements that the sink has not taken yet. */
  announcements?(subject: Subject, state: State): readonly Announcement[]
  /** The state once announcements of these numbers were taken by the sink. */
  announced?(state: State, numbers: readonly number[]): State
  /** What the application's status is made of. */
  reports?(subject: Subject, state: State, resolved: Effective): readonly ApplicationStatus[]
}
/** An event for the sink, and the number by which it is accepted. */
export type Announcement = { readonly number: number; readonly event: Event }
