import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  COORDINATOR,
  COORDINATOR_CONFIG,
  clusterRelation,
  meshOf,
  relationTo,
  saidBy,
  scale,
  seen,
  WORKERS,
} from '../../helpers/cluster.ts'
import { createWorld, event, isWrite, service, type World, workload } from '../../helpers/world.ts'

/** Something that a platform says once; `after` is what it cannot be told before where events have no time. */
type Fact = {
  readonly name: string
  readonly type: string
  readonly data: Record<string, unknown>
  readonly after?: string
}

const changed = (name: string, application: string, told: object): Fact => ({
  name,
  type: 'relation-changed',
  data: { application, ...told },
})

const ended = (name: string, application: string, id: number): Fact => ({
  name: `end of ${name}`,
  type: 'relation-broken',
  data: { application, relation: { id } },
  after: name,
})

const configured = (application: string, config: object): Fact => ({
  name: `config of ${application}`,
  type: 'config-changed',
  data: { application, config },
})

const writing = (id: number, name: string): Fact =>
  changed(
    name,
    COORDINATOR,
    relationTo(name, id, 'send-remote-write', {
      units: { [`${name}/0`]: { remote_write: JSON.stringify({ url: `http://ingress.example/${name}/write` }) } },
    }),
  )

const logging = (id: number, name: string): Fact =>
  changed(
    name,
    COORDINATOR,
    relationTo(name, id, 'logging', {
      units: { [`${name}/0`]: { endpoint: JSON.stringify({ url: `http://${name}.example/push` }) } },
    }),
  )

const nginx = {
  upstreams: { querier: { port: 3200 } },
  servers: [{ port: 3200, locations: [{ path: '/api/', upstream: 'querier' }] }],
}

const facts = (side: 'worker' | 'coordinator'): Fact[] => [
  configured('beacon', { mesh: {} }),
  configured(COORDINATOR, { coordinator: { ...COORDINATOR_CONFIG, minimalDeployment: [], nginx } }),
  ...WORKERS.map((name) => configured(name, { worker: { roles: [name] } })),
  ...WORKERS.map((name, index) =>
    side === 'worker'
      ? changed(name, name, clusterRelation('requires', COORDINATOR, index + 1))
      : changed(name, COORDINATOR, clusterRelation('provides', name, index + 1)),
  ),
  changed('mesh', COORDINATOR, meshOf()),
  changed('metrics', COORDINATOR, relationTo('prometheus', 10, 'metrics-endpoint', { role: 'provides' })),
  logging(11, 'loki'),
  logging(12, 'other'),
  ended('other', COORDINATOR, 12),
  writing(13, 'prometheus-0'),
  writing(14, 'prometheus-1'),
  ended('prometheus-1', COORDINATOR, 14),
  ended('compactor', side === 'worker' ? 'compactor' : COORDINATOR, 3),
]

type Plan = {
  readonly side: 'worker' | 'coordinator'
  readonly order: readonly number[]
  readonly isTimed: boolean
  readonly isConcurrent: boolean
}

const COUNT = facts('worker').length

const plan: fc.Arbitrary<Plan> = fc.record({
  side: fc.constantFrom('worker' as const, 'coordinator' as const),
  order: fc.shuffledSubarray(
    Array.from({ length: COUNT }, (_, index) => index),
    { minLength: COUNT },
  ),
  isTimed: fc.boolean(),
  isConcurrent: fc.boolean(),
})

/** The facts as they are sent: without a time an end comes after what it ends, which no receiver could know. */
const ordered = ({ side, order, isTimed }: Plan): { fact: Fact; index: number }[] => {
  const all = facts(side)
  const sent = order.flatMap((index) => {
    const fact = all[index]
    return fact === undefined ? [] : [{ fact, index }]
  })
  const isLate = ({ fact }: { fact: Fact }) => !isTimed && fact.after !== undefined
  return [...sent.filter((one) => !isLate(one)), ...sent.filter(isLate)]
}

const createApplications = (): World =>
  createWorld(
    [COORDINATOR, ...WORKERS].flatMap((name) => [workload('StatefulSet', name), service(name)]),
    { isOwnSink: true },
  )

const happen = async (world: World, happened: Plan): Promise<void> => {
  const sent = ordered(happened).map(({ fact, index }) => {
    // an order of the platform's own, which is not that in which they arrive
    const time = new Date(world.clock.now() - (COUNT - index) * 1_000).toISOString()
    return { isEnd: fact.after !== undefined, event: event(fact.type, fact.data, happened.isTimed ? { time } : {}) }
  })
  const post = async (one: (typeof sent)[number]) => expect((await world.post(one.event)).status).toBe(200)
  const groups = happened.isTimed ? [sent] : [sent.filter(({ isEnd }) => !isEnd), sent.filter(({ isEnd }) => isEnd)]
  for (const group of groups) {
    if (happened.isConcurrent) await Promise.all(group.map(post))
    else for (const one of group) await post(one)
  }
}

/** All that can be seen from outside, and what Prometheus and Loki are told. */
const outcome = (world: World) => ({
  ...seen(world),
  prometheus: saidBy(world, COORDINATOR, 'prometheus')?.data,
  loki: saidBy(world, COORDINATOR, 'loki')?.data,
})

const WAYS = [
  { way: 'one after another, with a time', isTimed: true, isConcurrent: false },
  { way: 'one after another, without a time', isTimed: false, isConcurrent: false },
  { way: 'at once, with a time', isTimed: true, isConcurrent: true },
  { way: 'at once, without a time', isTimed: false, isConcurrent: true },
]

const TIMEOUT = 900_000

test.each(WAYS)('whatever the order of events, $way: one end', { timeout: TIMEOUT }, async ({ way: _, ...way }) => {
  const inOrder = Array.from({ length: COUNT }, (_, index) => index)
  const uuid = /[0-9a-f]{8}-[0-9a-f-]{27}/g
  const normal = (world: World) => JSON.parse(JSON.stringify(outcome(world)).replaceAll(uuid, 'uid'))
  const expected = createApplications()
  await happen(expected, { side: 'worker', order: inOrder, isTimed: true, isConcurrent: false })
  await fc.assert(
    fc.asyncProperty(plan, async (happened) => {
      const world = createApplications()
      await happen(world, { ...happened, ...way })
      expect(normal(world)).toEqual(normal(expected))
      world.calls.length = 0
      await world.send('resync', { application: COORDINATOR })
      // of what it knows of the others it may have something to note yet
      expect(world.calls.filter(isWrite).filter((call) => !call.includes('/juju-service-mesh-'))).toEqual([])
    }),
    { numRuns: 15 },
  )
})

test('units that come and go at any moment end as their pods are', { timeout: TIMEOUT }, async () => {
  const numbers = fc.array(fc.record({ worker: fc.constantFrom(...WORKERS), replicas: fc.nat(3) }), {
    minLength: 1,
    maxLength: 5,
  })
  await fc.assert(
    fc.asyncProperty(plan, numbers, async (happened, scaled) => {
      const world = createApplications()
      await Promise.all([
        happen(world, happened),
        ...scaled.map(async ({ worker, replicas }) => {
          await scale(world, worker, replicas)
          await world.post(event('leader-elected', { application: worker, unit: `${worker}/0` }))
        }),
      ])
      const last = new Map(scaled.map(({ worker, replicas }) => [worker, replicas]))
      const fresh = createApplications()
      for (const [worker, replicas] of last) await scale(fresh, worker, replicas)
      await happen(fresh, happened)
      for (const each of [world, fresh])
        for (const application of WORKERS) await each.send('leader-elected', { application, unit: `${application}/0` })
      expect(seen(world)).toEqual(seen(fresh))
    }),
    { numRuns: 15 },
  )
})
