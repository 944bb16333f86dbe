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
  /** The one that traffic to the Service passes, by the Service's own labels or its namespace's. */
  readonly waypoint?: Waypoint | undefined
  /** One that takes a share of that traffic, where Istio knows canaries. */
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
  /** The one that traffic to the pods' own addresses passes, by the pods' labels or their namespace's. */
  readonly waypoint?: Waypoint | undefined
}

/** The cluster state that an evaluation depends on. */
export type ClusterSnapshot = {
  /** Of all namespaces: one that is missing here could have decided otherwise. */
  readonly policies: readonly AuthorizationPolicy[]
  /** Policies that cannot be read, or are not taken yet: where one may apply, what no other policy denies is undecided. @default none */
  readonly unreadable?: readonly UnreadablePolicy[] | undefined
  /** Istio's; policies in it hold for every namespace. */
  readonly rootNamespace: string
  /** Namespaces that may be the root instead: where it matters, nothing is decided. @default none */
  readonly otherRoots?: readonly string[] | undefined
  /** Istio's own, where it says it. @default that of the newest */
  readonly istioVersion?: IstioVersion | undefined
  readonly trustDomain: string
  /** Other names of the trust domain, which Envoys know. @default none */
  readonly trustDomainAliases?: readonly string[] | 'unknown' | undefined
  readonly services: readonly ServiceSnapshot[]
  readonly workloads: readonly WorkloadSnapshot[]
  /** PILOT_AUTO_ALLOW_WAYPOINT_POLICY of istiod; undefined where it is unknown. */
  readonly autoAllowWaypoint?: boolean | undefined
  /** Of all namespaces. @default none: plaintext is taken everywhere */
  readonly peerAuthentications?: readonly PeerAuthentication[] | undefined
  /** Reasons why no answer is certain, whatever the policies say. @default none */
  readonly doubts?: readonly string[] | undefined
  /** The reason why it is not known which pods are behind the Service: what its waypoint refuses is certain nevertheless. @default none */
  readonly unknownPods?: string | undefined
  /** One for each other kind of pods that may take part: what depends on which do is undecided. @default none */
  readonly others?: readonly OtherPods[] | undefined
  /** The ways in which the pods of a side differ, in words. @default none */
  readonly differing?: Readonly<Partial<Record<'client' | 'destination', string>>> | undefined
  /** Decides as if dry runs were enforced. @default false */
  readonly enforcesDryRuns?: boolean | undefined
  /** Decides on connections that canaries take. @default false */
  readonly isByCanaries?: boolean | undefined
}

/** The parts of a request and of the cluster that are otherwise where other pods take part. */
export type OtherPods = Pick<AccessRequest, 'from' | 'to'> & Pick<ClusterSnapshot, 'workloads'>

/** The proxy of a Gateway. */
export type GatewaySnapshot = {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  /** A client may show a certificate of its own, whose name is then its identity. */
  readonly takesCertificates?: boolean | undefined
}

export type AccessRequest = {
  readonly from: {
    readonly namespace: string
    /** Names a client outside the mesh in a sentence. */
    readonly application?: string | undefined
    /** Undefined when the client is outside the mesh. */
    readonly serviceAccount?: string | undefined
    /** Its IP address, where it is known. */
    readonly address?: string | undefined
    /** It is the proxy of a Gateway, which passes no waypoint of pods. */
    readonly isGateway?: boolean | undefined
  }
  readonly to: {
    readonly namespace: string
    readonly application: string
    /** Undefined when the request goes straight to a pod's address. */
    readonly service?: string | undefined
    /** The port of the pod that the Service sends it on to. @default the port of the request */
    readonly podPort?: number | undefined
    /** The protocol that the Service declares for its port. @default none: the waypoint detects it by connection */
    readonly protocol?: 'http' | 'tcp' | undefined
    /** The request ends at the proxy of a Gateway of that name, whose pods have these labels. */
    readonly gateway?: GatewaySnapshot | undefined
  }
  readonly port: number
  readonly method?: string | undefined
  readonly path?: string | undefined
  readonly host?: string | undefined
  /** The content of the connection, where the port declares no protocol. @default HTTP where the request has attributes of it, else either */
  readonly carries?: 'tcp' | undefined
}

/** Tells if `labels` include all of `wanted`. */
export const hasLabels = (
  labels: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>> = {},
): boolean => Object.entries(wanted).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value)
