import customKinds from './custom-kinds.json' with { type: 'json' }
import { apiVersionOf, builtin, custom, type Kind } from './kind.ts'
import type { OpenApi } from './open-api.ts'

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
    zero: { spec: {}, status: { loadBalancer: {} } },
    createOnPut: true,
    deleteAnswersObject: true,
    selectable: ['spec.clusterIP', 'spec.type'],
  }),
  builtin('', 'v1', {
    kind: 'ServiceAccount',
    plural: 'serviceaccounts',
    shortNames: ['sa'],
    deleteAnswersObject: true,
  }),
  builtin('', 'v1', {
    kind: 'Pod',
    plural: 'pods',
    shortNames: ['po'],
    categories: ['all'],
    status: true,
    counted: true,
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
  // a real server keeps these and those of the core group as one
  builtin('events.k8s.io', 'v1', {
    kind: 'Event',
    plural: 'events',
    shortNames: ['ev'],
    createOnPut: true,
    selectable: ['reason', 'type', 'regarding.kind', 'regarding.name', 'regarding.namespace', 'reportingController'],
  }),
  builtin('apps', 'v1', {
    kind: 'StatefulSet',
    plural: 'statefulsets',
    shortNames: ['sts'],
    categories: ['all'],
    status: true,
    counted: true,
    names: 'label',
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
    zero: { spec: { scaleTargetRef: { kind: '', name: '' }, maxReplicas: 0 }, status: {} },
    rechecksMetadata: false,
  }),
  builtin('policy', 'v1', {
    kind: 'PodDisruptionBudget',
    plural: 'poddisruptionbudgets',
    shortNames: ['pdb'],
    status: true,
    counted: true,
    zero: { spec: {}, status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 } },
    rechecksMetadata: false,
  }),
  // kept, and not enforced
  builtin('admissionregistration.k8s.io', 'v1', {
    kind: 'ValidatingAdmissionPolicy',
    plural: 'validatingadmissionpolicies',
    namespaced: false,
    status: true,
    counted: true,
    zero: { spec: {}, status: {} },
    rechecksMetadata: false,
  }),
  builtin('admissionregistration.k8s.io', 'v1', {
    kind: 'ValidatingAdmissionPolicyBinding',
    plural: 'validatingadmissionpolicybindings',
    namespaced: false,
    counted: true,
    zero: { spec: {} },
    rechecksMetadata: false,
  }),
  ...customKinds.map(({ group, schema, ...entry }) =>
    custom(group, 'v1', { ...entry, schema: schema as unknown as OpenApi }),
  ),
]

const byPath = new Map(kinds.map((kind) => [`${apiVersionOf(kind)}/${kind.plural}`, kind]))
const byKind = new Map(kinds.map((kind) => [`${apiVersionOf(kind)}/${kind.kind}`, kind]))

export const kindByPlural = (apiVersion: string, plural: string): Kind | undefined =>
  byPath.get(`${apiVersion}/${plural}`)

export const kindOf = (apiVersion: string, kind: string): Kind | undefined => byKind.get(`${apiVersion}/${kind}`)
