import type { KubernetesObject } from '../kubernetes/objects.ts'

const namespace = 'bookinfo'

const workload = (kind: 'StatefulSet' | 'Deployment', name: string): KubernetesObject => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name, namespace, labels: { 'app.kubernetes.io/name': name } },
  spec: {
    replicas: 1,
    selector: { matchLabels: { 'app.kubernetes.io/name': name } },
    ...(kind === 'StatefulSet' && { serviceName: name }),
    template: {
      metadata: { labels: { 'app.kubernetes.io/name': name } },
      spec: { containers: [{ name, image: `example.invalid/bookinfo-${name}:1` }] },
    },
  },
})

const service = (name: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace, labels: { 'app.kubernetes.io/name': name } },
  spec: { selector: { 'app.kubernetes.io/name': name }, ports: [{ port: 9080 }] },
})

/**
 * Two applications that are not on a mesh: `details` as Juju deploys one, with a StatefulSet, and `productpage` with a Deployment. And
 * the root namespace of Istio, whose policies hold for all.
 */
export const example: readonly KubernetesObject[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } },
  workload('StatefulSet', 'details'),
  service('details'),
  workload('Deployment', 'productpage'),
  service('productpage'),
]
