import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'

/** How many applications a namespace has. */
const EACH = 50

const document = (kind: string, namespace: string, name: string, data: Record<string, unknown>): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels: { 'meshstep.dev/kind': kind } },
  data: Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
  ),
})

const application = (namespace: string, index: number): KubernetesObject[] => {
  const name = `app-${index}`
  const labels = { 'app.kubernetes.io/name': name }
  const metadata = { name, namespace, labels }
  const template = {
    metadata: { labels },
    spec: { serviceAccountName: name, containers: [{ name: 'web', image: 'example.invalid/web:1' }] },
  }
  const joins = { id: 2 * index + 1, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' }
  const serves = { id: 2 * index + 2, endpoint: 'web', interface: 'http', role: 'provides' }
  const policies = [{ type: 'app', relation: 'web', endpoints: [{ ports: [80], methods: ['GET'] }] }]
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { selector: { matchLabels: labels }, template } },
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: labels, ports: [{ port: 80 }] } },
    document('config', namespace, `config-${index}`, { application: name, config: { policies } }),
    document('relation', namespace, `mesh-${index}`, {
      application: name,
      relation: joins,
      remote: { application: 'beacon', data: {} },
    }),
    ...(index === 0
      ? []
      : [
          document('relation', namespace, `web-${index}`, {
            application: name,
            relation: serves,
            remote: { application: `app-${index - 1}`, data: {} },
          }),
        ]),
  ]
}

const shop = (namespace: string, count: number): KubernetesObject[] => [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
  document('config', namespace, 'config-beacon', { application: 'beacon', config: { mesh: {} } }),
  ...Array.from({ length: count }, (_, index) => application(namespace, index)).flat(),
]

/** So many applications, 50 in a namespace, each related to the beacon there, and to the application before it. */
export const shops = (count: number): KubernetesObject[] =>
  Array.from({ length: Math.ceil(count / EACH) }, (_, index) =>
    shop(`shop-${index}`, Math.min(EACH, count - index * EACH)),
  ).flat()
