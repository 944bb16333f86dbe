import type { Cluster } from '../../../src/ask/lint/cluster.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'

/** The namespace `shop` as lint reads it, with these objects in it; `changes` are what it depends on elsewhere. */
export const clusterOf = (objects: readonly KubernetesObject[], changes: Partial<Cluster> = {}): Cluster => {
  const of = (kind: string) => objects.filter((one) => one.kind === kind)
  return {
    namespace: 'shop',
    home: object('Namespace', 'shop', { labels: { 'istio.io/dataplane-mode': 'ambient' } }),
    services: of('Service'),
    workloads: of('Deployment'),
    pods: of('Pod'),
    gateways: of('Gateway'),
    policies: of('AuthorizationPolicy'),
    rootPolicies: [],
    peerAuthentications: of('PeerAuthentication'),
    istio: { rootNamespace: 'istio-system' },
    unread: [],
    ...changes,
  }
}

const object = (kind: string, name: string, metadata: Record<string, unknown>, rest = {}): KubernetesObject => ({
  ...{ apiVersion: '', kind },
  metadata: { name, ...(kind !== 'Namespace' && { namespace: 'shop' }), ...metadata },
  ...rest,
})

const labels = (name: string) => ({ 'app.kubernetes.io/name': name })

export const pod = (name: string): KubernetesObject =>
  object('Pod', name, { labels: labels(name) }, { spec: { serviceAccountName: name } })

/** A Deployment without pods. */
export const deployment = (name: string): KubernetesObject => {
  const template = { metadata: { labels: labels(name) }, spec: { serviceAccountName: name } }
  return object('Deployment', name, {}, { spec: { replicas: 0, template } })
}

/** A Service that is led to the waypoint `w`, with one port. */
export const serviceAtWaypoint = (name: string, port: Record<string, unknown>, spec = {}): KubernetesObject =>
  object('Service', name, { labels: { 'istio.io/use-waypoint': 'w' } }, { spec: { ports: [port], ...spec } })

export const waypoint = (name = 'w'): KubernetesObject =>
  object(
    'Gateway',
    name,
    {},
    {
      spec: { gatewayClassName: 'istio-waypoint', listeners: [{ name: 'mesh', port: 15_008, protocol: 'HBONE' }] },
      status: { addresses: [{ type: 'IPAddress', value: '10.0.0.1' }] },
    },
  )
