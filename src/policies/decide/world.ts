import type { AuthorizationPolicy } from '../authorization-policy.ts'

export type Waypoint = { readonly namespace: string; readonly name: string; readonly serviceAccount: string }

export type ServiceInWorld = {
  readonly namespace: string
  readonly name: string
  /** Which pods are behind it. @default those of the application of its name */
  readonly selector?: Readonly<Record<string, string>> | undefined
  /** The one that traffic to the Service passes, by the Service's own labels or its namespace's. */
  readonly waypoint?: Waypoint | undefined
}

/** An application's pods. */
export type WorkloadInWorld = {
  readonly namespace: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly onMesh: boolean
}

/** What a decision depends on. */
export type World = {
  /** Of all namespaces: one that is missing here could have decided otherwise. */
  readonly policies: readonly AuthorizationPolicy[]
  /** Istio's; policies in it hold for every namespace. */
  readonly rootNamespace: string
  readonly trustDomain: string
  readonly services: readonly ServiceInWorld[]
  readonly workloads: readonly WorkloadInWorld[]
  /** Whether istiod runs with PILOT_AUTO_ALLOW_WAYPOINT_POLICY. */
  readonly autoAllowWaypoint: boolean
}

export type AccessRequest = {
  readonly from: {
    readonly namespace: string
    /** Undefined when the client is outside the mesh. */
    readonly serviceAccount?: string | undefined
    /** Its IP address, where it is known. */
    readonly address?: string | undefined
  }
  readonly to: {
    readonly namespace: string
    readonly application: string
    /** Undefined when the request goes straight to a pod's address. */
    readonly service?: string | undefined
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
