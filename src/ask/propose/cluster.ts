import type { State } from '../../core/state/state.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import type { PodLike } from '../../platform/kubernetes/pod-like.ts'

/** The StatefulSet or Deployment of an application's name. */
export type Workload = {
  readonly template: PodLike
  readonly account: string
  /** Others of the namespace that run as the same account, by name. */
  readonly sharedWith: readonly string[]
  /** All its pods are on the mesh. */
  readonly isOnMesh: boolean
  /** It is the proxy of a Gateway or a waypoint. */
  readonly isGateway: boolean
  readonly hasSidecar: boolean
}

/** An application: its workload, and its memory. */
export type Application = {
  readonly subject: Subject
  readonly workload?: Workload | undefined
  /** Its Services with TCP ports that a waypoint can guard: none that is headless. */
  readonly services: readonly KubernetesObject[]
  /** Its memory. Absent where nothing was told of it. */
  readonly state?: State | undefined
  /** Its policies follow from its relations, by `policies: related` of its own or of its beacon. */
  readonly isRelated?: boolean | undefined
  /** The reason why its memory cannot be read. */
  readonly problem?: string | undefined
}

/** The part of a cluster that a proposal is about. */
export type ProposedCluster = {
  readonly namespace: string
  /** The applications of the namespace, and the clients of others, by `namespace/application`. */
  readonly applications: ReadonlyMap<string, Application>
  /** The ConfigMaps of the namespaces, `namespace/name`. */
  readonly configMaps: ReadonlySet<string>
  /** The highest id of a relation in each namespace. */
  readonly highestIds: ReadonlyMap<string, number>
}
