import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'

const NAME_LABEL = 'gateway.networking.k8s.io/gateway-name'

/**
 * Creates the objects that Istio creates for a waypoint, as far as others see them. See Istio's
 * manifests/charts/istio-control/istio-discovery/files/waypoint.yaml. The labels of the Gateway go to all of them, and to the pods, unless
 * `spec.infrastructure` names others.
 */
export const demoWaypointObjects = (gateway: KubernetesObject, replicas: number): KubernetesObject[] => {
  const { name, namespace = '', uid = '' } = gateway.metadata
  const { infrastructure }: { infrastructure?: { labels?: Record<string, string> } } = gateway.spec ?? {}
  const labels = {
    ...(infrastructure?.labels ?? gateway.metadata.labels),
    [NAME_LABEL]: name,
    'gateway.networking.k8s.io/gateway-class-name': 'istio-waypoint',
    'gateway.istio.io/managed': 'istio.io-mesh-controller',
  }
  const selector = { [NAME_LABEL]: name }
  const metadata = {
    name,
    namespace,
    labels,
    ownerReferences: [{ apiVersion: gateway.apiVersion, kind: gateway.kind, name, uid }],
  }
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        replicas,
        selector: { matchLabels: selector },
        template: { metadata: { labels: podLabels(name, labels) }, spec: podSpec(name) },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: {
        selector,
        ports: [
          { name: 'status-port', port: 15021, protocol: 'TCP' },
          { name: 'mesh', port: 15008, protocol: 'TCP' },
        ],
      },
    },
  ]
}

const podLabels = (name: string, labels: Record<string, string>) => ({
  'sidecar.istio.io/inject': 'false',
  'istio.io/dataplane-mode': 'none',
  'service.istio.io/canonical-name': name,
  'service.istio.io/canonical-revision': 'latest',
  ...labels,
})

const podSpec = (name: string) => ({
  serviceAccountName: name,
  containers: [
    {
      name: 'istio-proxy',
      image: 'example.invalid/proxyv2:1',
      ports: [
        { containerPort: 15021, name: 'status-port', protocol: 'TCP' },
        { containerPort: 15090, name: 'http-envoy-prom', protocol: 'TCP' },
      ],
    },
  ],
})
