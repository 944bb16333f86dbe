import { rm } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock as clock } from '../../src/platform/base/clock.ts'
import { createKubernetes } from '../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { createTransport } from '../../src/platform/kubernetes/transport.ts'
import { startHttpBackend } from '../features/coordinated-workers/nginx/backends.ts'
import { arrived, send } from '../features/coordinated-workers/nginx/clients.ts'
import { freePorts, nginxDirectory, objection, serveFile } from '../features/coordinated-workers/nginx/nginx.ts'
import { nginxProgram } from '../features/coordinated-workers/nginx/nginx-program.ts'
import { event } from '../helpers/world.ts'
import { post, serveExample } from './helpers.ts'

const NAMESPACE = 'tempo'
const ROLES = ['querier', 'ingester', 'compactor']
const WORKERS = ROLES.map((role) => `tempo-${role}`)
const ALL = ['tempo', ...WORKERS]
const PART_OF = { 'app.kubernetes.io/part-of': 'tempo' }
const ON_MESH = {
  'istio.io/dataplane-mode': 'ambient',
  'istio.io/use-waypoint': 'tempo-beacon-waypoint',
  'istio.io/use-waypoint-namespace': 'tempo',
}

/** `npm start`, and what its cluster holds. */
const startExample = async () => {
  const server = await serveExample()
  const { url } = await server.logged('embedded Kubernetes API')
  const transport = createTransport({ server: String(url), credentials: async () => ({}) })
  onTestFinished(() => transport.close())
  const kubernetes = createKubernetes({ transport, clock, deadline: Number.POSITIVE_INFINITY })
  const find = (kind: 'StatefulSet' | 'Service' | 'ConfigMap', name: string) =>
    kubernetes.find({ kind, namespace: NAMESPACE, name })
  return {
    server,
    tell: async (type: string, application: string, data: Record<string, unknown>) => {
      const response = await post(server.url, event(type, { ...data, namespace: NAMESPACE, application }))
      const body = (await response.json()) as Record<string, unknown>
      expect(response.status).toBe(200)
      return body
    },
    labels: async (name: string) => {
      const template = (await find('StatefulSet', name))?.spec?.template as KubernetesObject | undefined
      const service = await find('Service', name)
      return [template?.metadata.labels, service?.metadata.labels]
    },
    /** The policies of the cluster. */
    policies: async () =>
      (await kubernetes.list('AuthorizationPolicy', NAMESPACE, 'meshstep.dev/application=tempo')).filter(
        ({ metadata }) => metadata.annotations?.['meshstep.dev/requested-by']?.startsWith('cluster of'),
      ),
    nginx: async () => (await find('ConfigMap', 'tempo-nginx'))?.data?.['nginx.conf'] ?? '',
    /** What the remote application says to an application. */
    told: async (application: string, remote: string) => {
      const memory = await find('ConfigMap', `juju-service-mesh-${remote}-labels`)
      type Saying = { remote: { application: string }; published?: { digest?: string } }
      type Said = { relations: Record<string, Saying>; published?: Record<string, { data: Record<string, string> }> }
      const { relations, published = {} } = JSON.parse(memory?.data?.state ?? '{}') as Said
      const relation = Object.values(relations).find((one) => one.remote.application === application)
      return published[relation?.published?.digest ?? '']?.data ?? {}
    },
  }
}

type Example = Awaited<ReturnType<typeof startExample>>

const relateAll = async ({ tell }: Example, httpPort: number): Promise<void> => {
  await tell('config-changed', 'beacon', { config: { mesh: {} } })
  await tell('config-changed', 'tempo', {
    config: {
      coordinator: {
        roles: ROLES,
        minimalDeployment: ROLES,
        telemetryProxy: { httpPort, httpsPort: httpPort + 3 },
        workerConfig: 'target: all\n',
      },
    },
  })
  for (const [index, role] of ROLES.entries()) {
    const name = `tempo-${role}`
    await tell('config-changed', name, { config: { worker: { roles: [role] } } })
    await tell('relation-changed', name, {
      relation: { id: index + 1, endpoint: 'cluster', interface: 'cluster', role: 'requires' },
      remote: { application: 'tempo', data: {} },
    })
  }
}

const MESH = {
  relation: { id: 4, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' },
  remote: { application: 'beacon', data: {} },
}

test('npm start runs a cluster of workers, on the mesh and off it', { timeout: 60_000 }, async () => {
  const port = await freePorts(4)
  const example = await startExample()
  const { tell, labels, policies, nginx, told } = example
  const own = (name: string) => ({ 'app.kubernetes.io/name': name })
  await relateAll(example, port)
  const offMesh = await nginx()
  for (const name of ALL) expect(await labels(name)).toEqual(Array(2).fill({ ...own(name), ...PART_OF }))
  expect(await policies()).toEqual([])

  const joined = await tell('relation-changed', 'tempo', MESH)
  expect(joined).toMatchObject({ messages: [], published: ['relation 4 (service-mesh) to tempo/beacon'] })
  expect(joined).not.toHaveProperty('applicationStatus')
  for (const name of ALL) expect(await labels(name)).toEqual(Array(2).fill({ ...own(name), ...PART_OF, ...ON_MESH }))
  const principals = (names: readonly string[]) => [
    { from: [{ source: { principals: names.toSorted().map((name) => `cluster.local/ns/tempo/sa/${name}`) } }] },
  ]
  expect((await policies()).map(({ spec }) => spec)).toEqual([
    { selector: { matchLabels: PART_OF }, action: 'ALLOW', rules: principals(ALL) },
    { targetRefs: [{ group: '', kind: 'Service', name: 'tempo' }], action: 'ALLOW', rules: principals(WORKERS) },
  ])
  for (const name of WORKERS) {
    const data = await told(name, 'tempo')
    expect(data.worker_config).toBe('"target: all\\n"')
    expect(JSON.parse(data.worker_labels ?? '')).toEqual({ ...PART_OF, ...ON_MESH })
  }

  await tell('relation-broken', 'tempo', { relation: { id: 4 } })
  for (const name of ALL) expect(await labels(name)).toEqual(Array(2).fill({ ...own(name), ...PART_OF }))
  expect(await policies()).toEqual([])
  expect(await nginx()).toBe(offMesh)
  for (const name of WORKERS)
    expect(await tell('resync', name, {})).toMatchObject({
      status: 'unchanged',
      written: [],
      applicationStatus: { status: 'active', message: `${name.replace('tempo-', '')} ready.` },
    })

  for (const name of ALL) await tell('application-removed', name, {})
  for (const name of ALL) expect(await labels(name)).toEqual(Array(2).fill(own(name)))
  expect(await nginx()).toBe('')
  expect(await example.server.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(example.server.errors()).toBe('')
})

test.skipIf(nginxProgram === undefined)(
  'nginx runs with the very file, and sends what workers push to where it belongs (skipped without nginx)',
  { timeout: 60_000 },
  async () => {
    const port = await freePorts(4)
    const loki = await startHttpBackend('loki')
    onTestFinished(loki.stop)
    const example = await startExample()
    await relateAll(example, port)
    await example.tell('relation-changed', 'tempo', {
      relation: { id: 5, endpoint: 'logging', interface: 'loki_push_api', role: 'requires' },
      remote: {
        application: 'loki',
        data: {},
        units: { 'loki/0': { endpoint: JSON.stringify({ url: `http://127.0.0.1:${loki.port}/loki/api/v1/push` }) } },
      },
    })
    const file = await example.nginx()
    const directory = await nginxDirectory()
    onTestFinished(() => rm(directory, { recursive: true, force: true }))
    expect(await objection(directory, file)).toBeUndefined()
    const nginx = await serveFile(file, port)
    onTestFinished(nginx.stop)

    const urls = JSON.parse((await example.told('tempo-querier', 'tempo')).loki_endpoints ?? '{}')
    expect(urls['loki/0']).toBe(`http://tempo.tempo.svc.cluster.local:${port}/proxy/loki/loki-0/push`)
    // nobody resolves names of a cluster here
    const reached = urls['loki/0'].replace('tempo.tempo.svc.cluster.local', '127.0.0.1')
    expect(await arrived(reached, { method: 'POST', body: 'a line' })).toMatchObject({
      at: 'loki',
      url: '/loki/api/v1/push',
      body: 'a line',
    })
    expect(await send(`http://127.0.0.1:${port}/`)).toEqual({ status: 200, text: 'OK' })
    expect((await send(`http://127.0.0.1:${port}/proxy/loki/loki-9/push`)).status).toBe(503)
  },
)
