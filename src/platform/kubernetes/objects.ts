import type { V1OwnerReference } from '@kubernetes/client-node'

/** Any Kubernetes object, as JSON. */
export type KubernetesObject = {
  apiVersion: string
  kind: string
  metadata: Metadata
  spec?: Record<string, unknown>
  status?: Record<string, unknown>
  data?: Record<string, string>
  [field: string]: unknown
}

export type Metadata = {
  name: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  ownerReferences?: V1OwnerReference[]
  labels?: Record<string, string>
  annotations?: Record<string, string>
  managedFields?: ManagedFields[]
  [field: string]: unknown
}

/** https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management */
export type ManagedFields = {
  manager: string
  operation: 'Apply' | 'Update'
  subresource?: string
  fieldsV1?: FieldSet
  [field: string]: unknown
}

/** The fields that a manager holds, as `f:name`, `k:{keys}` or `v:value`; `.` is the field itself. */
export type FieldSet = { readonly [element: string]: FieldSet }

/** The resource of each kind that is used. `plural` is its name in API paths and RBAC rules. */
const resources = {
  ConfigMap: { apiVersion: 'v1', plural: 'configmaps' },
  Secret: { apiVersion: 'v1', plural: 'secrets' },
  Service: { apiVersion: 'v1', plural: 'services' },
  Pod: { apiVersion: 'v1', plural: 'pods' },
  ServiceAccount: { apiVersion: 'v1', plural: 'serviceaccounts' },
  StatefulSet: { apiVersion: 'apps/v1', plural: 'statefulsets' },
  Deployment: { apiVersion: 'apps/v1', plural: 'deployments' },
  Namespace: { apiVersion: 'v1', plural: 'namespaces', clusterScoped: true },
  HorizontalPodAutoscaler: { apiVersion: 'autoscaling/v2', plural: 'horizontalpodautoscalers' },
  PodDisruptionBudget: { apiVersion: 'policy/v1', plural: 'poddisruptionbudgets' },
  AuthorizationPolicy: { apiVersion: 'security.istio.io/v1', plural: 'authorizationpolicies' },
  PeerAuthentication: { apiVersion: 'security.istio.io/v1', plural: 'peerauthentications' },
  ServiceEntry: { apiVersion: 'networking.istio.io/v1', plural: 'serviceentries' },
  Gateway: { apiVersion: 'gateway.networking.k8s.io/v1', plural: 'gateways' },
  GatewayClass: { apiVersion: 'gateway.networking.k8s.io/v1', plural: 'gatewayclasses', clusterScoped: true },
  Event: { apiVersion: 'events.k8s.io/v1', plural: 'events' },
  TokenReview: { apiVersion: 'authentication.k8s.io/v1', plural: 'tokenreviews', clusterScoped: true },
  MutatingWebhookConfiguration: {
    apiVersion: 'admissionregistration.k8s.io/v1',
    plural: 'mutatingwebhookconfigurations',
    clusterScoped: true,
  },
  ValidatingAdmissionPolicy: {
    apiVersion: 'admissionregistration.k8s.io/v1',
    plural: 'validatingadmissionpolicies',
    clusterScoped: true,
  },
  ValidatingAdmissionPolicyBinding: {
    apiVersion: 'admissionregistration.k8s.io/v1',
    plural: 'validatingadmissionpolicybindings',
    clusterScoped: true,
  },
  SubjectAccessReview: { apiVersion: 'authorization.k8s.io/v1', plural: 'subjectaccessreviews', clusterScoped: true },
} as const satisfies Record<string, { apiVersion: string; plural: string; clusterScoped?: true }>

export type Kind = keyof typeof resources

/** Returns the API group in an apiVersion, or '' for the core group. */
export const groupIn = (apiVersion: string): string => (apiVersion.includes('/') ? apiVersion.replace(/\/.*/, '') : '')

export const groupOf = (kind: Kind): string => groupIn(resources[kind].apiVersion)

export const isClusterScoped = (kind: Kind): boolean => 'clusterScoped' in resources[kind]

export const isKind = (kind: string): kind is Kind => Object.hasOwn(resources, kind)

/** Names one object, or all of its kind without `name`. */
export type Reference = { kind: Kind; namespace?: string | undefined; name?: string | undefined }

/** Returns the group and the plural of a kind, as in RBAC rules. */
export const resourceOf = (kind: Kind): { group: string; resource: string } => ({
  group: groupOf(kind),
  resource: resources[kind].plural,
})

export const apiVersionOf = (kind: Kind): string => resources[kind].apiVersion

/** Returns the path of an object or a collection on the API server. */
export const pathOf = ({ kind, namespace, name }: Reference): string => {
  const { apiVersion, plural } = resources[kind]
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const scope = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  return `${root}${scope}/${plural}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`
}

/** Names objects in messages and logs: `StatefulSet shop/web`, or `StatefulSet` for those of all namespaces. */
export const nameOf = ({
  kind,
  namespace,
  name,
}: {
  kind: string
  namespace?: string | undefined
  name?: string | undefined
}): string => {
  if (namespace === undefined) return name === undefined ? kind : `${kind} ${name}`
  return name === undefined ? `${kind} ${namespace}` : `${kind} ${namespace}/${name}`
}

/** Names the object in messages. */
export const objectKey = ({ kind, metadata: { namespace, name } }: KubernetesObject): string =>
  nameOf({ kind, namespace, name })

/** Returns the reference to an object. */
export const referenceTo = ({ kind, metadata: { namespace, name } }: KubernetesObject): Reference => ({
  kind: kind as Kind,
  namespace,
  name,
})

/** Returns the metadata that bind a write to the observed object: its uid and resourceVersion. */
export const identityOf = ({ metadata: { name, namespace, uid, resourceVersion } }: KubernetesObject): Metadata => ({
  name,
  ...(namespace && { namespace }),
  ...(uid && { uid }),
  ...(resourceVersion && { resourceVersion }),
})
