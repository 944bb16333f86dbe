import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { application } from '../../helpers/mesh.ts'

/** Applications that share a namespace. */
const PER_NAMESPACE = 25

const nameOf = (index: number) => ({
  namespace: `team-${Math.floor(index / PER_NAMESPACE)}`,
  name: `app-${index}`,
})

/** So many applications on the mesh behind the waypoints of their namespaces, each of which lets in its neighbours and one that is far away. */
export const largeWorld = (count: number): KubernetesObject[] => {
  const indices = Array.from({ length: count }, (_, index) => index)
  const namespaces = new Set(indices.map((index) => nameOf(index).namespace))
  return [
    ...['istio-system', ...namespaces].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'istio', namespace: 'istio-system' }, data: { mesh: '' } },
    ...[...namespaces].map(waypointIn),
    ...indices.flatMap((index) => [...objectsOf(index), ...policiesOf(index, count)]),
  ]
}

const objectsOf = (index: number): KubernetesObject[] => {
  const { name, namespace } = nameOf(index)
  const labels = { 'istio.io/dataplane-mode': 'ambient' }
  const podSpec = {
    serviceAccountName: name,
    containers: [{ name: 'c', image: 'x:1', ports: [{ containerPort: 8080 }] }],
  }
  const [workload, service] = application(name, {
    ...{ namespace, labels, podSpec },
    serviceSpec: { ports: [{ port: 80, targetPort: 8080, appProtocol: 'http' }] },
  }) as [KubernetesObject, KubernetesObject]
  const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name, uid: name, controller: true }
  const pods = [0, 1].map((ordinal) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${name}-${ordinal}`,
      namespace,
      labels: { 'app.kubernetes.io/name': name, 'apps.kubernetes.io/pod-index': String(ordinal), ...labels },
      ownerReferences: [owner],
    },
    spec: podSpec,
    status: { phase: 'Running' },
  }))
  return [
    { ...workload, metadata: { ...workload.metadata, uid: name } },
    { ...service, metadata: { ...service.metadata, labels: { 'istio.io/use-waypoint': 'waypoint' } } },
    ...pods,
  ]
}

const waypointIn = (namespace: string): KubernetesObject => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name: 'waypoint', namespace, labels: { 'istio.io/waypoint-for': 'service' } },
  spec: {
    gatewayClassName: 'istio-waypoint',
    listeners: [{ name: 'mesh', port: 15_008, protocol: 'HBONE', allowedRoutes: { namespaces: { from: 'All' } } }],
  },
  status: { addresses: [{ type: 'IPAddress', value: '10.9.9.9' }] },
})

const policiesOf = (index: number, count: number): KubernetesObject[] => {
  const { name, namespace } = nameOf(index)
  const sources = [index + 1, index + 2, index + Math.floor(count / 2)].map((one) => nameOf(one % count))
  const principals = sources.map((one) => `cluster.local/ns/${one.namespace}/sa/${one.name}`)
  const policy = (suffix: string, spec: Record<string, unknown>): KubernetesObject => ({
    apiVersion: 'security.istio.io/v1',
    kind: 'AuthorizationPolicy',
    metadata: { name: `${name}-${suffix}`, namespace },
    spec,
  })
  const waypoint = `cluster.local/ns/${namespace}/sa/waypoint`
  return [
    policy('service', {
      targetRefs: [{ group: '', kind: 'Service', name }],
      action: 'ALLOW',
      rules: [
        {
          from: [{ source: { principals } }],
          to: [{ operation: { methods: ['GET'], paths: ['/a/*'], ports: ['80'] } }],
        },
      ],
    }),
    policy('pods', {
      selector: { matchLabels: { 'app.kubernetes.io/name': name } },
      action: 'ALLOW',
      rules: [{ from: [{ source: { principals: [waypoint] } }] }],
    }),
  ]
}

/** What Istio's root namespace refuses to everybody. */
export const DENY_EVERYTHING: KubernetesObject = {
  apiVersion: 'security.istio.io/v1',
  kind: 'AuthorizationPolicy',
  metadata: { name: 'nothing', namespace: 'istio-system' },
  spec: { action: 'DENY', rules: [{}] },
}
