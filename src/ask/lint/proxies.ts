import { type AuthorizationPolicy, readAuthorizationPolicy } from '../../mesh/istio/authorization-policy.ts'
import { podLabels, serviceAccountName } from '../../platform/kubernetes/pod-like.ts'
import { isHeadless } from '../../platform/kubernetes/services.ts'
import { waypointPolicies, ztunnelPolicies } from '../authorization/evaluate/attachment.ts'
import type { ClusterSnapshot } from '../authorization/evaluate/cluster-snapshot.ts'
import {
  actionOf,
  type EnforcementPoint,
  ignoreReason,
  policyName,
} from '../authorization/evaluate/enforcement-point.ts'
import type { RequestContext } from '../authorization/evaluate/request-context.ts'
import { isOnMesh, ownProxy } from '../authorization/pods.ts'
import { detectProtocol, tcpPorts } from '../authorization/protocol.ts'
import { findWaypoint } from '../authorization/waypoint.ts'
import { type Cluster, podsAndNext } from './cluster.ts'

export type Port = { readonly port: number; readonly protocol?: 'http' | 'tcp' | undefined }

/** A proxy, the pods or Services behind it, and the policies that it enforces. */
export type MeshProxy = {
  readonly at: 'waypoint' | 'ztunnel'
  /** The name of the pods or the Service behind it, for people. */
  readonly of: string
  readonly allows: readonly AuthorizationPolicy[]
  readonly denies: readonly AuthorizationPolicy[]
  readonly ports: readonly Port[] | 'any'
  readonly trustDomain: string
  /** Builds the enforcement point for a request that arrives there. */
  point(context: RequestContext, protocol?: 'http' | 'tcp'): EnforcementPoint
}

/** Lists the proxies of a namespace. Of several that guard the same target with the same policies, one is listed. */
export const proxiesIn = (cluster: Cluster): MeshProxy[] => {
  const snapshot = snapshotOf(cluster)
  const proxies = [...waypointsIn(cluster, snapshot), ...ztunnelsIn(cluster, snapshot)]
  return [...new Map(proxies.map((one) => [[one.of, ...one.policies.map(policyName)].join(' '), one])).values()].map(
    (one) => proxyOf(one, snapshot),
  )
}

/** The policies of a cluster, as proxies enforce them. */
export const snapshotOf = ({ policies, rootPolicies = [], istio }: Cluster) => {
  const read = [...policies, ...rootPolicies].map(readAuthorizationPolicy)
  return {
    policies: read.flatMap((one) => ('policy' in one ? [one.policy] : [])),
    unreadable: read.filter((one) => 'unreadable' in one),
    ...{ rootNamespace: istio.rootNamespace, istioVersion: istio.version },
    ...{
      trustDomain: istio.trustDomains?.own ?? 'cluster.local',
      trustDomainAliases: istio.trustDomains?.aliases ?? [],
    },
    ...{ services: [], workloads: [] },
  }
}

export type Snapshot = ReturnType<typeof snapshotOf>

/** Tells if a policy has a rule without conditions, which matches every request. */
export const isForEverybody = ({ spec: { rules = [] } }: AuthorizationPolicy): boolean =>
  rules.some(({ from = [], to = [], when = [] }) => from.length + to.length + when.length === 0)

type Attached = Pick<MeshProxy, 'at' | 'of' | 'ports'> & { readonly policies: readonly AuthorizationPolicy[] }

const waypointsIn = ({ namespace, home, services, gateways = [] }: Cluster, snapshot: ClusterSnapshot): Attached[] =>
  services.flatMap((service): Attached[] => {
    const { name } = service.metadata
    const { waypoint } = findWaypoint(service, home?.metadata ?? {}, gateways)
    // requests to a headless Service go straight to the pods
    if (waypoint === undefined || isHeadless(service)) return []
    const { policies } = waypointPolicies(snapshot, { namespace, name }, waypoint)
    const ports = tcpPorts(service).flatMap((one): Port[] => {
      const protocol = detectProtocol(one)
      return (protocol ? [protocol] : (['http', 'tcp'] as const)).map((each) => ({ port: one.port, protocol: each }))
    })
    return [{ at: 'waypoint', of: `Service ${namespace}/${name}`, policies, ports }]
  })

const ztunnelsIn = (cluster: Cluster, snapshot: ClusterSnapshot): Attached[] => {
  const { namespace, home } = cluster
  const labels = home?.metadata.labels ?? {}
  return podsAndNext(cluster)
    .filter((pod) => isOnMesh(pod, labels) && ownProxy(pod, labels) === undefined)
    .map((pod) => {
      const workload = { namespace, name: pod.metadata.name, labels: podLabels(pod), onMesh: true }
      const { policies } = ztunnelPolicies(snapshot, workload)
      return {
        at: 'ztunnel',
        of: `the pods of ${namespace}/${serviceAccountName(pod)}`,
        ...{ policies, ports: 'any' },
      }
    })
}

const proxyOf = ({ at, of, policies, ports }: Attached, snapshot: Snapshot): MeshProxy => {
  const { trustDomain, trustDomainAliases: aliases } = snapshot
  const point = (context: RequestContext, protocol?: 'http' | 'tcp'): EnforcementPoint => ({
    ...{ at, name: of, protocol, policies: [], perhaps: [], unreadable: [] },
    context: at === 'waypoint' ? { ...context, envoy: { trustDomain, aliases } } : context,
  })
  const active = policies.filter((policy) => ignoreReason(policy, point({ port: 80 })) === undefined)
  const [allows, denies] = ['ALLOW', 'DENY'].map((action) => active.filter((policy) => actionOf(policy) === action))
  return { ...{ at, of, ports, trustDomain, point }, allows: allows ?? [], denies: denies ?? [] }
}
