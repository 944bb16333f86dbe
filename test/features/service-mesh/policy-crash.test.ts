import { describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { ask, BEACON, configure, createMesh, related, requires, wire } from '../../helpers/beacon-world.ts'
import { some } from '../../helpers/runs.ts'
import { isWrite, type World } from '../../helpers/world.ts'

type Sent = (world: World) => Promise<unknown>

const DB = { application: 'db' }
const WEB = { application: 'web' }
const POLICIES = [{ type: 'app', relation: 'db', endpoints: [] }]
const RAW = { apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy', metadata: { name: 'none' }, spec: {} }

const beacon =
  (mesh: Record<string, unknown>): Sent =>
  (world) =>
    configure(world, { mesh })

const joins =
  (id: number, of: { application: string }): Sent =>
  (world) =>
    world.send('relation-changed', requires(id, of))

const dbLetsIn: Sent = (world) => configure(world, { policies: POLICIES }, DB)
const webUsesDb: Sent = (world) => world.send('relation-changed', related(3, 'db', WEB, DB))

type Story = { name: string; isOwnSink?: boolean; before: readonly Sent[]; crashing: Sent }

const stories: Story[] = [
  {
    name: 'a beacon comes',
    isOwnSink: false,
    before: [(world) => ask(world, [wire()])],
    crashing: beacon({ hardened: true, modelOnMesh: true }),
  },
  {
    name: 'a beacon goes',
    isOwnSink: false,
    before: [beacon({ hardened: true }), (world) => ask(world, [wire()])],
    crashing: (world) => world.send('application-removed', BEACON),
  },
  {
    name: 'all of a target’s policies change',
    isOwnSink: false,
    before: [beacon({}), (world) => ask(world, [wire()])],
    crashing: (world) => ask(world, [wire({ target_type: 'unit' }), wire({ source_app_name: 'cart' })]),
  },
  {
    name: 'a relation breaks',
    isOwnSink: false,
    before: [beacon({}), (world) => ask(world, [wire()])],
    crashing: (world) => world.send('relation-broken', { ...BEACON, relation: { id: 7 } }),
  },
  {
    name: 'the config of custom policies goes',
    before: [(world) => configure(world, { meshPolicies: [wire()], rawPolicies: [RAW] }, DB)],
    crashing: (world) => configure(world, {}, DB),
  },
  { name: 'a consumer joins', before: [beacon({}), dbLetsIn, webUsesDb], crashing: joins(7, DB) },
  { name: 'somebody may use a consumer', before: [beacon({}), dbLetsIn, joins(7, DB)], crashing: webUsesDb },
  {
    name: 'the beacon of two consumers goes',
    before: [beacon({}), dbLetsIn, webUsesDb, joins(7, DB), joins(8, WEB)],
    crashing: (world) => world.send('application-removed', BEACON),
  },
  {
    name: 'a namespace goes on the mesh instead of its applications',
    before: [beacon({}), joins(7, DB), joins(8, WEB)],
    crashing: beacon({ modelOnMesh: true }),
  },
]

const start = async ({ before, isOwnSink = true }: Story): Promise<World> => {
  const world = createMesh(['db', 'web'], isOwnSink)
  world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } }])
  for (const send of before) await send(world)
  world.calls.length = 0
  return world
}

/** The same event: a redelivery has the source and the id of the first delivery. */
const redelivered = (world: World): World =>
  Object.assign(Object.create(world), {
    send: (type: string, data: Record<string, unknown>) => world.send(type, data, { id: 'crashing' }),
  })

/** Which events were heard and when: a run of the same events never has that twice. */
const OCCASIONS = ['ids', 'at', 'since', 'endedAt', 'removed', 'owned', 'observed']

/** What there is, but for what a run of the same events never has twice. */
const contentOf = ({ kind, metadata, spec, data }: KubernetesObject) => {
  const { name, namespace, labels, annotations } = metadata
  const state =
    data?.state &&
    JSON.parse(data.state, (key, value) =>
      ['sent', 'seen', 'version'].includes(key) ? undefined : OCCASIONS.includes(key) ? Boolean(value) : value,
    )
  return {
    kind,
    name,
    namespace,
    labels,
    annotations,
    ...(kind === 'ConfigMap' ? { labels: data?.labels, state } : { spec }),
  }
}

const endOf = (world: World) =>
  world.api
    .objects()
    .filter(({ kind }) => kind !== 'Pod')
    .map(contentOf)

/** From the given write on nothing reaches the API server, until the event has failed. */
const crashAt = (world: World, write: number): void => {
  let writes = 0
  world.intercept = ({ method }) => {
    if (isWrite(method)) writes += 1
    if (writes > write) throw new Error('the process is gone')
    return undefined
  }
}

/**
 * Where the process is its own sink, it tells what follows from what follows itself: nobody sends that again after a crash, and the resync
 * of the namespace makes up for it.
 */
describe('a crash before any write, and the same event once more, end as without', () => {
  test.each(stories)('$name', async (story) => {
    const undisturbed = await start(story)
    await story.crashing(redelivered(undisturbed))
    const count = undisturbed.calls.filter(isWrite).length
    const expected = endOf(undisturbed)
    expect(count).toBeGreaterThan(1)
    for (const write of some([...Array(count).keys()], 3)) {
      const world = await start(story)
      crashAt(world, write)
      await story.crashing(redelivered(world)).catch(() => undefined)
      world.intercept = undefined
      await story.crashing(redelivered(world))
      if (story.isOwnSink !== false) await world.send('resync', { application: undefined })
      expect(endOf(world)).toEqual(expected)
    }
  })
})
