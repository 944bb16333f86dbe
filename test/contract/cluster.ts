import { createHandler } from '../../src/core/events/handle.ts'
import { createQueue } from '../../src/core/events/queue.ts'
import type { Handled } from '../../src/core/reconcile/outcome.ts'
import { createStep } from '../../src/core/reconcile/step.ts'
import { createEmbeddedApi, type EmbeddedApiOptions } from '../../src/embedded/api/api.ts'
import { startEmbeddedApi } from '../../src/embedded/api/server.ts'
import { features } from '../../src/features.ts'
import { systemClock as clock } from '../../src/platform/base/clock.ts'
import type { Event } from '../../src/platform/cloudevents/cloud-event.ts'
import { ApiError } from '../../src/platform/kubernetes/api-error.ts'
import {
  createKubernetes,
  type Kubernetes,
  type Transport,
  type TransportAnswer,
  type TransportRequest,
} from '../../src/platform/kubernetes/client.ts'
import { kubeconfigEndpoint } from '../../src/platform/kubernetes/kubeconfig.ts'
import { type Kind, type KubernetesObject, pathOf } from '../../src/platform/kubernetes/objects.ts'
import { type ApiServerEndpoint, createTransport } from '../../src/platform/kubernetes/transport.ts'
import { type ApplicationView, createApplications } from '../../src/serve/http/applications.ts'
import { functions } from '../helpers/functions.ts'
import { buildCombination } from '../knative/builds.ts'
import type { KubeObject } from '../knative/kinds.ts'
import { until } from '../process/helpers.ts'
import { createDoor } from './door.ts'
import { createRbac } from './rbac.ts'

/** Who made the objects, as the API server sees it. */
export const CREATOR = 'juju'

/** The tests touch a cluster only when they are told to, by `npm run test:contract`. */
const clusterOf = ({ MESHSTEP_CONTRACT, KUBECONFIG }: NodeJS.ProcessEnv): string | undefined =>
  MESHSTEP_CONTRACT === 'cluster' ? KUBECONFIG : undefined

/** Why what the embedded API does not do is not tested, to be shown as the name of the skipped tests. */
export const noCluster = clusterOf(process.env) ? undefined : 'needs a cluster: npm run test:contract'

/**
 * A namespace of its own on the cluster that KUBECONFIG names, or else on an embedded API over HTTP. On a cluster the functions run as the
 * manifests' own account, with the rights that the manifests give it.
 */
export type Cluster = {
  readonly namespace: string
  /** An administrator's. */
  readonly kubernetes: Kubernetes
  /** One of another user, as an administrator may impersonate any. */
  as(user: string): Kubernetes
  /**
   * Makes objects of any kind, and removes those that are in no namespace when the cluster is closed. Without a cluster Roles and RoleBindings
   * decide about applications alone.
   */
  install(objects: readonly KubeObject[]): Promise<void>
  create(object: KubernetesObject): Promise<KubernetesObject>
  /** The object as it is now; fails when there is none. */
  read(object: KubernetesObject): Promise<KubernetesObject>
  /** A merge patch by another field manager. */
  merge(object: KubernetesObject, patch: unknown, manager: string): Promise<void>
  /** Deletes an object, whatever its version, and waits until it is gone. */
  erase(object: KubernetesObject): Promise<void>
  /** Hands an event to the functions, over this cluster. */
  send(name: string, data: Record<string, unknown>): Promise<Handled>
  /** Hands an object to the functions, as Knative's ApiServerSource does. */
  hear(verb: 'add' | 'update' | 'delete', object: KubernetesObject): Promise<Handled>
  /**
   * Sends an event to a server of the functions that authenticates, and is its own sink, with the token of a ServiceAccount of the namespace. It
   * needs the rights of `components/authentication`.
   */
  post(event: Event, account: string): Promise<Response>
  /** Reads any path of the API server. */
  get(path: string): Promise<unknown>
  /** Makes an object of any kind, and answers what the API server made of it. */
  make(object: KubernetesObject): Promise<KubernetesObject>
  /** Deletes an object of any kind. */
  drop(object: KubernetesObject): Promise<void>
  /** A merge patch of what the kubelet tells of a pod. */
  report(pod: KubernetesObject, status: Record<string, unknown>): Promise<void>
  /** What is told of an application to whoever asks. */
  view(application: string): Promise<ApplicationView>
  close(): Promise<void>
}

/** The kinds of the manifests that say who may do what. */
const RIGHTS = ['ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding']

export const openCluster = async (components: readonly string[] = []): Promise<Cluster> => {
  const namespace = `meshstep-contract-${crypto.randomUUID().slice(0, 8)}`
  const audience = `meshstep.${namespace}`
  const tokens: Record<string, string> = {}
  const rbac = createRbac()
  const reviewers = { tokens, audiences: [audience], allows: rbac.allows }
  const { endpoint, close } = await endpointFor(clusterOf(process.env), reviewers)
  const transport = createTransport(endpoint)
  const through = (user: string | undefined): Transport => {
    const impersonate: Record<string, string> = user === undefined ? {} : { 'impersonate-user': user }
    return (request) => transport({ ...request, headers: { ...request.headers, ...impersonate } })
  }
  const as = (user: string | undefined) => (deadline: number) =>
    createKubernetes({ transport: through(user), clock, deadline })
  const kubernetes = as(undefined)(Number.POSITIVE_INFINITY)
  const own = noCluster ? undefined : `system:serviceaccount:${namespace}:meshstep`
  const connect = as(own)
  const timeoutMilliseconds = 20_000
  const environment = { resolver: '10.96.0.10' }
  const step = createStep({ features, connect, clock, environment })
  const handle = createHandler({
    features,
    functions,
    step,
    enqueue: createQueue(step),
    connect,
    publish: async () => undefined,
    clock,
    timeoutMilliseconds,
  })

  const applications = createApplications({ features, connect, clock, environment, timeoutMilliseconds })

  type Call = { method: TransportRequest['method']; path: string; body?: unknown; contentType?: string }
  const call = async ({ method, path, body, contentType = 'application/json' }: Call): Promise<TransportAnswer> => {
    const headers = { accept: 'application/json', 'content-type': contentType }
    const text = body === undefined ? undefined : JSON.stringify(body)
    const answer = await transport({ method, path, headers, body: text, timeoutMilliseconds })
    if (answer.status >= 300) throw new ApiError(`${method} ${path}`, answer.status, answer.body)
    return answer
  }

  const get = async (path: string): Promise<unknown> => JSON.parse((await call({ method: 'GET', path })).body)

  const requestToken = async (account: string): Promise<string> => {
    const user = `system:serviceaccount:${namespace}:${account}`
    if (noCluster) {
      tokens[user] = user
      return user
    }
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`
    const kind = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' }
    const { body } = await call({ method: 'POST', path, body: { ...kind, spec: { audiences: [audience] } } })
    return (JSON.parse(body) as { status: { token: string } }).status.token
  }
  const door = createDoor({ audience, transport: through(own), environment, requestToken })

  await call({
    method: 'POST',
    path: '/api/v1/namespaces',
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
  })
  const clusterScoped: string[] = []
  const install = async (objects: readonly KubeObject[]): Promise<void> => {
    for (const object of objects) {
      if (noCluster && /^Role/.test(object.kind)) {
        rbac.add(object)
        continue
      }
      const path = collectionOf(object)
      await call({ method: 'POST', path, body: object })
      if (!path.includes('/namespaces/')) clusterScoped.push(`${path}/${object.metadata.name}`)
    }
  }
  if (!noCluster) {
    await install(buildCombination(components, namespace).filter(({ kind }) => RIGHTS.includes(kind)))
    const account = connect(Number.POSITIVE_INFINITY)
    const mayNot = (error: unknown) =>
      error instanceof ApiError && error.status === 403 ? undefined : Promise.reject(error)
    await until('the account has its rights', () => account.list('ConfigMap', namespace).catch(mayNot))
  }
  return {
    namespace,
    kubernetes,
    as: (user) => as(user)(Number.POSITIVE_INFINITY),
    install,
    // a pod is refused until its namespace has a service account
    create: (object) =>
      until(`${object.kind} is created`, () =>
        kubernetes.create(object, CREATOR).catch((error: unknown) => {
          if (!(error instanceof ApiError && error.status === 403)) throw error
          return undefined
        }),
      ),
    read: async (object) => {
      const found = await kubernetes.find(referenceTo(object))
      if (!found) throw new Error(`${object.kind} ${object.metadata.name} is not there`)
      return found
    },
    merge: async (object, patch, manager) => {
      const path = `${pathOf(referenceTo(object))}?fieldManager=${manager}`
      await call({ method: 'PATCH', path, body: patch, contentType: 'application/merge-patch+json' })
    },
    erase: async (object) => {
      await call({ method: 'DELETE', path: pathOf(referenceTo(object)) })
      await until(`${object.kind} is gone`, async () => (await kubernetes.find(referenceTo(object))) === undefined)
    },
    get,
    post: door.post,
    view: (application) => applications.one({ namespace, application }),
    make: async (object) => {
      const { body } = await call({ method: 'POST', path: collectionOf(object as KubeObject), body: object })
      return JSON.parse(body) as KubernetesObject
    },
    drop: async (object) => {
      await call({ method: 'DELETE', path: `${collectionOf(object as KubeObject)}/${object.metadata.name}` })
    },
    report: async (pod, status) => {
      const path = `${pathOf(referenceTo(pod))}/status`
      await call({ method: 'PATCH', path, body: { status }, contentType: 'application/merge-patch+json' })
    },
    hear: (verb, data) => {
      const type = `dev.knative.apiserver.resource.${verb}`
      return handle({ id: crypto.randomUUID(), source: '/contract', type, extensions: {}, data }, {})
    },
    send: (name, data) =>
      handle(
        {
          id: crypto.randomUUID(),
          source: '/contract',
          type: `dev.meshstep.${name}.v1`,
          extensions: {},
          data: { namespace, ...data },
        },
        {},
      ),
    close: async () => {
      await door.finish()
      for (const path of clusterScoped) await call({ method: 'DELETE', path })
      const own = await kubernetes.find({ kind: 'Namespace', name: namespace })
      if (own) await call({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}` })
      transport.close()
      await close()
    },
  }
}

const endpointFor = async (
  files: string | undefined,
  options: EmbeddedApiOptions,
): Promise<{ endpoint: ApiServerEndpoint; close(): Promise<void> }> => {
  if (files) return { endpoint: kubeconfigEndpoint(files), close: async () => undefined }
  const { url, close } = await startEmbeddedApi({ api: createEmbeddedApi(options), port: 0 })
  return { endpoint: { server: url, credentials: async () => ({}) }, close }
}

/** Where objects of a kind are made: its plural is regular. */
const collectionOf = ({ apiVersion, kind, metadata: { namespace } }: KubeObject): string => {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const isNamespaced = !/^(Cluster|Validating|Mutating|Namespace)/.test(kind)
  const plural = `${kind.toLowerCase()}s`.replace(/([^aeiou])ys$/, '$1ies')
  return `${root}${isNamespaced ? `/namespaces/${namespace}` : ''}/${plural}`
}

const referenceTo = ({ kind, metadata: { namespace, name } }: KubernetesObject) => ({
  kind: kind as Kind,
  namespace,
  name,
})

const uniqueName = (): string => `web-${crypto.randomUUID().slice(0, 8)}`

/** A ConfigMap of a new name. */
export const configMap = (namespace: string, labels: Record<string, string> = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: uniqueName(), namespace, labels },
  data: { one: '1' },
})

const podSpec = { containers: [{ name: 'x', image: 'example.invalid/x:1' }] }

/** A workload without pods, of a new name. */
export const workload = (
  kind: 'StatefulSet' | 'Deployment',
  namespace: string,
  labels: Record<string, string> = {},
): KubernetesObject => {
  const name = uniqueName()
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, namespace },
    spec: {
      replicas: 0,
      ...(kind === 'StatefulSet' && { serviceName: name }),
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name, ...labels } }, spec: podSpec },
    },
  }
}

export const service = (
  namespace: string,
  labels: Record<string, string> = {},
  name: string = uniqueName(),
): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace, labels: { app: name, ...labels } },
  spec: { selector: { app: name }, ports: [{ port: 80 }] },
})

/** A pod on its own, which no scheduler takes: its image is never looked for. */
export const pod = (namespace: string, labels: Record<string, string> = {}): KubernetesObject => {
  const name = uniqueName()
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { app: name, ...labels } },
    spec: { ...podSpec, schedulerName: 'example.invalid' },
  }
}

/** Tells if the pods of a workload are those that it asks for now. */
export const isRolledOut = ({ metadata, spec, status }: KubernetesObject): boolean => {
  const { observedGeneration, replicas, updatedReplicas, readyReplicas } = (status ?? {}) as Record<string, number>
  const counts = [replicas, updatedReplicas, readyReplicas]
  return observedGeneration === metadata.generation && counts.every((count) => count === spec?.replicas)
}
