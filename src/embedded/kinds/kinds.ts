import customKinds from './custom-kinds.json' with { type: 'json' }
import { apiVersionOf, builtin, custom, type Kind } from './kind.ts'
import type { OpenApi } from './open-api.ts'

const emptyTemplate = { metadata: {}, spec: { containers: null } }
const all = ['all']

const core = (entry: Parameters<typeof builtin>[2]): Kind => builtin('', 'v1', entry)

const later = { status: true }
const admission = { namespaced: false, counted: true }

/** The kinds served; another one is one more entry. */
export const kinds: readonly Kind[] = [
  core({ kind: 'ConfigMap', shortNames: ['cm'] }),
  core({ kind: 'Secret' }),
  core({
    ...{ kind: 'Namespace', shortNames: ['ns'], namespaced: false, status: true, names: 'label' },
    ...{ zero: { spec: {}, status: {} } },
  }),
  core({
    ...{ kind: 'Service', shortNames: ['svc'], categories: all, status: true, names: 'label-1035' },
    zero: { spec: {}, status: { loadBalancer: {} } },
  }),
  core({ kind: 'ServiceAccount', shortNames: ['sa'] }),
  core({
    ...{ kind: 'Pod', shortNames: ['po'], categories: all, status: true, counted: true },
    zero: { spec: { containers: null }, status: {} },
  }),
  core({
    ...{ kind: 'Event', shortNames: ['ev'] },
    zero: { involvedObject: {}, source: {}, reportingComponent: '', reportingInstance: '' },
  }),
  // a real server keeps these and those of the core group as one
  builtin('events.k8s.io', 'v1', {
    ...{ kind: 'Event', shortNames: ['ev'] },
  }),
  builtin('apps', 'v1', {
    ...{ kind: 'StatefulSet', shortNames: ['sts'], categories: all, ...later, counted: true, names: 'label' },
    zero: { spec: { selector: null, template: emptyTemplate, serviceName: '', updateStrategy: {} }, status: {} },
  }),
  builtin('apps', 'v1', {
    ...{ kind: 'Deployment', shortNames: ['deploy'], categories: all, ...later, counted: true },
    zero: { spec: { selector: null, template: emptyTemplate, strategy: {} }, status: {} },
  }),
  builtin('coordination.k8s.io', 'v1', {
    ...{ kind: 'Lease', zero: { spec: {} } },
  }),
  builtin('autoscaling', 'v2', {
    ...{ kind: 'HorizontalPodAutoscaler', shortNames: ['hpa'], categories: all, ...later },
    zero: { spec: { scaleTargetRef: { kind: '', name: '' }, maxReplicas: 0 }, status: {} },
  }),
  builtin('policy', 'v1', {
    ...{ kind: 'PodDisruptionBudget', shortNames: ['pdb'], ...later, counted: true },
    zero: { spec: {}, status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 } },
  }),
  // kept, and not enforced
  builtin('admissionregistration.k8s.io', 'v1', { kind: 'MutatingWebhookConfiguration', ...admission, zero: {} }),
  builtin('admissionregistration.k8s.io', 'v1', {
    ...{ kind: 'ValidatingAdmissionPolicy', ...admission, status: true, zero: { spec: {}, status: {} } },
  }),
  builtin('admissionregistration.k8s.io', 'v1', {
    ...{ kind: 'ValidatingAdmissionPolicyBinding', ...admission, zero: { spec: {} } },
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
