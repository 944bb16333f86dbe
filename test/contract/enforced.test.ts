import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { until } from '../process/helpers.ts'
import type { Cluster } from './cluster.ts'
import { explain, noDebug, noIstio, noSwitch, startIstiod, stopIstiod, ztunnelAllows, ztunnelView } from './istio.ts'
import {
  createShop,
  DB,
  nameOf,
  ours,
  PODS,
  READ,
  SLOW,
  saidOf,
  settle,
  taken,
  tellersOf,
  toldOf,
  USE,
  WHOLE,
} from './shop.ts'
import { waypointAllows, waypointView } from './waypoint-view.ts'

let cluster: Cluster | undefined
const opened = async (...shop: Parameters<typeof createShop>): Promise<Cluster> => {
  cluster = await createShop(...shop)
  return cluster
}
afterEach(() => cluster?.close())

const all = ['web GET', 'web POST', 'other GET', 'other POST']
const everybody = ['web 9113', 'web 80', 'other 9113', 'other 80', 'db 9113', 'db 80']
/** Who passes straight to a pod, on which port, as docs/policies.md says. */
const rows = [
  { name: 'a Service, GET', policies: [READ], passing: [], service: ['web GET'] },
  { name: 'a Service', policies: [WHOLE], passing: [], service: ['web GET', 'web POST'] },
  { name: 'pods', policies: [PODS], passing: ['web 9113'], service: all },
  { name: 'a Service and its pods', policies: [READ, PODS], passing: ['web 9113'], service: ['web GET'] },
  { name: 'nothing', policies: [], passing: everybody, service: all },
]

describe.skipIf(noIstio)(`what istiod says ${noIstio ?? ''}`, () => {
  test(
    'each object of a whole life passes the webhook and is taken within 10 seconds, and every answer agrees with the conditions',
    async () => {
      const shop = await opened({}, [READ])
      const stages: [string, () => Promise<unknown>][] = [
        ['joined', async () => undefined],
        ['a policy changes', () => shop.send('config-changed', { ...DB, config: { policies: [WHOLE] } })],
        ['pods are named as well', () => shop.send('config-changed', { ...DB, config: { policies: [READ, PODS] } })],
        ['a relation ends', () => shop.send('relation-broken', { ...DB, relation: { id: 3 } })],
        ['it comes back', () => shop.send('relation-changed', USE)],
        ['a client leaves the mesh', () => shop.send('relation-broken', { application: 'web', relation: { id: 8 } })],
        [
          'audited',
          () => shop.send('config-changed', { application: 'beacon', config: { mesh: { enforcement: 'audit' } } }),
        ],
        ['enforced', () => shop.send('config-changed', { application: 'beacon', config: { mesh: {} } })],
        [
          'without a waypoint',
          () => shop.send('config-changed', { application: 'beacon', config: { mesh: { waypoint: false } } }),
        ],
      ]
      for (const [stage, act] of stages) {
        await act()
        await settle(shop)
        await taken(shop)
        const refused = (await ours(shop))
          .filter((one) => saidOf(one) === 'refused')
          .map(nameOf)
          .toSorted()
        const told = await toldOf(shop)
        const tellers = tellersOf(refused)
        expect([stage, told.outcomes, told.views, told.lint]).toEqual([stage, refused, tellers, tellers])
      }
    },
    SLOW,
  )
})

describe.skipIf(noDebug)(`what ztunnels are told ${noDebug ?? ''}`, () => {
  const cells = [{}, { waypoint: false }].flatMap((config) =>
    rows.map((row) => ({ ...row, config, place: 'waypoint' in config ? 'without a waypoint' : 'behind a waypoint' })),
  )

  test.each(cells)(
    'what ztunnels are told lets those to the pods whom an explanation lets, with a policy for $name $place',
    async ({ config, policies, passing }) => {
      const shop = await opened(config, policies)
      await taken(shop)
      const { namespace } = shop
      const view = await until('istiod knows the pods as they are', async () => {
        const seen = await ztunnelView()
        const pods = seen.workloads?.filter((one) => one.namespace === namespace && one.workloadName === 'db') ?? []
        return pods.length > 0 && seen
      })
      const passed: string[] = []
      for (const from of ['web', 'other', 'db'])
        for (const port of [9113, 80]) {
          const asked = { from: `${namespace}/${from}`, to: `${namespace}/db`, port: String(port), via: 'pod' }
          const client = { namespace, serviceAccount: from, port }
          const isLetIn = ztunnelAllows(view, { namespace, application: 'db' }, client)
          const { allowed, decided } = await explain(shop, asked)
          expect([from, port, allowed, decided]).toEqual([from, port, isLetIn, true])
          if (isLetIn) passed.push(`${from} ${port}`)
        }
      expect(passed).toEqual(passing)
    },
    SLOW,
  )
})

describe.skipIf(noDebug)(`what waypoints are told ${noDebug ?? ''}`, () => {
  test.each(rows)(
    'what waypoints are told lets those to the Service whom an explanation lets, with a policy for $name',
    async ({ policies, service }) => {
      const shop = await opened({}, policies)
      await taken(shop)
      const { namespace } = shop
      const [waypoint, ztunnel] = [await waypointView(shop), await ztunnelView()]
      const [gateway] = await shop.kubernetes.list('Gateway', namespace)
      const identity = { namespace, serviceAccount: gateway?.metadata.name ?? '', port: 9113 }
      const passed: string[] = []
      for (const from of ['web', 'other'])
        for (const method of ['GET', 'POST']) {
          const request = { port: 9113, method, path: '/a' }
          const client = `spiffe://cluster.local/ns/${namespace}/sa/${from}`
          const isLetIn =
            waypointAllows(waypoint, `db.${namespace}.svc.cluster.local`, { client, ...request }) &&
            ztunnelAllows(ztunnel, { namespace, application: 'db' }, identity)
          const asked = { from: `${namespace}/${from}`, to: `${namespace}/db`, ...request, port: '9113' }
          const { allowed, decided } = await explain(shop, asked)
          expect([from, method, allowed, decided]).toEqual([from, method, isLetIn, true])
          if (isLetIn) passed.push(`${from} ${method}`)
        }
      expect(passed).toEqual(service)
    },
    SLOW,
  )
})

describe.skipIf(noSwitch)(`an istiod that is away ${noSwitch ?? ''}`, () => {
  let isStopped = false
  beforeEach(() => {
    isStopped = false
  })
  afterAll(async () => {
    if (isStopped) await startIstiod()
  })

  test(
    'an istiod that is away is told by each answer about what it has not taken, and no more once it has',
    async () => {
      const shop = await opened({}, [READ])
      await taken(shop)
      isStopped = true
      await stopIstiod()
      await shop.send('relation-broken', { ...DB, relation: { id: 3 } })
      await settle(shop)
      const pending = (await ours(shop))
        .filter((one) => saidOf(one) === 'pending')
        .map(nameOf)
        .toSorted()
      expect(pending).not.toEqual([])
      const told = await toldOf(shop)
      const tellers = tellersOf(pending)
      expect([told.views, told.lint, told.statuses.db]).toEqual([tellers, tellers, 'waiting'])
      const asked = { from: `${shop.namespace}/web`, to: `${shop.namespace}/db`, port: '9113', method: 'GET' }
      expect(await explain(shop, asked)).toMatchObject({
        decided: false,
        sentence: expect.stringContaining('Istio has not taken'),
      })
      await until('a step tells it', async () => (await toldOf(shop)).outcomes.length === pending.length)
      await startIstiod()
      isStopped = false
      await until(
        'istiod has taken them',
        async () => (await ours(shop)).every((one) => saidOf(one) === 'taken'),
        60_000,
      )
      const nothing = tellersOf([])
      expect(await toldOf(shop)).toMatchObject({
        ...{ outcomes: [], views: nothing, lint: nothing },
        statuses: { beacon: 'active', db: 'active' },
      })
      expect(await explain(shop, asked)).toMatchObject({ allowed: false, decided: true })
    },
    SLOW * 2,
  )
})
