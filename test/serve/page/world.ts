import pMap from 'p-map'
import { onTestFinished } from 'vitest'
import { createEmbeddedApi, type EmbeddedApi } from '../../../src/embedded/api/api.ts'
import { istioConfig } from '../../../src/embedded/demo/example.ts'
import { startIstio } from '../../../src/embedded/demo/istio.ts'
import type { TransportAnswer, TransportRequest } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { type RunningServer, startServer } from '../../../src/serve/http/server.ts'
import { readSettings } from '../../../src/serve/http/settings.ts'
import { findAssets } from '../../../src/serve/page/assets.ts'
import { mountPage } from '../../../src/serve/page/page.ts'
import { story } from '../../../src/serve/page/story.ts'

const silent = () => undefined

export type Options = {
  readonly port?: number
  readonly isReading?: boolean
  readonly audience?: string
  /** The URL of a Prometheus. */
  readonly prometheus?: string
  /** Answers in place of the API server. */
  readonly intercept?: (request: TransportRequest) => TransportAnswer | undefined
}

/** The functions with the page, on an API that is in this process. */
export const startPage = async (
  api: EmbeddedApi,
  { port = 0, isReading = false, audience, prometheus, intercept = silent }: Options = {},
): Promise<RunningServer> =>
  await startServer({
    settings: readSettings({ PORT: String(port), EVENT_AUDIENCE: audience, PROMETHEUS_URL: prometheus }),
    names: [],
    transport: async (request) => intercept(request) ?? (await api.handle(request)),
    log: { info: silent, warn: silent, error: silent },
    isReading,
    mount: (app, questions) =>
      mountPage(app, questions, { assets: findAssets(), audience, ...(isReading ? { home: 'shop' } : { story }) }),
  })

/** The same beside Istio, until the end of the test. */
export const serve = async (api: EmbeddedApi, options?: Options): Promise<RunningServer> => {
  const istio = startIstio({ api })
  const server = await startPage(api, options)
  onTestFinished(async () => {
    istio.stop()
    await server.stop()
  })
  return server
}

/** An application off the mesh, as Juju deploys it. */
export const deployed = (namespace: string, name: string, port = 8080): KubernetesObject[] => {
  const labels = { 'app.kubernetes.io/name': name }
  const template = { metadata: { labels }, spec: { serviceAccountName: name, containers: [{ name, image: 'x:1' }] } }
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name, namespace, labels },
      spec: { replicas: 1, serviceName: name, selector: { matchLabels: labels }, template },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace, labels },
      spec: { selector: labels, ports: [{ port }] },
    },
  ]
}

/** Sends an event and fails unless it is taken. */
export const tell = async (url: string, type: string, subject: string, data: unknown): Promise<unknown> => {
  const event = { specversion: '1.0', id: crypto.randomUUID(), source: '/test', subject, data }
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/cloudevents+json' },
    body: JSON.stringify({ ...event, type: `dev.meshstep.${type}.v1`, time: new Date().toISOString() }),
  })
  if (!response.ok) throw new Error(await response.text())
  return await response.json()
}

const TEAMS = ['cart', 'catalog', 'checkout', 'loyalty', 'orders', 'payments', 'reviews', 'search', 'shipping']
const TIERS = ['web', 'api', 'worker', 'cache', 'db']
const ROLES = ['querier', 'ingester', 'compactor']

const allow = (relation: string, port: number, methods?: string[], paths?: string[]) => ({
  ...{ type: 'app', relation },
  endpoints: [{ ports: [port], ...(methods && { methods }), ...(paths && { paths }) }],
})

const POLICIES: Readonly<Record<string, object[]>> = {
  api: [allow('api', 8080, ['GET', 'POST'], ['/v1/*'])],
  cache: [allow('cache', 8080)],
  db: [allow('database', 8080)],
}

type Sending = readonly [type: string, application: string, data: unknown]

/** 50 applications of a shop: nine teams of five, one of them off the mesh and one audited, and a cluster that takes their traces. */
export const shop = async (): Promise<readonly KubernetesObject[]> => {
  const api = createEmbeddedApi()
  startIstio({ api })
  const names = [
    ...TEAMS.flatMap((team) => TIERS.map((tier) => `${team}-${tier}`)),
    'tempo',
    ...ROLES.map((role) => `tempo-${role}`),
  ]
  api.seed(
    names.filter((name) => name !== 'loyalty-worker').flatMap((name) => deployed('shop', name)),
    { manager: 'juju' },
  )
  const server = await startPage(api)
  const send = ([type, application, data]: Sending) => tell(server.url, type, `shop/${application}`, data)
  for (const stage of stages(names)) await pMap(stage, send, { concurrency: 8 })
  await server.stop()
  return kept(api, 'shop')
}

const stages = (names: readonly string[]): Sending[][] => {
  let id = 0
  const relation = (own: string, endpoint: string, remote: string, name = 'http', role = 'provides'): Sending => {
    id += 1
    const data = { relation: { id, endpoint, interface: name, role }, remote: { application: remote, data: {} } }
    return ['relation-changed', own, data]
  }
  const configs = names.flatMap((name): Sending[] => {
    const policies = POLICIES[name.split('-')[1] ?? '']
    const audit = name.startsWith('reviews-') ? { enforcement: 'audit' } : {}
    return policies ? [['config-changed', name, { config: { policies, ...audit } }]] : []
  })
  const members = names.filter((name) => !name.startsWith('search-') && !name.startsWith('tempo-'))
  const cluster = ROLES.map((role) => `tempo-${role}`)
  const coordinator = {
    ...{ roles: ROLES, minimalDeployment: ROLES },
    telemetryProxy: { httpPort: 3300, httpsPort: 3301 },
  }
  return [
    [
      ['config-changed', 'mesh', { config: { mesh: {} } }],
      ['config-changed', 'tempo', { config: { coordinator, policies: [allow('tracing', 8080)] } }],
      ...configs,
    ],
    cluster.map((name) => ['config-changed', name, { config: { worker: { roles: [name.slice('tempo-'.length)] } } }]),
    cluster.map((name) => relation(name, 'cluster', 'tempo', 'cluster', 'requires')),
    members.map((name) => relation(name, 'service-mesh', 'mesh', 'service_mesh', 'requires')),
    TEAMS.flatMap((team, index) => [
      relation(`${team}-api`, 'api', `${team}-web`),
      relation(`${team}-cache`, 'cache', `${team}-api`),
      relation(`${team}-db`, 'database', `${team}-api`),
      relation(`${team}-db`, 'database', `${team}-worker`),
      ...(index % 3 === 2 ? [relation(`${TEAMS[index - 1]}-api`, 'api', `${team}-api`)] : []),
      ...(index % 3 === 0 ? [relation('tempo', 'tracing', `${team}-api`, 'tracing')] : []),
    ]),
  ]
}

/** Five applications as Istio's example has them; `reviews` is open, as it says nothing. */
export const bookinfo = async (): Promise<EmbeddedApi> => {
  const api = createEmbeddedApi()
  const istio = startIstio({ api })
  const names = ['productpage', 'details', 'reviews', 'ratings']
  api.seed([istioConfig, ...names.flatMap((name) => deployed('bookinfo', name, 9080))], { manager: 'juju' })
  const server = await startPage(api)
  for (const { event } of story.slice(0, 5)) await tell(server.url, event.type, event.subject, event.data)
  const relate = (own: string, id: number, endpoint: string, name: string, role: string, application: string) =>
    tell(server.url, 'relation-changed', `bookinfo/${own}`, {
      relation: { id, endpoint, interface: name, role },
      remote: { application, data: {} },
    })
  const config = { policies: [allow('ratings', 9080, ['GET'], ['/ratings/*'])] }
  await tell(server.url, 'config-changed', 'bookinfo/ratings', { config })
  await relate('reviews', 4, 'service-mesh', 'service_mesh', 'requires', 'beacon')
  await relate('ratings', 5, 'service-mesh', 'service_mesh', 'requires', 'beacon')
  await relate('ratings', 6, 'ratings', 'http', 'provides', 'reviews')
  await relate('reviews', 7, 'reviews', 'http', 'provides', 'productpage')
  await server.stop()
  istio.stop()
  return api
}

/** The objects of a namespace, but for those that an API makes itself. */
export const kept = (api: EmbeddedApi, namespace: string): KubernetesObject[] =>
  api
    .objects()
    .filter(({ kind, metadata }) => metadata.namespace === namespace && !['Pod', 'ServiceAccount'].includes(kind))

/** The same applications once more in other namespaces. */
export const copies = (objects: readonly KubernetesObject[], namespaces: readonly string[]): KubernetesObject[] =>
  namespaces.flatMap((namespace) =>
    objects.map((object) => JSON.parse(JSON.stringify(object).replaceAll(/\bshop\b/g, namespace)) as KubernetesObject),
  )

/** An API that holds what Juju has made, and memories, and what meshstep makes of these. */
export const settled = async (objects: readonly KubernetesObject[]): Promise<EmbeddedApi> => {
  const made = 'app.kubernetes.io/managed-by'
  const api = createEmbeddedApi()
  const istio = startIstio({ api })
  const given = objects.filter(
    ({ kind, metadata: { labels = {} } }) => kind === 'ConfigMap' || labels[made] !== 'meshstep',
  )
  api.seed([istioConfig, ...given], { manager: 'juju' })
  const server = await startPage(api)
  const applications = objects.flatMap(({ metadata: { namespace, labels = {} } }) => {
    const application = labels['meshstep.dev/application']
    return application === undefined ? [] : [`${namespace}/${application}`]
  })
  const send = (subject: string) => tell(server.url, 'resync', subject, {})
  for (let round = 0; round < 2; round += 1) await pMap(new Set(applications), send, { concurrency: 8 })
  await server.stop()
  istio.stop()
  return api
}

/** An API that holds objects. */
export const holding = (objects: readonly KubernetesObject[]): EmbeddedApi => {
  const api = createEmbeddedApi()
  api.seed(objects, { manager: 'juju' })
  return api
}

export const REGIONS = [
  'shop-ams',
  'shop-ber',
  'shop-cph',
  'shop-dub',
  'shop-gva',
  'shop-lis',
  'shop-mad',
  'shop-osl',
  'shop-par',
  'shop-rom',
]
