import { apiVersionOf, builtin, custom, type Kind } from './kind.ts'
import { shapes } from './schema.ts'

const emptyTemplate = { metadata: {}, spec: { containers: null } }

/** The kinds served; another one is one more entry. */
export const kinds: readonly Kind[] = [
  builtin('', 'v1', { kind: 'ConfigMap', plural: 'configmaps', shortNames: ['cm'] }),
  builtin('', 'v1', { kind: 'Secret', plural: 'secrets', selectable: ['type'] }),
  builtin('', 'v1', {
    kind: 'Namespace',
    plural: 'namespaces',
    shortNames: ['ns'],
    namespaced: false,
    status: true,
    names: 'label',
    shape: shapes.conditioned,
    zero: { spec: {}, status: {} },
    deleteAnswersObject: true,
    selectable: ['status.phase'],
  }),
  builtin('', 'v1', {
    kind: 'Service',
    plural: 'services',
    shortNames: ['svc'],
    categories: ['all'],
    status: true,
    names: 'label-1035',
    shape: shapes.service,
    zero: { spec: {}, status: { loadBalancer: {} } },
    createOnPut: true,
    deleteAnswersObject: true,
    selectable: ['spec.clusterIP', 'spec.type'],
  }),
  builtin('', 'v1', {
    kind: 'ServiceAccount',
    plural: 'serviceaccounts',
    shortNames: ['sa'],
    shape: shapes.serviceAccount,
    deleteAnswersObject: true,
  }),
  builtin('', 'v1', {
    kind: 'Pod',
    plural: 'pods',
    shortNames: ['po'],
    categories: ['all'],
    status: true,
    counted: true,
    shape: shapes.pod,
    zero: { spec: { containers: null }, status: {} },
    deleteAnswersObject: true,
    selectable: ['spec.nodeName', 'spec.restartPolicy', 'spec.serviceAccountName', 'status.phase', 'status.podIP'],
  }),
  builtin('', 'v1', {
    kind: 'Event',
    plural: 'events',
    shortNames: ['ev'],
    zero: { involvedObject: {}, source: {}, reportingComponent: '', reportingInstance: '' },
    createOnPut: true,
    selectable: [
      ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map(
        (field) => `involvedObject.${field}`,
      ),
      ...['reason', 'reportingComponent', 'source', 'type'],
    ],
  }),
  builtin('apps', 'v1', {
    kind: 'StatefulSet',
    plural: 'statefulsets',
    shortNames: ['sts'],
    categories: ['all'],
    status: true,
    counted: true,
    names: 'label',
    shape: shapes.workload,
    zero: { spec: { selector: null, template: emptyTemplate, serviceName: '', updateStrategy: {} }, status: {} },
    rechecksMetadata: false,
  }),
  builtin('apps', 'v1', {
    kind: 'Deployment',
    plural: 'deployments',
    shortNames: ['deploy'],
    categories: ['all'],
    status: true,
    counted: true,
    shape: shapes.workload,
    zero: { spec: { selector: null, template: emptyTemplate, strategy: {} }, status: {} },
    rechecksMetadata: false,
  }),
  builtin('coordination.k8s.io', 'v1', {
    kind: 'Lease',
    plural: 'leases',
    zero: { spec: {} },
    createOnPut: true,
    putNeedsVersion: true,
    rechecksMetadata: false,
  }),
  builtin('autoscaling', 'v2', {
    kind: 'HorizontalPodAutoscaler',
    plural: 'horizontalpodautoscalers',
    shortNames: ['hpa'],
    categories: ['all'],
    status: true,
    shape: shapes.conditioned,
    zero: { spec: { scaleTargetRef: { kind: '', name: '' }, maxReplicas: 0 }, status: {} },
    rechecksMetadata: false,
  }),
  custom('security.istio.io', 'v1', {
    kind: 'AuthorizationPolicy',
    plural: 'authorizationpolicies',
    shortNames: ['ap'],
    categories: ['istio-io', 'security-istio-io'],
  }),
  custom('security.istio.io', 'v1', {
    kind: 'PeerAuthentication',
    plural: 'peerauthentications',
    shortNames: ['pa'],
    categories: ['istio-io', 'security-istio-io'],
  }),
  custom('gateway.networking.k8s.io', 'v1', {
    kind: 'Gateway',
    plural: 'gateways',
    shortNames: ['gtw'],
    categories: ['gateway-api'],
    shape: shapes.gateway,
  }),
  custom('gateway.networking.k8s.io', 'v1', {
    kind: 'GatewayClass',
    plural: 'gatewayclasses',
    shortNames: ['gc'],
    categories: ['gateway-api'],
    namespaced: false,
    shape: shapes.conditioned,
  }),
]

const byPath = new Map(kinds.map((kind) => [`${apiVersionOf(kind)}/${kind.plural}`, kind]))
const byKind = new Map(kinds.map((kind) => [`${apiVersionOf(kind)}/${kind.kind}`, kind]))

export const kindByPlural = (apiVersion: string, plural: string): Kind | undefined =>
  byPath.get(`${apiVersion}/${plural}`)

export const kindOf = (apiVersion: string, kind: string): Kind | undefined => byKind.get(`${apiVersion}/${kind}`)
