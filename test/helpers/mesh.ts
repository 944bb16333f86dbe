import { istioConfig } from '../../src/embedded/demo/example.ts'
import { startIstio } from '../../src/embedded/demo/istio.ts'
import { meshLabels, waypointName } from '../../src/mesh/istio/names.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import type { Explanation } from '../../src/serve/http/explain.ts'
import { createWorld, NAMESPACE, type World } from './world.ts'

export const WAYPOINT = waypointName(NAMESPACE, 'beacon')
export const ON_MESH = meshLabels({ model: NAMESPACE, application: 'beacon' })

type Labels = Record<string, string>

type Changes = {
  kind?: 'StatefulSet' | 'Deployment'
  namespace?: string
  /** Of the pod template and of the Service; those of the mesh unless it is said otherwise. */
  labels?: Labels
  replicas?: number
  podSpec?: Record<string, unknown>
  serviceSpec?: Record<string, unknown>
}

/** A workload that runs as itself, and its Service on port 9080, on the mesh behind the beacon's waypoint, but for `changes`. */
export const application = (name: string, changes: Changes = {}): KubernetesObject[] => {
  const { kind = 'StatefulSet', namespace = NAMESPACE, labels = ON_MESH, replicas = 2, podSpec, serviceSpec } = changes
  const own = { 'app.kubernetes.io/name': name }
  return [
    {
      apiVersion: 'apps/v1',
      kind,
      metadata: { name, namespace },
      spec: {
        ...(kind === 'StatefulSet' && { serviceName: name }),
        replicas,
        selector: { matchLabels: own },
        template: {
          metadata: { labels: { ...own, ...labels } },
          spec: { serviceAccountName: name, containers: [{ name: 'c', image: 'x:1' }], ...podSpec },
        },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace, labels },
      spec: { selector: own, ports: [{ port: 9080 }], ...serviceSpec },
    },
  ]
}

/** The Gateway of the beacon's waypoint, as the beacon makes it, and Istio has seen it, but for `changes`. */
export const waypoint = (changes: Partial<KubernetesObject> = {}): KubernetesObject => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name: WAYPOINT, namespace: NAMESPACE, labels: { 'istio.io/waypoint-for': 'service' } },
  spec: {
    gatewayClassName: 'istio-waypoint',
    listeners: [{ name: 'mesh', port: 15008, protocol: 'HBONE', allowedRoutes: { namespaces: { from: 'All' } } }],
  },
  status: { addresses: [{ type: 'Hostname', value: `${WAYPOINT}.${NAMESPACE}.svc.cluster.local` }] },
  ...changes,
})

export const namespace = (name: string, labels: Labels): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
})

export type Answer = Explanation & { status: number; message?: string }

export type Mesh = World & {
  /** Asks `GET /explain`: by default whether productpage may GET /details/0 of details; undefined leaves a parameter out. */
  explain(changes?: Record<string, string | undefined>): Promise<Answer>
}

/** The functions on an embedded API where Istio runs, with Istio's own config unless `objects` have one, or there is none. */
export const createMesh = (objects: readonly KubernetesObject[], { hasConfig = true } = {}): Mesh => {
  const world = createWorld([])
  startIstio(world)
  const isConfig = ({ kind, metadata: { name } }: KubernetesObject) => kind === 'ConfigMap' && name.startsWith('istio')
  world.api.seed([...(hasConfig && !objects.some(isConfig) ? [istioConfig] : []), ...objects])
  const explain: Mesh['explain'] = async (changes = {}) => {
    const asked = {
      from: `${NAMESPACE}/productpage`,
      to: `${NAMESPACE}/details`,
      port: '9080',
      method: 'GET',
      path: '/details/0',
      ...changes,
    }
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(asked)) if (value !== undefined) query.set(name, value)
    const response = await world.app.request(`/explain?${query}`)
    return { ...((await response.json()) as Explanation), status: response.status }
  }
  return Object.assign(world, { explain })
}

/** `productpage`, `details` and `reviews` behind a waypoint. */
export const bookinfo: readonly KubernetesObject[] = [
  ...['details', 'reviews'].flatMap((name) => application(name)),
  ...application('productpage', { kind: 'Deployment' }),
  waypoint(),
]
