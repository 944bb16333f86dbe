import { describe, expect, test } from 'vitest'
import { configure, createMesh, related, requires } from '../../helpers/beacon-world.ts'
import { application } from '../../helpers/mesh.ts'
import { some } from '../../helpers/runs.ts'
import { passes, worldOf } from '../../helpers/safety.ts'
import type { World } from '../../helpers/world.ts'

const DB = { application: 'db' }
const READ = { type: 'app', relation: 'db', endpoints: [{ methods: ['GET'] }] }
const WHOLE = { type: 'app', relation: 'db', endpoints: [] }
const PODS = { type: 'unit', relation: 'db', ports: [9113] }

/** `web` is related to `db`, and `other` is not; all are on the mesh. */
const createShop = async (mesh: Record<string, unknown>, policies: readonly unknown[]): Promise<World> => {
  const world = createMesh()
  world.api.seed([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } },
    ...['db', 'web', 'other', 'idle'].flatMap((name) => application(name, { labels: {} })),
  ])
  await configure(world, { mesh })
  await configure(world, { policies }, DB)
  await world.send('relation-changed', related(3, 'db', { application: 'web' }, DB))
  for (const [index, name] of ['db', 'web', 'other'].entries())
    await world.send('relation-changed', requires(7 + index, { application: name }))
  return world
}

/** A row of docs/policies.md: who passes where, as `{who} {method}` of those that are tried. */
type Row = { name: string; policies: readonly unknown[]; service: string[]; pod: string[] }

const ALL = ['other GET', 'other POST', 'web GET', 'web POST']
const WEB = ['web GET', 'web POST']

const plain: readonly Row[] = [
  { name: 'hosts, methods or paths of a Service', policies: [READ], service: ['web GET'], pod: [] },
  { name: 'all of a Service', policies: [WHOLE], service: WEB, pod: [] },
  { name: 'pods', policies: [PODS], service: ALL, pod: WEB },
  { name: 'a Service and its pods', policies: [READ, PODS], service: ['web GET'], pod: WEB },
  { name: 'nothing', policies: [], service: ALL, pod: ALL },
]

const hardened: readonly Row[] = [
  ...plain
    .map((row) => (row.service === ALL ? { ...row, service: [] } : row))
    .map((row) => (row.pod === ALL ? { ...row, pod: [] } : row)),
]

const withoutWaypoint: readonly Row[] = [
  { name: 'hosts, methods or paths of a Service', policies: [READ], service: [], pod: [] },
  { name: 'all of a Service', policies: [WHOLE], service: [], pod: [] },
  { name: 'pods', policies: [PODS], service: WEB, pod: WEB },
  { name: 'a Service and its pods', policies: [READ, PODS], service: WEB, pod: WEB },
  { name: 'nothing', policies: [], service: ALL, pod: ALL },
]

/** Without policies an application is as open as its mesh, and with auto-allow its pods are only open to the waypoint. */
const tables: readonly [string, Record<string, unknown>, readonly Row[]][] = [
  ['plain', {}, plain],
  ['hardened', { hardened: true }, hardened],
  ['plain, without a waypoint', { waypoint: false }, withoutWaypoint],
  [
    'hardened, without a waypoint',
    { waypoint: false, hardened: true },
    withoutWaypoint.map((row) => (row.service === ALL ? { ...row, service: [], pod: [] } : row)),
  ],
]

describe.each(tables)('%s', (_, mesh, rows) => {
  const cells = rows.flatMap((row) => [false, true].map((autoAllow) => ({ ...row, autoAllow })))
  test.each(some(cells, 3))(
    'a policy for $name, auto-allow $autoAllow',
    async ({ policies, service: atService, pod, autoAllow }) => {
      const seen = worldOf((await createShop(mesh, policies)).api, { autoAllow })
      const passing = (to: { application: string; service?: string }) =>
        ['other', 'web'].flatMap((from) =>
          ['GET', 'POST'].flatMap((method) =>
            passes(seen, from, to, { port: 9113, method }) ? [`${from} ${method}`] : [],
          ),
        )
      // istiod's own policy shuts the way past the waypoint of an application without policies
      const isShut = autoAllow && policies.length === 0 && mesh.waypoint !== false
      expect(passing({ application: 'db', service: 'db' })).toEqual(atService)
      expect(passing({ application: 'db' })).toEqual(isShut ? [] : pod)
    },
  )
})

describe('a workload that is not on the mesh', () => {
  test('a workload that is not on the mesh is no business of the beacon, hardened or not', async () => {
    const { api } = await createShop({ hardened: true }, [READ])
    const seen = worldOf(api, { autoAllow: false })
    expect(passes(seen, 'web', { application: 'idle', service: 'idle' })).toBe(true)
  })
})
