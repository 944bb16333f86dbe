import { afterEach, describe, expect, test } from 'vitest'
import { readingOnce } from '../../src/platform/kubernetes/client.ts'
import { until } from '../process/helpers.ts'
import { type Cluster, openCluster } from './cluster.ts'
import { deployed, explain, noDebug, ztunnelAllows, ztunnelView } from './istio.ts'
import { isServing, mesh, settle, taken } from './shop.ts'
import { waypointAllows, waypointView } from './waypoint-view.ts'

const TARGETS = 20
const SEEDS = 10
const CLIENTS = ['web', 'other']
const LONG = 600_000

/** Draws numbers below a bound, the same for the same seed (mulberry32). */
const drawn = (seed: number) => {
  let state = seed
  return (bound: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound
  }
}

type Draw = ReturnType<typeof drawn>

const some = <T>(draw: Draw, items: readonly T[]): T[] => items.filter(() => draw(2) === 0)

const endpoint = (draw: Draw) => {
  const parts = {
    ports: some(draw, [9113, 80]),
    methods: some(draw, ['GET', 'POST']),
    paths: some(draw, ['/a', '/b/*', '*c']),
  }
  const given = Object.fromEntries(Object.entries(parts).filter(([, values]) => values.length > 0))
  return Object.keys(given).length > 0 ? given : { ports: [9113] }
}

const policy = (draw: Draw) => {
  const relation = draw(3) === 0 ? 'y' : 'x'
  return draw(3) === 0
    ? { type: 'unit', relation, ports: some(draw, [9113, 80]) }
    : { type: 'app', relation, endpoints: Array.from({ length: draw(3) }, () => endpoint(draw)) }
}

/** Applications with policies and relations of chance, behind one waypoint, as a real API server and istiod have them. */
const createWorld = async (seed: number): Promise<{ shop: Cluster; targets: readonly string[] }> => {
  const draw = drawn(seed)
  const shop = await openCluster()
  const targets = Array.from({ length: TARGETS }, (_, index) => `t${index}`)
  const names = [...targets, ...CLIENTS]
  for (const name of names) for (const object of deployed(shop.namespace, name)) await shop.make(object)
  await shop.send('config-changed', { application: 'beacon', config: { mesh: {} } })
  for (const [place, application] of targets.entries()) {
    const policies = Array.from({ length: draw(4) }, () => policy(draw))
    await shop.send('config-changed', { application, config: { policies } })
    for (const [index, client] of some(draw, CLIENTS).entries())
      await shop.send('relation-changed', {
        application,
        relation: {
          id: 100 + 10 * place + index,
          endpoint: draw(3) === 0 ? 'y' : 'x',
          interface: 'http',
          role: 'provides',
        },
        remote: { application: client, data: {} },
      })
  }
  for (const [index, name] of names.entries()) await shop.send('relation-changed', mesh(index + 1, name))
  await until('the waypoint serves', () => isServing(shop), 60_000)
  await settle(shop, ['beacon', ...names])
  await taken(shop)
  return { shop, targets }
}

type Question = { readonly query: Record<string, string>; readonly isLetIn: boolean }

/** Each request of each client to each target, with what proxies do by what istiod tells them. */
const questionsOf = async (shop: Cluster, targets: readonly string[]): Promise<Question[]> => {
  const { namespace } = shop
  const [waypoint, ztunnel] = [await waypointView(shop), await ztunnelView()]
  const [gateway] = await shop.kubernetes.list('Gateway', namespace)
  const identity = { namespace, serviceAccount: gateway?.metadata.name ?? '' }
  const ends = targets.flatMap((application) =>
    CLIENTS.flatMap((from) => [9113, 80].map((port) => ({ application, from, port }))),
  )
  return ends.flatMap(({ application, from, port }) => {
    const to = { namespace, application }
    const ask = { from: `${namespace}/${from}`, to: `${namespace}/${application}`, port: String(port) }
    const client = `spiffe://cluster.local/ns/${namespace}/sa/${from}`
    const host = `${application}.${namespace}.svc.cluster.local`
    const passes = ztunnelAllows(ztunnel, to, { ...identity, port })
    return [
      {
        query: { ...ask, via: 'pod' },
        isLetIn: ztunnelAllows(ztunnel, to, { namespace, serviceAccount: from, port }),
      },
      ...REQUESTS.map(({ method, path }) => ({
        query: { ...ask, method, path },
        isLetIn: passes && waypointAllows(waypoint, host, { client, port, method, path }),
      })),
    ]
  })
}

const REQUESTS = ['GET', 'POST'].flatMap((method) => ['/a', '/b/1', '/xc'].map((path) => ({ method, path })))

let cluster: Cluster | undefined
afterEach(() => cluster?.close())

describe.skipIf(noDebug)(`worlds of chance on a real istiod ${noDebug ?? ''}`, () => {
  test.each(Array.from({ length: SEEDS }, (_, index) => index + 1))(
    `what ztunnels and the waypoint are told decides as explanations do, for ${TARGETS} applications of seed %i`,
    async (seed) => {
      const { shop, targets } = await createWorld(seed)
      cluster = shop
      const questions = await questionsOf(shop, targets)
      const once = { ...shop, kubernetes: readingOnce(shop.kubernetes) }
      for (const { query, isLetIn } of questions) {
        const { allowed, decided, sentence } = await explain(once, query)
        expect({ seed, query, sentence, allowed, decided }).toMatchObject({ allowed: isLetIn, decided: true })
      }
      expect(new Set(questions.map(({ isLetIn }) => isLetIn))).toEqual(new Set([true, false]))
    },
    LONG,
  )
})
