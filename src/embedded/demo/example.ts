import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'

const workload = (kind: 'StatefulSet' | 'Deployment', namespace: string, name: string): KubernetesObject => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name, namespace, labels: { 'app.kubernetes.io/name': name } },
  spec: {
    replicas: 1,
    selector: { matchLabels: { 'app.kubernetes.io/name': name } },
    ...(kind === 'StatefulSet' && { serviceName: name }),
    template: {
      metadata: { labels: { 'app.kubernetes.io/name': name } },
      spec: { serviceAccountName: name, containers: [{ name, image: `example.invalid/${namespace}-${name}:1` }] },
    },
  },
})

const service = (namespace: string, name: string, port: number): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace, labels: { 'app.kubernetes.io/name': name } },
  spec: { selector: { 'app.kubernetes.io/name': name }, ports: [{ port }] },
})

/**
 * Applications that are not on a mesh, as Juju deploys them, each with a ServiceAccount of its name: in `bookinfo` `details`, with a
 * StatefulSet, and `productpage`, with a Deployment; in `tempo` a coordinator and three workers, that nothing relates yet; nothing in
 * `loki`. And the root namespace of Istio, whose policies hold for all.
 */
export const example: readonly KubernetesObject[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } },
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'loki' } },
  workload('StatefulSet', 'bookinfo', 'details'),
  service('bookinfo', 'details', 9080),
  workload('Deployment', 'bookinfo', 'productpage'),
  service('bookinfo', 'productpage', 9080),
  ...['tempo', 'tempo-querier', 'tempo-ingester', 'tempo-compactor'].flatMap((name) => [
    workload('StatefulSet', 'tempo', name),
    service('tempo', name, 3200),
  ]),
]
