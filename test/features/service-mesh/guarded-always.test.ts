import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startIstio } from '../../../src/embedded/demo/istio.ts'
import {
  calm,
  configure,
  endRelation,
  loseMemory,
  type Related,
  resync,
  tellRelation,
} from '../../core/relations/pair.ts'
import { application } from '../../helpers/mesh.ts'
import { passes, worldOf } from '../../helpers/safety.ts'
import { createWorld, type World } from '../../helpers/world.ts'

const mesh = (id: number, requirer: string): Related => ({
  id,
  requirer,
  provider: 'beacon',
  endpoint: 'service-mesh',
  interface: 'service_mesh',
})

const use = (id: number, requirer: string): Related => ({
  id,
  requirer,
  provider: 'db',
  endpoint: 'db',
  interface: 'http',
})

/** Those of the mesh are told to the consumer, and those of `db` to `db`. */
const RELATIONS: Readonly<Record<string, { related: Related; side: string }>> = {
  'mesh of db': { related: mesh(1, 'db'), side: 'db' },
  'mesh of web': { related: mesh(2, 'web'), side: 'web' },
  'mesh of cart': { related: mesh(3, 'cart'), side: 'cart' },
  'web uses db': { related: use(4, 'web'), side: 'db' },
  'cart uses db': { related: use(5, 'cart'), side: 'db' },
}

type Policy = { type: string; relation: string; [key: string]: unknown }

const SERVICE: Policy = { type: 'app', relation: 'db', endpoints: [] }
const READ: Policy = { type: 'app', relation: 'db', endpoints: [{ methods: ['GET'] }] }
const PODS: Policy = { type: 'unit', relation: 'db', ports: [80] }
/** A list, or `related`, which follows from the relations of `db`. */
type Policies = readonly Policy[] | 'related'

const POLICIES: readonly Policies[] = [
  'related',
  [SERVICE],
  [READ],
  [PODS],
  [READ, PODS],
  [SERVICE, { ...SERVICE, relation: 'nobody' }],
  [{ ...PODS, relation: 'nobody' }],
  [],
]

type Action =
  | { kind: 'relate' | 'break'; name: string }
  | { kind: 'policies'; policies: Policies }
  | { kind: 'mesh'; mesh: Record<string, unknown> }
  | { kind: 'lose'; names: readonly string[]; configured: string }
  | { kind: 'resync'; name: string }

const MESHES: readonly Record<string, unknown>[] = [
  {},
  { hardened: true },
  { units: 2 },
  { waypoint: false },
  { units: 0, hardened: true },
  { modelOnMesh: true },
  { modelOnMesh: true, waypoint: false },
  { policies: 'related' },
]

const name = fc.constantFrom(...Object.keys(RELATIONS))
const side = fc.constantFrom('beacon', 'db')

const anyAction: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('relate' as const), name }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('break' as const), name }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('policies' as const), policies: fc.constantFrom<Policies>(...POLICIES) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('mesh' as const),
      mesh: fc.constantFrom<Record<string, unknown>>(...MESHES),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('lose' as const),
      names: fc.constantFrom(['db'], ['beacon'], ['db', 'beacon']),
      configured: side,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('resync' as const), name: side }) },
)

/** What was configured last. */
type History = {
  policies: Policies
  mesh: Record<string, unknown>
  isBeaconKnown: boolean
  isConfigKnown: boolean
  /** Whether db is related to the beacon: with the whole namespace on the mesh, it is there also when it is not. */
  isRelated: boolean
  /** Whether either of the two knows that: not when both memories were lost, and nobody told it again. */
  isRelationKnown: boolean
  clients: readonly string[]
}

const nextRelations = (now: History, { kind, name: relation }: Extract<Action, { name: string }>): History => {
  const isTold = kind === 'relate'
  if (kind === 'resync') return now
  if (relation === 'mesh of db') return { ...now, isRelated: isTold, isRelationKnown: true }
  const client = relation.replace(' uses db', '')
  const others = now.clients.filter((one) => one !== client)
  return { ...now, clients: isTold ? [...others, client] : others }
}

const nextHistory = (now: History, action: Action): History => {
  if ('name' in action) return nextRelations(now, action)
  if (action.kind === 'policies') return { ...now, policies: action.policies, isConfigKnown: true }
  if (action.kind === 'mesh') return { ...now, mesh: action.mesh, isBeaconKnown: true }
  const isLost = action.names.includes('beacon')
  return {
    ...now,
    isBeaconKnown: action.configured === 'beacon' || (now.isBeaconKnown && !isLost),
    isConfigKnown: action.configured === 'db' || (now.isConfigKnown && !action.names.includes('db')),
    isRelationKnown: now.isRelationKnown && action.names.length < 2,
  }
}

const perform = async (world: World, action: Action, now: History): Promise<void> => {
  switch (action.kind) {
    case 'relate':
    case 'break': {
      const { related, side: told } = RELATIONS[action.name] ?? { related: mesh(1, 'db'), side: 'db' }
      await (action.kind === 'relate' ? tellRelation : endRelation)(world, told, related)
      break
    }
    case 'policies':
      await configure(world, 'db', { policies: action.policies })
      break
    case 'mesh':
      await configure(world, 'beacon', { mesh: action.mesh })
      break
    case 'lose':
      for (const lost of action.names) if (isRemembered(world, lost)) loseMemory(world, lost)
      await configure(
        world,
        action.configured,
        action.configured === 'db' ? { policies: now.policies } : { mesh: now.mesh },
      )
      break
    default:
      await resync(world, action.name)
  }
  await calm(world)
}

const isRemembered = (world: World, of: string): boolean =>
  world.object('ConfigMap', `juju-service-mesh-${of}-labels`) !== undefined

const isEnrolled = (world: World, of: string): boolean =>
  worldOf(world.api, { autoAllow: false }).workloads.some(({ name, onMesh }) => name === of && onMesh)

const TARGETS = [{ application: 'db', service: 'db' }, { application: 'db' }] as const

/** Who reaches what at this moment, with both settings of Istio: `web GET Service true`. */
const reached = (world: World): Set<string> => new Set([false, true].flatMap((autoAllow) => passing(world, autoAllow)))

const passing = (world: World, autoAllow: boolean): string[] => {
  const cluster = worldOf(world.api, { autoAllow })
  // whoever is not on the mesh has no identity there
  const senders = ['web', 'cart', 'stranger'].map((from) => ({
    namespace: 'shop',
    application: from,
    ...((from === 'stranger' || isEnrolled(world, from)) && { serviceAccount: from }),
  }))
  const requests = senders.flatMap((from) =>
    TARGETS.flatMap((to) => ['GET', 'POST'].map((method) => ({ from, to, method }))),
  )
  return requests
    .filter(({ from, to, method }) => passes(cluster, from.application, to, { method, from }))
    .map(({ from, to, method }) => `${from.application} ${method} ${'service' in to ? 'Service' : 'pods'} ${autoAllow}`)
}

/** What must be shut to strangers: the targets that are declared, and behind a Service its pods. */
const declared = (policies: History['policies']): string[] => [
  ...(policies === 'related' || policies.some(({ type }) => type === 'app') ? ['Service'] : []),
  ...(policies.length > 0 ? ['pods'] : []),
]

const isOpen = (seen: ReadonlySet<string>, target: string): boolean =>
  [...seen].some((one) => one.startsWith('stranger') && one.includes(` ${target} `))

type Moment = { enrolled: boolean; seen: ReadonlySet<string>; wrote: string }

const WRITTEN = ['AuthorizationPolicy', 'Service', 'StatefulSet', 'Gateway', 'Namespace']

/** The cluster now, after each write, and at the end. */
const momentsOf = async (world: World, act: () => Promise<void>): Promise<Moment[]> => {
  const look = (wrote: string): Moment => ({ enrolled: isEnrolled(world, 'db'), seen: reached(world), wrote })
  const moments = [look('before')]
  const stop = world.api.subscribe(({ type, object: { kind, metadata } }) => {
    if (WRITTEN.includes(kind)) moments.push(look(`${type} ${kind} ${metadata.name}`))
  })
  await act()
  stop()
  return [...moments, look('after')]
}

/** What is open in a moment. */
const opened = (moments: readonly Moment[], targets: readonly string[]): string[] =>
  moments.flatMap(({ enrolled, seen, wrote }) =>
    targets.filter((target) => enrolled && isOpen(seen, target)).map((target) => `${target}: ${wrote}`),
  )

/** Which of the clients is refused in a moment, though it passes before and after. */
const refused = (moments: readonly Moment[], clients: readonly string[]): string[] => {
  const after = moments.at(-1)?.seen
  const kept = [...(moments[0]?.seen ?? [])].filter(
    (one) => after?.has(one) && clients.some((client) => one.startsWith(client)),
  )
  return moments.flatMap(({ seen, wrote }) => kept.filter((one) => !seen.has(one)).map((one) => `${one}: ${wrote}`))
}

const createShop = async (): Promise<World> => {
  const objects = ['db', 'web', 'cart'].flatMap((one) => application(one, { labels: {} }))
  const world = createWorld(objects, { isOwnSink: true })
  startIstio(world)
  world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } }])
  await configure(world, 'beacon', { mesh: {} })
  await configure(world, 'db', { policies: [SERVICE] })
  await tellRelation(world, 'db', mesh(1, 'db'))
  return world
}

test('no declared target is open at any moment, and nobody who may pass before and after is refused in between', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyAction, { minLength: 1, maxLength: 12 }), async (actions) => {
      const world = await createShop()
      let now: History = {
        policies: [SERVICE],
        mesh: {},
        isBeaconKnown: true,
        isConfigKnown: true,
        isRelated: true,
        isRelationKnown: true,
        clients: [],
      }
      for (const action of actions) {
        const next = nextHistory(now, action)
        const moments = await momentsOf(world, () => perform(world, action, next))
        const targets = next.isRelated ? declared(next.policies) : []
        const [before] = moments
        const guarded = (now.isRelated ? declared(now.policies) : []).filter(
          (target) => targets.includes(target) && !(before?.enrolled && isOpen(before.seen, target)),
        )
        const problems = [
          ...opened(moments, guarded),
          ...(next.isBeaconKnown && next.isConfigKnown && next.isRelationKnown
            ? opened(moments.slice(-1), targets)
            : []),
          ...refused(
            moments,
            now.clients.filter((client) => next.clients.includes(client)),
          ),
        ]
        expect([action, problems]).toEqual([action, []])
        now = next
      }
    }),
    { numRuns: 20 },
  )
})
