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

/** Istio's own config, as its chart writes it without values and without a revision. */
export const istioConfig: KubernetesObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: 'istio',
    namespace: 'istio-system',
    labels: {
      ...{ 'istio.io/rev': 'default', 'operator.istio.io/component': 'Pilot', release: 'istiod' },
      ...{ 'app.kubernetes.io/name': 'istiod', 'app.kubernetes.io/version': '1.29.1' },
    },
  },
  data: {
    meshNetworks: 'networks: {}',
    mesh: [
      ...['defaultConfig:', '  discoveryAddress: istiod.istio-system.svc:15012'],
      ...['defaultProviders:', '  metrics:', '  - prometheus'],
      ...['enablePrometheusMerge: true', 'rootNamespace: istio-system', 'trustDomain: cluster.local', ''],
    ].join('\n'),
  },
}

/**
 * Applications that are not on a mesh, as Juju deploys them, each with a ServiceAccount of its name: in `bookinfo` `details`, with a
 * StatefulSet, and `productpage`, with a Deployment; in `tempo` a coordinator and three workers, that nothing relates yet; nothing in
 * `loki`. And the root namespace of Istio, whose policies hold for all, with Istio's own config.
 */
export const example: readonly KubernetesObject[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } },
  istioConfig,
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
