import { describe, expect, test } from 'vitest'
import {
  COORDINATOR,
  COORDINATOR_CONFIG,
  configure,
  createCluster,
  locations,
  meshOf,
  nginxFile,
  relate,
  relationTo,
  scale,
  startedCluster,
  toldBy,
} from '../../helpers/cluster.ts'
import { isWrite, NAMESPACE, type World } from '../../helpers/world.ts'
import { hasOpenssl } from '../../process/https-server.ts'
import { makeCertificate } from './nginx/certificate.ts'
import { linesOf } from './nginx/nginx-file.ts'

const tell = (world: World, told: object) => world.send('relation-changed', { application: COORDINATOR, ...told })

const loki = (id: number, urls: readonly string[], name = 'loki') =>
  relationTo(name, id, 'logging', {
    units: Object.fromEntries(urls.map((url, number) => [`${name}/${number}`, { endpoint: JSON.stringify({ url }) }])),
  })

const HASH = 'meshstep.dev/nginx-hash'

const hashOn = (world: World, application = COORDINATOR): string | undefined => {
  const spec = world.object('StatefulSet', application)?.spec as {
    template: { metadata: { annotations?: Record<string, string> } }
  }
  return spec.template.metadata.annotations?.[HASH]
}

describe('one relation that is too much', () => {
  test('one relation that is too much is named and left out, and all others are routed, now and later', async () => {
    const world = await startedCluster()
    await tell(world, loki(20, ['http://loki-0.example/push']))
    const odd = Array.from({ length: 400 }, (_, number) => `http://loki-${number}.example/${'$'.repeat(440)}`)
    const handled = await tell(world, loki(21, odd, 'odd'))
    expect(handled).toMatchObject({
      messages: [expect.stringMatching(/^relation 21 \(logging\): not routed: its 400 addresses take up to/)],
    })
    expect(locations(world)).toContain('= /proxy/loki/loki-0/push')
    await tell(world, loki(22, ['http://other.example/push'], 'other'))
    expect(locations(world)).toContain('= /proxy/loki/other-0/push')
    expect(locations(world).join()).not.toContain('odd')
    await tell(world, loki(21, ['http://odd.example/push'], 'odd'))
    expect(locations(world)).toContain('= /proxy/loki/odd-0/push')
  })

  test('one relation that is too much is left out as well where workers send straight to it: the memory has no room for more', async () => {
    const world = await startedCluster({ telemetryProxy: undefined })
    const long = Array.from({ length: 400 }, (_, number) => `http://loki-${number}.example/${'x'.repeat(1900)}`)
    await tell(world, loki(21, long))
    expect(toldBy(world, COORDINATOR, 'querier').loki_endpoints).toEqual({})
  })
})

describe('a second backend of remote write behind one ingress', () => {
  const ingress = (id: number, name: string) =>
    relationTo(name, id, 'send-remote-write', {
      units: { [`${name}/0`]: { remote_write: JSON.stringify({ url: `http://ingress.example/${name}/write` }) } },
    })

  test('a second backend of remote write behind one ingress leaves the path of the first one as it was, when it comes and when it goes', async () => {
    const world = await startedCluster()
    const told = () => toldBy(world, COORDINATOR, 'querier').remote_write_endpoints
    await tell(world, ingress(20, 'prometheus'))
    const [first] = told() as { url: string }[]
    await tell(world, ingress(21, 'mimir'))
    expect(told()).toEqual(expect.arrayContaining([first]))
    expect(told()).toHaveLength(2)
    await world.send('relation-broken', { application: COORDINATOR, relation: { id: 21 } })
    expect(told()).toEqual([first])
  })
})

describe('a unit that goes', () => {
  const routed = (world: World): string[] =>
    locations(world).flatMap((line) => /worker\/(.*)\/metrics/.exec(line)?.[1] ?? [])
  const principals = (world: World): string[] => {
    const found = world.api.objects().filter(({ kind }) => kind === 'AuthorizationPolicy')
    return [...JSON.stringify(found).matchAll(/\/sa\/([-a-z0-9]+)/g)].map(([, name = '']) => name)
  }

  test('a unit that goes takes its routes, its part in a role and its access with it, at the worker’s next event whatever that is', async () => {
    const world = await startedCluster()
    await tell(world, meshOf())
    expect(routed(world)).toContain('querier-1')
    await scale(world, 'querier', 1)
    await world.send('leader-elected', { application: 'querier', unit: 'querier/0' })
    expect(routed(world)).toEqual(expect.arrayContaining(['querier-0', 'ingester-0', 'ingester-1']))
    expect(routed(world)).not.toContain('querier-1')
    expect(principals(world)).toContain('querier')

    await scale(world, 'querier', 0)
    await world.send('leader-elected', { application: 'querier', unit: 'querier/0' })
    expect(routed(world).join()).not.toContain('querier')
    expect(principals(world)).not.toContain('querier')
    const answer = await world.app.request(`/applications/${NAMESPACE}/${COORDINATOR}`)
    expect(await answer.json()).toMatchObject({
      status: { status: 'blocked', message: '[consistency] Cluster inconsistent. Missing roles: querier.' },
    })

    await scale(world, 'querier', 2)
    await world.send('leader-elected', { application: 'querier', unit: 'querier/0' })
    expect(routed(world)).toEqual(expect.arrayContaining(['querier-0', 'querier-1']))
    expect(principals(world)).toContain('querier')
  })

  test('a unit that goes is told of in the step that saw it, and in no step after it', async () => {
    const world = await startedCluster()
    await scale(world, 'querier', 1)
    await world.send('leader-elected', { application: 'querier', unit: 'querier/0' })
    world.calls.length = 0
    for (const application of [COORDINATOR, 'querier']) await world.send('resync', { application })
    expect(world.calls.filter(isWrite)).toEqual([])
  })
})

describe('with reload', () => {
  const pods = (world: World) =>
    world.api.objects().filter(({ kind, metadata }) => kind === 'Pod' && metadata.name.startsWith(`${COORDINATOR}-`))
  const hashes = (world: World) => pods(world).map(({ metadata }) => metadata.annotations?.[HASH])

  /** Brings the annotation of each pod to `hash`, as pods that started with another file have it. */
  const pretend = async (world: World, hash: string | null) => {
    for (const { metadata } of pods(world))
      await world.api.handle({
        method: 'PATCH',
        path: `/api/v1/namespaces/${NAMESPACE}/pods/${metadata.name}?fieldManager=kubelet`,
        headers: { 'content-type': 'application/merge-patch+json' },
        body: JSON.stringify({ metadata: { annotations: { [HASH]: hash } } }),
      })
  }

  test('a change of the file rolls the pods out, by an annotation of their template', async () => {
    const world = await startedCluster({ reload: true })
    const before = hashOn(world)
    expect(before).toMatch(/^[0-9a-f]{16}$/)
    await tell(world, loki(20, ['http://loki.example/push']))
    expect(hashOn(world)).not.toBe(before)
    expect(hashes(world)).toEqual([hashOn(world), hashOn(world)])
    await configure(world, { reload: false })
    expect(hashOn(world)).toBeUndefined()
  })

  test('workers hear of a route when all pods have it, and of everything else at once', async () => {
    const world = await startedCluster({ reload: true })
    await tell(world, meshOf())
    const urls = () => Object.keys((toldBy(world, COORDINATOR, 'querier').loki_endpoints ?? {}) as object)
    await tell(world, loki(20, ['http://loki.example/push']))
    // the pods of the example restart at once, and their next event tells it
    await world.send('resync', { application: COORDINATOR })
    expect(urls()).toEqual(['loki/0'])

    const old = hashOn(world) ?? ''
    world.intercept = ({ method, path }) => {
      if (method !== 'GET' || !/\/pods[?/]/.test(path)) return undefined
      const answer = world.api.handle({ method, path, headers: {} })
      return Promise.resolve(answer).then((found) => ({
        ...found,
        body: String(found.body).replaceAll(`"${hashOn(world)}"`, `"${old}"`),
      }))
    }
    const handled = await tell(world, loki(21, ['http://other.example/push'], 'other'))
    expect(handled).toMatchObject({
      status: 'waiting',
      messages: [`the pods of ${NAMESPACE}/${COORDINATOR}: not all have the present nginx.conf`],
    })
    expect(urls()).toEqual(['loki/0'])
    await configure(world, { reload: true, workerConfig: 'target: new' })
    expect(toldBy(world, COORDINATOR, 'querier')).toMatchObject({ worker_config: 'target: new' })
    expect(urls()).toEqual(['loki/0'])

    world.intercept = undefined
    await world.send('pod-restarted', { application: COORDINATOR, pod: { name: 'tempo-0', uid: 'new' } })
    expect(urls()).toEqual(['loki/0', 'other/0'])
  })

  test('a step that finds all as it should be writes nothing', async () => {
    const world = await startedCluster({ reload: true })
    await world.send('resync', { application: COORDINATOR })
    world.calls.length = 0
    const handled = await world.send('resync', { application: COORDINATOR })
    expect(world.calls.filter(isWrite)).toEqual([])
    expect(handled.status).toBe('unchanged')
    await pretend(world, null)
    expect((await world.send('resync', { application: COORDINATOR })).status).toBe('waiting')
  })

  test('pods that were evicted are waited for no more', async () => {
    const world = await startedCluster({ reload: true })
    await pretend(world, null)
    const evicted = (object: object) => ({ ...object, status: { phase: 'Failed' } })
    world.intercept = async ({ method, path }) => {
      if (method !== 'GET' || !/\/pods[/?]/.test(path)) return undefined
      const found = world.api.handle({ method, path, headers: {} })
      const body = JSON.parse(found.body)
      const pods = Array.isArray(body.items) ? { ...body, items: body.items.map(evicted) } : evicted(body)
      return { ...found, body: JSON.stringify(pods) }
    }
    expect((await world.send('resync', { application: COORDINATOR })).status).toBe('unchanged')
  })

  test('a coordinator with reload is named where pods are labelled in place, as nothing restarts them', async () => {
    const world = await startedCluster()
    const handled = await world.send('config-changed', {
      application: COORDINATOR,
      config: { enrolment: 'in-place', coordinator: { ...COORDINATOR_CONFIG, reload: true } },
    })
    expect(handled.messages).toEqual([expect.stringMatching(/^coordinator\.reload: expected enrolment rolling/)])
  })

  test('an application that is removed takes the annotation with it', async () => {
    const world = await startedCluster({ reload: true })
    await world.send('application-removed', { application: COORDINATOR })
    expect(hashOn(world)).toBeUndefined()
  })
})

describe('the API of a cluster', () => {
  const nginx = {
    upstreams: { querier: { port: 3200 }, any: { role: '*', port: 3200 } },
    servers: [
      {
        port: 3200,
        locations: [
          { path: '/api/', upstream: 'querier' },
          { path: '/all', upstream: 'any' },
        ],
      },
    ],
  }

  test('the API of a cluster is in the file beside the telemetry, by the roles of the workers', async () => {
    const world = await startedCluster({ nginx })
    const lines = linesOf(nginxFile(world) ?? '')
    expect(lines).toEqual(expect.arrayContaining(['listen 3300', 'listen 3200', 'location /api/', 'location /all']))
    expect(lines).toContain('set $backend querier-endpoints.shop.svc.cluster.local:3200')
    const unchanged = nginxFile(world)?.split('location /api/')[1]
    await scale(world, 'querier', 1)
    await world.send('leader-elected', { application: 'querier', unit: 'querier/0' })
    expect(nginxFile(world)?.split('location /api/')[1]).not.toContain('querier-0')
    expect(unchanged).toContain('querier-endpoints')
  })

  test('the API of a cluster is all of the file where no telemetry is routed, and answers 503 while nobody has the role', async () => {
    const world = await createCluster({ config: { nginx, telemetryProxy: undefined } })
    expect(locations(world)).toEqual(['= /status', '/api/', '/all', '/'])
    expect(linesOf(nginxFile(world) ?? '').filter((line) => line === 'return 503')).toHaveLength(2)
    await relate(world, 'querier', 1)
    expect(linesOf(nginxFile(world) ?? '').filter((line) => line === 'return 503')).toHaveLength(0)
  })
})

test.skipIf(!hasOpenssl)(
  'authorities that a relation passes are beside the file (skipped without openssl)',
  async () => {
    const world = await startedCluster()
    const { cert } = await makeCertificate('ca.test')
    const authorities = () => world.object('ConfigMap', `${COORDINATOR}-nginx`)?.data?.['ca.crt']
    expect(authorities()).toBeUndefined()
    await tell(world, relationTo('ca', 30, 'receive-ca-cert', { data: { certificates: JSON.stringify([cert]) } }))
    expect(authorities()).toBe(cert)
    expect(linesOf(nginxFile(world) ?? '')).toContain('proxy_ssl_verify on')
    await world.send('relation-broken', { application: COORDINATOR, relation: { id: 30 } })
    expect(authorities()).toBeUndefined()
    expect(nginxFile(world)).not.toContain('ssl_verify')
  },
)
