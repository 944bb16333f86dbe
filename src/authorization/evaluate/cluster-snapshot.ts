import type { AuthorizationPolicy, UnreadablePolicy } from '../../istio/authorization-policy.ts'
import type { PeerAuthentication } from './peer-authentication.ts'

export type Waypoint = { readonly namespace: string; readonly name: string; readonly serviceAccount: string }

export type ServiceSnapshot = {
  readonly namespace: string
  readonly name: string
  /** Which pods are behind it. @default those of the application of its name */
  readonly selector?: Readonly<Record<string, string>> | undefined
  /** The one that traffic to the Service passes, by the Service's own labels or its namespace's. */
  readonly waypoint?: Waypoint | undefined
  /** Why there is none, where the labels name one: `the waypoint shop/w does not exist`. */
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

/** What a decision depends on. */
export type ClusterSnapshot = {
  /** Of all namespaces: one that is missing here could have decided otherwise. */
  readonly policies: readonly AuthorizationPolicy[]
  /** Where one of these may hold, what no other policy refuses is undecided. @default none */
  readonly unreadable?: readonly UnreadablePolicy[] | undefined
  /** Istio's; policies in it hold for every namespace. */
  readonly rootNamespace: string
  readonly trustDomain: string
  readonly services: readonly ServiceSnapshot[]
  readonly workloads: readonly WorkloadSnapshot[]
  /** Whether istiod runs with PILOT_AUTO_ALLOW_WAYPOINT_POLICY; undefined where that is not known. */
  readonly autoAllowWaypoint?: boolean | undefined
  /** Of all namespaces. @default none: plaintext is taken everywhere */
  readonly peerAuthentications?: readonly PeerAuthentication[] | undefined
  /** Decides as if dry runs were enforced. @default false */
  readonly enforcesDryRuns?: boolean | undefined
}

export type AccessRequest = {
  readonly from: {
    readonly namespace: string
    /** What a sentence calls a client that is outside the mesh. */
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
    /** What the Service says that its port carries. @default not said: the waypoint looks at each connection */
    readonly protocol?: 'http' | 'tcp' | undefined
    /** The request ends at the proxy of a Gateway of that name, whose pods have these labels. */
    readonly gateway?: { readonly name: string; readonly labels: Readonly<Record<string, string>> } | undefined
  }
  readonly port: number
  readonly method?: string | undefined
  readonly path?: string | undefined
  readonly host?: string | undefined
}

/** Whether something with `labels` is selected: it has all of `wanted`. */
export const hasLabels = (
  labels: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>> = {},
): boolean => Object.entries(wanted).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value)
