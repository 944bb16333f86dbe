import { expect, test } from 'vitest'
import { configure, createMesh, enrolled, policiesIn, related, requires } from '../../helpers/beacon-world.ts'
import { service, type World } from '../../helpers/world.ts'

const DB = { application: 'db' }
const WEB = { application: 'web' }
const UNIT = { type: 'app', relation: 'db', endpoints: [] }
const FURTHER = { ...UNIT, service: 'db-rw', endpoints: [{ methods: ['GET'] }] }

const labelOf = (world: World): string | undefined =>
  world.object('Service', 'db-rw')?.metadata.labels?.['istio.io/use-waypoint']

/** `db` is on the mesh, and its Service db-rw leads straight to its pods. */
const createShop = async (): Promise<World> => {
  const world = createMesh(['db', 'web'])
  const spec = { selector: { 'app.kubernetes.io/name': 'db' }, ports: [{ port: 80 }] }
  world.api.seed([{ ...service('db-rw'), spec }], { manager: 'juju' })
  await configure(world, { mesh: {} })
  await configure(world, { policies: [UNIT] }, DB)
  await world.send('relation-changed', related(3, 'db', WEB, DB))
  await world.send('relation-changed', requires(7, DB))
  expect([enrolled(world, 'db')['istio.io/dataplane-mode'], labelOf(world)]).toEqual(['ambient', undefined])
  return world
}

/** Tells if a policy at the waypoint guards db-rw. */
const isGuarded = (world: World): boolean =>
  policiesIn(world).some((policy) => JSON.stringify(policy).includes('db-rw'))

test('a Service that a new policy names is led to the waypoint when the beacon has granted the policy', async () => {
  const world = await createShop()
  const open: string[] = []
  world.api.subscribe(({ object: { kind, metadata } }) => {
    if (labelOf(world) !== undefined && !isGuarded(world)) open.push(`${kind} ${metadata.name}`)
  })
  await configure(world, { policies: [UNIT, FURTHER] }, DB)
  expect(open).toEqual([])
  expect([labelOf(world) !== undefined, isGuarded(world)]).toEqual([true, true])
})

test('a Service whose policy the API server refuses stays as it was, and the wait for it is told', async () => {
  const world = await createShop()
  world.intercept = ({ method, path: url, body }) =>
    method === 'PATCH' && url.includes('authorizationpolicies') && String(body).includes('db-rw')
      ? { status: 403, headers: {}, body: JSON.stringify({ kind: 'Status', status: 'Failure', code: 403 }) }
      : undefined
  await configure(world, { policies: [UNIT, FURTHER] }, DB)
  expect([labelOf(world), isGuarded(world)]).toEqual([undefined, false])
  const { status, messages } = await world.send('resync', DB)
  expect([status, messages]).toEqual(['waiting', expect.arrayContaining([])])
  world.intercept = undefined
  await world.send('resync', { application: 'beacon' })
  expect([labelOf(world) !== undefined, isGuarded(world)]).toEqual([true, true])
})

test('a Service that was led to the waypoint stays there while what else is asked for changes', async () => {
  const world = await createShop()
  await configure(world, { policies: [UNIT, FURTHER] }, DB)
  const left: (string | undefined)[] = []
  world.api.subscribe(() => left.push(labelOf(world)))
  await configure(world, { policies: [UNIT, { ...FURTHER, endpoints: [{ methods: ['GET', 'PUT'] }] }] }, DB)
  expect(left.filter((label) => label === undefined)).toEqual([])
})
