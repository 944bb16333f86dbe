import type { AuthorizationPolicy, UnreadablePolicy } from '../../../mesh/istio/authorization-policy.ts'
import type { IstioVersion } from '../../../mesh/istio/version.ts'
import type { PeerAuthentication } from './peer-authentication.ts'

export type Waypoint = { readonly namespace: string; readonly name: string; readonly serviceAccount: string }

/** A second waypoint, with its share of the connections in percent, at least 1. */
export type Canary = Waypoint & { readonly weight: number }

export type ServiceSnapshot = {
  readonly namespace: string
  readonly name: string
  /** Selects the pods behind it. @default those of the application of its name */
  readonly selector?: Readonly<Record<string, string>> | undefined
  /** The waypoint that takes the traffic to the Service, by the labels of the Service or of its namespace. */
  readonly waypoint?: Waypoint | undefined
  /** A second waypoint that takes a share of that traffic, in an Istio that supports canaries. */
  readonly canary?: Canary | undefined
  /** The reason why no waypoint is used although labels name one: `the waypoint shop/w does not exist`. */
  readonly bypassed?: string | undefined
}

/** An application's pods. */
export type WorkloadSnapshot = {
  readonly namespace: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly onMesh: boolean
  /** The waypoint that takes the traffic to the pods' own addresses, by the labels of the pods or of their namespace. */
  readonly waypoint?: Waypoint | undefined
}

/** The cluster state that an evaluation depends on. */
export type ClusterSnapshot = {
  /** The policies of all namespaces. A missing one could change the decision. */
  readonly policies: readonly AuthorizationPolicy[]
  /**
   * Policies that cannot be read, or that the mesh has not taken yet. Where one may apply, a request is undecided unless another policy denies it.
   * @default none
   */
  readonly unreadable?: readonly UnreadablePolicy[] | undefined
  /** Istio's root namespace. Its policies apply to every namespace. */
  readonly rootNamespace: string
  /** Other namespaces that may be the root. A request is undecided if that makes a difference. @default none */
  readonly otherRoots?: readonly string[] | undefined
  /** The installed version of Istio, if it is known. @default the newest */
  readonly istioVersion?: IstioVersion | undefined
  readonly trustDomain: string
  /** Other names of the trust domain, which Envoys know. @default none */
  readonly trustDomainAliases?: readonly string[] | 'unknown' | undefined
  /** Other trust domains that the mesh may have. A request is undecided if that makes a difference. @default none */
  readonly otherTrustDomains?: readonly string[] | undefined
  /** The reason why Istio's own config is not known, if it is not. */
  readonly unknownMesh?: string | undefined
  readonly services: readonly ServiceSnapshot[]
  readonly workloads: readonly WorkloadSnapshot[]
  /** PILOT_AUTO_ALLOW_WAYPOINT_POLICY of istiod; undefined where it is unknown. */
  readonly autoAllowWaypoint?: boolean | undefined
  /** The PeerAuthentications of all namespaces. @default none: plaintext is accepted everywhere */
  readonly peerAuthentications?: readonly PeerAuthentication[] | undefined
  /** Reasons why no answer is certain, whatever the policies say. @default none */
  readonly doubts?: readonly string[] | undefined
  /** The reason why the pods behind the Service are unknown. A denial by its waypoint is certain nevertheless. @default none */
  readonly unknownPods?: string | undefined
  /** One entry for each other kind of pods that may take part. A request is undecided if they decide differently. @default none */
  readonly others?: readonly OtherPods[] | undefined
  /** The ways in which the pods of a side differ, in words. @default none */
  readonly differing?: Readonly<Partial<Record<'client' | 'destination', string>>> | undefined
  /** Decides as if dry runs were enforced. @default false */
  readonly enforcesDryRuns?: boolean | undefined
  /** Decides on connections that canaries take instead of their primary waypoints. @default false */
  readonly isByCanaries?: boolean | undefined
}

/** The parts of a request and a snapshot that differ for other pods. */
type OtherPods = Pick<AccessRequest, 'from' | 'to'> & Pick<ClusterSnapshot, 'workloads'>

/** The proxy of a Gateway. */
type GatewaySnapshot = {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  /** A client may show its own certificate. Then the name in the certificate is its identity. */
  readonly takesCertificates?: boolean | undefined
}

export type AccessRequest = {
  readonly from: {
    readonly namespace: string
    /** Names a client outside the mesh in a sentence. */
    readonly application?: string | undefined
    /** Undefined when the client is outside the mesh. */
    readonly serviceAccount?: string | undefined
    /** Its IP address, if known. */
    readonly address?: string | undefined
    /** The client is the proxy of a Gateway, which bypasses the waypoint of pods. */
    readonly isGateway?: boolean | undefined
  }
  readonly to: {
    readonly namespace: string
    readonly application: string
    /** Undefined when the request goes straight to a pod's address. */
    readonly service?: string | undefined
    /** The port of the pod to which the Service forwards. @default the port of the request */
    readonly podPort?: number | undefined
    /** The protocol that the Service declares for its port. @default none: the waypoint detects it for each connection */
    readonly protocol?: 'http' | 'tcp' | undefined
    /** The request ends at the proxy of a Gateway of that name, whose pods have these labels. */
    readonly gateway?: GatewaySnapshot | undefined
  }
  readonly port: number
  readonly method?: string | undefined
  readonly path?: string | undefined
  readonly host?: string | undefined
  /** The content of the connection, if the port declares no protocol. @default HTTP if the request has HTTP attributes, else either */
  readonly carries?: 'tcp' | undefined
}
