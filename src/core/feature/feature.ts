import type * as z from 'zod'
import type { Condition } from '../../platform/base/condition.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { Event } from '../../platform/cloudevents/cloud-event.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import type { WantedLabels } from '../../platform/kubernetes/label-difference.ts'
import type { LabelTarget } from '../../platform/kubernetes/label-target.ts'
import type { Lookups } from '../../platform/kubernetes/lookups.ts'
import type { KubernetesObject, Reference } from '../../platform/kubernetes/objects.ts'
import type { PodLike } from '../../platform/kubernetes/pod-like.ts'
import type { Guard, RequestedPolicy } from '../policies/request.ts'
import type { ResolvedRelations } from '../relations/resolve-relations.ts'
import type { Config, SpecSource } from '../state/config.ts'
import type { Memories } from '../state/memory.ts'
import type { OwnedKind } from '../state/owned-kinds.ts'
import type { Relation, RelationIdentity } from '../state/relation.ts'
import type { EffectiveState, State, StatePart } from '../state/state.ts'
import type { ApplicationStatus } from '../units/report.ts'

/** The process's knowledge of its cluster. */
export type Environment = {
  /** The IP address of the cluster's DNS. */
  readonly resolver: string
  /** The DNS domain of the cluster. @default cluster.local */
  readonly clusterDomain?: string | undefined
}

/** The observed parts of the cluster that the desired state may depend on. */
export type ClusterView = {
  /** The objects that features look up. */
  readonly lookups: Lookups
  /** The template of the application's pods, with the name of its workload. Undefined if there is none, or the pods are labelled one by one. */
  readonly template?: { readonly of: string; readonly pod: PodLike } | undefined
  /** The live pods of the application. Undefined if they were not listed. */
  readonly pods?: readonly KubernetesObject[] | undefined
  /** The live objects of the application by kind. `live` is undefined if the API server does not serve the kind. */
  readonly owned: readonly { readonly kind: string; readonly live: readonly KubernetesObject[] | undefined }[]
}

/** The input of an application's desired state. */
export type FeatureInput = {
  readonly subject: Subject
  readonly resolved: ResolvedRelations
  readonly environment: Environment
  readonly seen: ClusterView
}

/** A label with the requested value, and the value that takes precedence. */
export type OverruledLabel = { readonly key: string; readonly value: string; readonly wanted: string }

/** The labels that an application should hold on its workload and its Services. */
export type DesiredLabels = {
  readonly labels: Readonly<Record<string, string>>
  /** Keys with unknown values, or all. Labels with these keys that the application holds keep their live values. */
  readonly unknown: 'all' | readonly string[]
  readonly messages: readonly string[]
  /** Labels that are not applied, as they are wrong, or may not be requested; and requests that cannot be read. A sentence each. */
  readonly refused?: readonly string[]
  /** Mesh labels that relations request, and that the application's own config sets otherwise. */
  readonly overruled?: readonly OverruledLabel[]
  /** A missing workload or Service is reported. A beacon needs neither. */
  readonly required: boolean
}

/** Policies that guard the application by the offer of a beacon. They have the names and the identities that the beacon would give them. */
export type TakenPolicies = {
  readonly beacon: Subject
  readonly identities: Config
  readonly requests: readonly RequestedPolicy[]
  readonly guards: readonly Guard[]
}

/** The part of the desired state that one feature contributes. */
export type Contribution = {
  readonly labels?: DesiredLabels
  /** Annotations for the template of the application's pods. */
  readonly annotations?: WantedLabels
  readonly objects?: readonly KubernetesObject[]
  readonly requests?: readonly RequestedPolicy[]
  readonly guards?: readonly Guard[]
  /** The policies that guard the application by what other applications offer. */
  readonly taken?: readonly TakenPolicies[]
  /** The same for relations that are over. Policies of them that still stand are kept like this. */
  readonly carried?: readonly TakenPolicies[]
  /** Requesters whose requests are not known, and objects of which the content is not. What was made for them stays. */
  readonly unknownRequests?: readonly string[]
  /** Requesters whose policies are written as dry runs. */
  readonly audited?: 'all' | readonly string[]
  /** Missing preconditions. The step is not complete before they hold. */
  readonly waiting?: readonly Condition[]
  /** Sentences on what relations tell the application, or it tells in them, and that cannot be read or served. The step, the status and `lint` say them. */
  readonly unserved?: readonly string[]
  readonly messages?: readonly string[]
  /** The action of other applications of which this one has to be told. */
  readonly awaiting?: State['awaiting']
}

/** The databags of one side of a relation: the application's and its units'. Values are JSON in Python's format. */
export type OwnSide = {
  readonly data: Readonly<Record<string, string>>
  readonly units?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** The data are incomplete. More will follow. */
  readonly partial?: true
  /** Keys of `data` that keep their published values, or stay absent if they have none. */
  readonly kept?: readonly string[]
}

/** The databags that are published in relations, by the relations' keys. */
export type Publications = Readonly<Record<string, OwnSide>>

/** A change of the state, to derive its consequences from. */
export type Derivation = {
  readonly subject: Subject
  readonly before: State
  readonly by: SpecSource
  readonly now: Date
  resolve(state: State): ResolvedRelations
}

/** Objects that another program left of an application. */
export type Leftovers = {
  /** Selects them by their labels. */
  readonly selector: string
  /** The field managers of the other program. An object that none of them wrote is no leftover. */
  readonly managers: readonly string[]
  isLeftover(object: KubernetesObject): boolean
}

/**
 * An effect outside the objects of the application's own name. In RBAC it is a subresource of `applications.meshstep.dev`. `workload` runs
 * pods, or labels and restarts a workload or Service of another name. `policies` writes raw policies. `mesh` decides on policies and labels
 * of other applications, `root` on those of the whole mesh.
 */
export type Effect = 'workload' | 'policies' | 'mesh' | 'root'

/** Another owner's object that the effect `workload` uses. `isOwn` marks the application's own account, which needs no grant. */
export type Use = Reference & { readonly isOwn?: boolean }

/** A config and the identities of relations, from a stored or an effective state. */
export type Related = Pick<State, 'config'> &
  Partial<Pick<State, 'lost' | 'tombstones'>> & {
    readonly relations: Readonly<Record<string, RelationIdentity>>
  }

/**
 * A feature: a folder that adds keys to the config and parts to the state, and derives the desired state from them. The reconciler calls
 * features only by this contract; the interfaces that it knows itself are in `src/core/state/interfaces.ts`. Every hook is optional and pure.
 */
export type Feature = {
  readonly name: string
  /** Keys of the config. */
  readonly config?: Readonly<Record<string, z.ZodType>>
  /** Parts of the state. */
  readonly state?: Readonly<Record<string, StatePart>>
  /** The problems of a config as sent. A remembered config may still have them. */
  problems?(config: Config): readonly { readonly path: readonly (string | number)[]; readonly message: string }[]
  /** The effects that a config requests, each with the part of the config that causes it. */
  effects?(subject: Subject, config: Config): Partial<Record<Effect, unknown>>
  /** The objects that the effect `workload` of a config uses. */
  uses?(subject: Subject, config: Config): readonly Use[]
  /** The leftovers of another program that the application takes over: its own, and its beacons'. */
  leftovers?(subject: Subject, resolved: ResolvedRelations): readonly Leftovers[]
  /** The objects that hold the application's labels. */
  targets?(application: string, config: Config): readonly LabelTarget[]
  /** Names of Services of the application that hold labels as well. */
  services?(application: string, config: Config): readonly string[]
  /** The kinds of objects that config and relations may desire. */
  kinds?(state: Related): readonly OwnedKind[]
  /** The other owners' objects that the desired state depends on. Those in `seen` may lead to further ones. */
  lookups?(subject: Subject, resolved: ResolvedRelations, seen: Lookups): readonly Reference[]
  labels?(subject: Subject, resolved: ResolvedRelations): DesiredLabels
  desire?(input: FeatureInput): Contribution
  /** The databags of the application's relations. */
  publications?(input: FeatureInput): Publications
  /** Tells if the relation's databag keeps its published data because something is unknown. */
  keeps?(resolved: ResolvedRelations, relation: Relation): boolean
  /** Tells if a databag without content withdraws nothing. */
  withdrawsNothing?(state: EffectiveState, relation: Relation): boolean
  /** Tells if published data or the desired state depend on the units. */
  dependsOnUnits?(state: Related): boolean
  /** Derives the consequences of a change. */
  derive?(state: State, derivation: Derivation): State
  /** Plans announcements, once all data are resolved. */
  plan?(state: State, resolved: ResolvedRelations, now: Date): State
  /** The announcements that the sink has not accepted yet. */
  announcements?(subject: Subject, state: State): readonly Announcement[]
  /** Marks announcements as accepted by the sink. */
  announced?(state: State, numbers: readonly number[]): State
  /** The statuses that the application's status combines. */
  reports?(subject: Subject, resolved: ResolvedRelations): readonly ApplicationStatus[]
  /** Lists unmet expectations of the application on the cluster. It reads the cluster after a step. */
  unmet?(memories: Memories, kubernetes: Kubernetes, subject: Subject, config: Config | undefined): Promise<Condition[]>
}
/** An event for the sink, and the number to mark it accepted. */
export type Announcement = { readonly number: number; readonly event: Event }
