import { mapOf, parsed } from '../../platform/base/json.ts'
import type { Transport } from '../../platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'

/** A part of a Kubernetes object that a check looks at. */
export type Seen = Pick<KubernetesObject, 'metadata' | 'data' | 'spec'> & {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[]
    readonly desiredNumberScheduled?: number
    readonly numberReady?: number
    readonly availableReplicas?: number
  }
}

/** A list, or the reason why it is not known. An API that is not served has an empty one. */
export type Listed = { readonly items: readonly Seen[] } | { readonly unknown: string }

/** The facts that checks judge. */
export type Facts = {
  readonly namespace: string
  /** The ServiceAccount of the functions. */
  readonly account: string
  /** `v1.36.0` */
  readonly kubernetes: string
  /** The served versions of API groups, such as `security.istio.io/v1`. */
  readonly served: readonly string[]
  /** The difference between the clock of the API server and that of this machine, in milliseconds. */
  readonly skew: number | undefined
  readonly lists: Readonly<Record<ListName, Listed>>
  /** The rights of the account of the functions that are missing, or the reason why that is not known. */
  readonly rights: { readonly missing: readonly string[] } | { readonly unknown: string }
}

const INSTALLED = '?labelSelector=app.kubernetes.io%2Fpart-of%3Dmeshstep'

/** The lists that are read, with their paths. */
const PATHS = {
  istiod: () => '/apis/apps/v1/deployments?labelSelector=app%3Distiod',
  ztunnel: () => '/apis/apps/v1/daemonsets?labelSelector=app%3Dztunnel',
  cni: () => '/apis/apps/v1/daemonsets?labelSelector=k8s-app%3Distio-cni-node',
  serving: () => '/apis/apps/v1/namespaces/knative-serving/deployments',
  eventing: () => '/apis/apps/v1/namespaces/knative-eventing/deployments',
  features: () => '/api/v1/namespaces/knative-eventing/configmaps',
  services: (namespace: string) => `/apis/serving.knative.dev/v1/namespaces/${namespace}/services${INSTALLED}`,
  brokers: (namespace: string) => `/apis/eventing.knative.dev/v1/namespaces/${namespace}/brokers${INSTALLED}`,
  triggers: (namespace: string) => `/apis/eventing.knative.dev/v1/namespaces/${namespace}/triggers${INSTALLED}`,
  sources: (namespace: string) => `/apis/sources.knative.dev/v1/namespaces/${namespace}/apiserversources${INSTALLED}`,
  pings: (namespace: string) => `/apis/sources.knative.dev/v1/namespaces/${namespace}/pingsources${INSTALLED}`,
  bindings: (namespace: string) => `/apis/sources.knative.dev/v1/namespaces/${namespace}/sinkbindings${INSTALLED}`,
} as const
export type ListName = keyof typeof PATHS

/** The rights that a step needs, as in the Role `meshstep-step`. */
export const RIGHTS: readonly (readonly [group: string, resource: string, verbs: readonly string[]])[] = [
  ['', 'configmaps', ['get', 'list', 'create', 'update', 'patch', 'delete']],
  ['apps', 'statefulsets', ['get', 'list', 'create', 'patch', 'delete']],
  ['apps', 'deployments', ['get', 'list', 'create', 'patch', 'delete']],
  ['policy', 'poddisruptionbudgets', ['get', 'list', 'create', 'patch', 'delete']],
  ['', 'services', ['get', 'list', 'create', 'patch', 'delete']],
  ['', 'serviceaccounts', ['get', 'list', 'create', 'patch', 'delete']],
  ['', 'secrets', ['get', 'create', 'patch', 'delete']],
  ['', 'pods', ['get', 'list', 'patch']],
  ['gateway.networking.k8s.io', 'gateways', ['get', 'list', 'create', 'patch', 'delete']],
  ['autoscaling', 'horizontalpodautoscalers', ['get', 'list', 'create', 'patch', 'delete']],
  ['security.istio.io', 'authorizationpolicies', ['get', 'list', 'create', 'patch', 'delete']],
  ['events.k8s.io', 'events', ['create', 'patch']],
  ['', 'namespaces', ['get']],
]

const CALL_MILLISECONDS = 10_000

/** Reads the facts, with GET and reviews of rights alone. Rejects if the API server does not answer. */
export const readFacts = async (transport: Transport, namespace: string, account: string): Promise<Facts> => {
  const call = callOver(transport)
  const began = Date.now()
  const version = await call('GET', '/version')
  const halfway = (began + Date.now()) / 2
  const groups = await call('GET', '/apis')
  const names = Object.keys(PATHS) as ListName[]
  const lists = await Promise.all(names.map(async (name) => [name, await list(call, PATHS[name](namespace))] as const))
  const date = Date.parse(String(version.headers.date))
  return {
    ...{ namespace, account },
    kubernetes: String(version.json.gitVersion ?? ''),
    served: ((groups.json.groups ?? []) as readonly Group[]).flatMap(({ versions }) =>
      versions.map(({ groupVersion }) => groupVersion),
    ),
    skew: Number.isNaN(date) ? undefined : date - halfway,
    lists: Object.fromEntries(lists) as Facts['lists'],
    rights: await rightsOf(call, namespace, account),
  }
}

type Call = ReturnType<typeof callOver>

const callOver = (transport: Transport) => async (method: 'GET' | 'POST', path: string, body?: object) => {
  const headers = { accept: 'application/json', ...(body && { 'content-type': 'application/json' }) }
  const text = body && JSON.stringify(body)
  const answer = await transport({ method, path, headers, body: text, timeoutMilliseconds: CALL_MILLISECONDS })
  const json: Readonly<Record<string, unknown>> = mapOf(parsed(answer.body))
  return { ...answer, json }
}

const list = async (call: Call, path: string): Promise<Listed> => {
  const { status, json } = await call('GET', path)
  if (status === 404) return { items: [] }
  if (status !== 200) return { unknown: `GET ${path.replace(/\?.*/, '')}: ${status} ${json.message ?? ''}`.trim() }
  return { items: (json.items ?? []) as readonly Seen[] }
}

const rightsOf = async (call: Call, namespace: string, account: string): Promise<Facts['rights']> => {
  const user = `system:serviceaccount:${namespace}:${account}`
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated']
  const missing: string[] = []
  for (const [group, resource, verb] of RIGHTS.flatMap(([g, r, verbs]) => verbs.map((v) => [g, r, v] as const))) {
    const spec = { user, groups, resourceAttributes: { namespace, group, resource, verb } }
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
    const { status, json } = await call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review)
    if (status !== 201) return { unknown: `SubjectAccessReview: ${status} ${json.message ?? ''}`.trim() }
    const { allowed } = (json.status ?? {}) as { allowed?: boolean }
    if (allowed !== true) missing.push(`${verb} ${resource}${group && `.${group}`}`)
  }
  return { missing }
}

type Group = { readonly versions: readonly { readonly groupVersion: string }[] }
