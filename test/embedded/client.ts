import { createEmbeddedApi, type EmbeddedApi, type EmbeddedApiOptions } from '../../src/embedded/api/api.ts'

type Body = Record<string, unknown>

export const TYPES = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const

// biome-ignore lint/suspicious/noExplicitAny: answers are whatever the server says, and each test asserts the part it is about
export type Answered = { status: number; object: any }

export type Client = {
  api: EmbeddedApi
  call(method: string, path: string, body?: unknown, type?: string): Answered
  get(path: string): Answered
  post(path: string, body: Body): Answered
  put(path: string, body: Body): Answered
  patch(path: string, kind: keyof typeof TYPES, body: unknown): Answered
  delete(path: string, body?: Body): Answered
}

/** A server with deterministic uids and a clock that moves one second per reading, and short forms of calls on it. */
export const createClient = (options: EmbeddedApiOptions = {}): Client => {
  let uids = 0
  let seconds = 0
  const api = createEmbeddedApi({
    uid: () => `00000000-0000-4000-8000-${String(++uids).padStart(12, '0')}`,
    now: () => new Date(Date.UTC(2030, 0, 1) + 1000 * ++seconds),
    ...options,
  })
  const call: Client['call'] = (method, path, body, type = 'application/json') => {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const headers = { 'user-agent': 'tester/1.0', ...(body === undefined ? {} : { 'content-type': type }) }
    const answer = api.handle({ method, path, headers, ...(text === undefined ? {} : { body: text as string }) })
    const isJson = answer.headers['content-type'] === 'application/json'
    return { status: answer.status, object: isJson ? JSON.parse(answer.body) : answer.body }
  }
  return {
    api,
    call,
    get: (path) => call('GET', path),
    post: (path, body) => call('POST', path, body),
    put: (path, body) => call('PUT', path, body),
    patch: (path, kind, body) => call('PATCH', path, body, TYPES[kind]),
    delete: (path, body) => call('DELETE', path, body),
  }
}

export const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
export const STATEFUL_SETS = '/apis/apps/v1/namespaces/default/statefulsets'
export const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
export const PODS = '/api/v1/namespaces/default/pods'
export const SERVICES = '/api/v1/namespaces/default/services'
export const POLICIES = '/apis/security.istio.io/v1/namespaces/default/authorizationpolicies'

export const configMap = (name: string, data?: Record<string, string>, metadata: Body = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  ...(data && { data }),
})

export const workload = (kind: 'StatefulSet' | 'Deployment', spec: Body = {}, labels: Record<string, string> = {}) => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name: 'web' },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web', ...labels } },
      spec: { containers: [{ name: 'c', image: 'example.invalid/x:1' }] },
    },
    ...spec,
  },
})

/** `alpha Apply {"f:data":…}`: who owns what, without times. */
export const owners = (object: Body): string[] =>
  (((object.metadata as Body).managedFields as Body[] | undefined) ?? []).map(
    ({ manager, operation, subresource, fieldsV1 }) =>
      [manager, operation, subresource, JSON.stringify(fieldsV1)].filter((part) => part !== undefined).join(' '),
  )
