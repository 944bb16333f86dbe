import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { judge, type Sight, withConditions } from '../../../../src/core/reconcile/record/conditions.ts'
import { emptyState, type State } from '../../../../src/core/state/state.ts'
import type { Report, WorkloadStatus } from '../../../../src/core/units/report.ts'
import { withReport } from '../../../../src/core/units/reports.ts'
import { noUnits, observePods, Units } from '../../../../src/core/units/units.ts'
import { condition, waitFor } from '../../../../src/platform/base/condition.ts'
import type { KubernetesObject } from '../../../../src/platform/kubernetes/objects.ts'
import { configure, createMesh, edit, related, requires } from '../../../helpers/beacon-world.ts'
import { FORBIDDEN } from '../../../helpers/world.ts'
import { viewOf } from '../../answers.ts'

const WEB = { workload: 'web', type: 'stateless' } as const
const NOW = new Date('2026-01-01T00:10:00Z')
const ORDER: WorkloadStatus[] = ['error', 'blocked', 'maintenance', 'waiting', 'active']

/** Pods that were made at a minute of that hour, each with what it reported, oldest report first. */
const unitsOf = (
  pods: Record<string, readonly (readonly [WorkloadStatus, string])[]>,
  minutes: Readonly<Record<string, number>> = {},
): Units =>
  Object.entries(pods).reduce((units, [uid, reports]) => {
    const created = new Date(Date.UTC(2026, 0, 1, 0, minutes[uid] ?? 0)).toISOString()
    const there = observePods(units, { added: { name: `web-${uid}`, uid, created } }, WEB)
    return Units.parse(
      reports.reduce((before, [status, message]) => withReport(before, 'web', { uid }, { status, message }), there),
    )
  }, noUnits())

type Facts = Partial<Omit<Sight, 'desired'>> & {
  unserved?: readonly string[]
  refusedLabels?: readonly string[]
  memory?: Partial<State>
  reports?: readonly Report[]
  blocked?: readonly string[]
}

const judged = ({ memory, reports = [], blocked = [], unserved = [], refusedLabels = [], ...sight }: Facts) =>
  judge(
    { kinds: () => [], reports: () => [...reports] },
    { namespace: 'shop', application: 'web' },
    { ...emptyState(), ...memory },
    { state: { relations: {} }, blocked } as never,
    { running: {}, held: [], now: NOW, desired: { unserved, labels: { refused: refusedLabels } }, ...sight },
  )

const status = (facts: Facts) => judged(facts).application
const messages = (facts: Facts) => judged(facts).conditions.map(({ message }) => message)

const ACTIVE = ['active', ''] as const
const REFUSED = ['Gateway a: no', 'Gateway b: no'].map((why) => condition('Error', 'Refused', 'a', why))
const AWAY = waitFor(['shop/db'], 'PeerDataUnknown', 'relation 3 (db)', 'relation 3 (db): waiting for port')

/** A Deployment of two pods, of which some are available, and some have the present template. */
const deployment = (updatedReplicas: number, spec = {}, availableReplicas = 2): KubernetesObject => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment' },
  metadata: { name: 'web', namespace: 'shop', generation: 2 },
  spec: { replicas: 2, ...spec },
  status: { observedGeneration: 2, replicas: 2, availableReplicas, updatedReplicas },
})

describe('the status of an application', () => {
  test.each<[string, Facts, WorkloadStatus, string]>([
    ['nothing is wrong', {}, 'active', ''],
    ['versions', { blocked: ['v1 and v3'] }, 'blocked', 'v1 and v3'],
    ['a cluster', { reports: [{ status: 'waiting', message: 'for a worker' }] }, 'waiting', 'for a worker'],
    [
      'two features',
      { reports: ['one', 'two'].map((message) => ({ status: 'blocked', message })) },
      'blocked',
      'one (and 1 more)',
    ],
    [
      'no leader',
      { memory: { pending: [{ unit: 'web/1', data: {} } as never] } },
      'waiting',
      'no leader: what web/1 asked for is applied once web/1 is elected',
    ],
    ['no pod', { memory: { config: { workload: { podSpec: {} } } as never } }, 'waiting', 'no unit is there yet'],
    ['a pod that says nothing', { memory: { units: unitsOf({ a: [] }) } }, 'active', ''],
    ['what is refused', { held: REFUSED }, 'error', 'Gateway a: no (and 1 more)'],
    [
      'a namesake',
      { running: { namesake: deployment(2) } },
      'blocked',
      "Deployment shop/web is somebody else's: the application's own is not deployed",
    ],
    ['an address', { held: [AWAY] }, 'waiting', 'relation 3 (db): waiting for port'],
    [
      'a label that is refused',
      { refusedLabels: ['config: label a is not applied'] },
      'blocked',
      'config: label a is not applied',
    ],
    ['data that cannot be read', { unserved: ['relation 3: no number'] }, 'waiting', 'relation 3: no number'],
    ['pods', { running: { workload: deployment(2, {}, 0) } }, 'waiting', '0 of 2 pods are available'],
    [
      'a rollout',
      { running: { workload: deployment(1) } },
      'waiting',
      'the rollout of Deployment shop/web is not complete',
    ],
    ['a rollout that is held back', { running: { workload: deployment(1, { paused: true }) } }, 'active', ''],
    [
      'a unit',
      { memory: { units: unitsOf({ a: [ACTIVE, ['blocked', 'no licence']] }) } },
      'blocked',
      'web/0: no licence',
    ],
    ['a unit without words', { memory: { units: unitsOf({ a: [ACTIVE, ['error', '']] }) } }, 'error', 'web/0: error'],
    ['an active unit with words', { memory: { units: unitsOf({ a: [['active', 'ready']] }) } }, 'active', 'ready'],
    [
      'two active units, with words',
      { memory: { units: unitsOf({ a: [['active', 'one']], b: [['active', 'two']] }) } },
      'active',
      'one',
    ],
  ])('%s', (_, facts, wanted, message) => {
    expect(status(facts)).toEqual({ status: wanted, message })
  })

  test('pods that are missing are no failure of their workload, and neither is what a unit waits for', () => {
    const { metadata, status, ...rest } = deployment(2, {}, 0)
    const failed = { type: 'ReplicaFailure', status: 'True', message: 'exceeded quota' }
    const workload = { ...rest, metadata, status: { ...status, conditions: [failed] } } as KubernetesObject
    const reports: Report[] = [{ status: 'waiting', message: 'for a worker' }]
    expect(judged({ running: { workload }, reports }).conditions).toMatchObject([
      { reason: 'WorkloadFailing', message: 'Deployment web: exceeded quota' },
      { reason: 'PodsUnavailable', message: '0 of 2 pods are available' },
      { reason: 'Reported', message: 'for a worker' },
    ])
  })

  test('it is active exactly where nothing is open', () => {
    expect(judged({})).toEqual({ conditions: [], application: { status: 'active', message: '' } })
    expect(messages({ held: [...REFUSED, AWAY], unserved: ['x'] })).toEqual(
      [...REFUSED, AWAY].map(({ message }) => message).concat('x'),
    )
  })

  test('what is added counts, unless the application is removed', () => {
    const refused = condition('Blocked', 'DocumentRefused', 'ConfigMap shop/web', 'no')
    expect(withConditions(judged({}), [refused])).toEqual({
      conditions: [refused],
      application: { status: 'blocked', message: 'no' },
    })
    const removed = judged({ memory: { removed: NOW.toISOString() } })
    expect(withConditions(removed, [refused]).application.status).toBe('removed')
  })

  test('a removed application waits until it has nothing more to wait for', () => {
    const memory = { removed: NOW.toISOString() }
    expect(status({ memory, held: [AWAY] }).status).toBe('waiting')
    expect(status({ memory, held: REFUSED }).status).toBe('error')
    expect(status({ memory, running: { workload: deployment(2, {}, 0) } })).toEqual({ status: 'removed', message: '' })
  })

  test('the worse goes first, whatever the order', () => {
    const reports = fc.uniqueArray(fc.constantFrom(...ORDER), { minLength: 1 })
    fc.assert(
      fc.property(reports, fc.constantFrom(...ORDER), (said, cluster) => {
        const pods = Object.fromEntries(said.map((one, index) => [`p${index}`, [ACTIVE, [one, 'x'] as const]]))
        const worst = ORDER.find((one) => one === cluster || said.includes(one))
        expect(status({ memory: { units: unitsOf(pods) }, reports: [{ status: cluster, message: 'y' }] }).status).toBe(
          worst,
        )
      }),
    )
  })
})

describe('what a unit says', () => {
  const NEW = { b: 8 }

  test.each<[string, Units, WorkloadStatus, string]>([
    ['blocks before its first active', unitsOf({ a: [['blocked', 'no relation']] }), 'blocked', 'web/0: no relation'],
    ['is an error before its first active', unitsOf({ a: [['error', 'hook failed']] }), 'error', 'web/0: hook failed'],
    ['blocks while another has said nothing', unitsOf({ a: [ACTIVE, ['blocked', 'x']], b: [] }), 'blocked', 'web/0: x'],
    ['blocks, whichever came first', unitsOf({ a: [], b: [['blocked', 'x']] }), 'blocked', 'web/1: x'],
    ['is told while another is active', unitsOf({ a: [ACTIVE], b: [['blocked', 'x']] }), 'blocked', 'web/1: x'],
    [
      'is no matter as it takes over from an active one',
      unitsOf({ a: [ACTIVE], b: [['blocked', 'x']] }, NEW),
      'active',
      '',
    ],
    ['is an error even then', unitsOf({ a: [ACTIVE], b: [['error', 'x']] }, NEW), 'error', 'web/1: x'],
    [
      'waits while it takes over from one that says its last',
      unitsOf({ a: [ACTIVE, ['blocked', 'gone']], b: [['blocked', 'x']] }, NEW),
      'waiting',
      'web/0: gone (and 1 more)',
    ],
    [
      'waits when another takes over that has said nothing yet',
      unitsOf({ a: [ACTIVE, ['blocked', 'gone']], b: [] }, NEW),
      'waiting',
      'web/0: gone',
    ],
    [
      'has started once it was active',
      unitsOf({ a: [ACTIVE], b: [ACTIVE, ['blocked', 'x']] }, NEW),
      'blocked',
      'web/1: x',
    ],
  ])('%s', (_, units, wanted, message) => {
    expect(status({ memory: { units } })).toEqual({ status: wanted, message })
  })

  test('what a unit says counts after five minutes, whoever it took over from', () => {
    const units = unitsOf({ a: [ACTIVE], b: [['blocked', 'x']] }, NEW)
    const at = (minute: number) => status({ memory: { units }, now: new Date(Date.UTC(2026, 0, 1, 0, minute)) }).status
    expect([at(12), at(13)]).toEqual(['active', 'blocked'])
  })

  test('what a unit says waits as another pod of the same number takes over', () => {
    const pods = ['2026-01-01T00:00:00Z', '2026-01-01T00:08:00Z'].map((created) => ({
      name: 'web-0',
      uid: created,
      created,
    }))
    const units = pods.reduce((before, added) => observePods(before, { added }, { workload: 'web' }), noUnits())
    const report: Report = { status: 'blocked', message: 'x' }
    expect(status({ memory: { units: withReport(units, 'web', { unit: 'web/0' }, report) } })).toEqual({
      status: 'waiting',
      message: 'web/0 is starting: x',
    })
  })
})

describe('who has no say', () => {
  const there = unitsOf({ a: [ACTIVE], b: [ACTIVE] })
  const units = observePods(there, { gone: 'b' }, WEB)
  const blocked: Report = { status: 'blocked', message: 'x' }

  test.each([
    ['a pod that is gone', { uid: 'b' }],
    ['a pod that is gone, in the name of one that is there', { uid: 'b', unit: 'web/0' }],
    ['a unit that is gone', { unit: 'web/1' }],
    ['a pod that nobody told of', { uid: 'z' }],
    ['a unit that never was', { unit: 'web/7' }],
    ['nobody', {}],
  ])('%s', (_, reporter) => {
    expect(withReport(units, 'web', reporter, blocked)).toBe(units)
    expect(status({ memory: { units } }).status).toBe('active')
  })

  test.each([{ uid: 'a' }, { unit: 'web/0' }, { unit: 'web-a' }])('a unit has its say, told as %j', (reporter) => {
    expect(status({ memory: { units: withReport(units, 'web', reporter, blocked) } })).toEqual({
      status: 'blocked',
      message: 'web/0: x',
    })
  })
})

const DB = { application: 'db' }

describe('GET /applications has the conditions of an application', () => {
  test('GET /applications has the conditions of an application, until nothing is open', async () => {
    const world = createMesh(['db'])
    await configure(world, { mesh: {} })
    await configure(world, { service: 'away' }, DB)
    await world.send('relation-changed', requires(7, DB))
    const { status, conditions } = await viewOf(world)
    expect(status.status).toBe('waiting')
    expect(conditions[0]).toMatchObject({ reason: 'NotFound', message: expect.stringContaining('Service shop/away') })
    await configure(world, {}, DB)
    expect(await viewOf(world)).toMatchObject({ status: { status: 'active' }, conditions: [] })
  })

  test('a label that somebody else holds keeps an application from being active', async () => {
    const world = createMesh(['db'])
    edit(world, '/apis/apps/v1/namespaces/shop/statefulsets/db', {
      spec: { template: { metadata: { labels: { team: 'red' } } } },
    })
    await configure(world, { labels: { team: 'green' } }, DB)
    expect(await viewOf(world)).toMatchObject({
      status: { status: 'waiting' },
      conditions: [
        {
          ...{ reason: 'LabelHeld', object: 'label team of StatefulSet shop/db', for: ['kubectl-edit'] },
          message: 'kubectl-edit holds team on StatefulSet shop/db: make it stop, or no longer request the key',
        },
      ],
    })
    await configure(world, {}, DB)
    expect(await viewOf(world)).toMatchObject({ status: { status: 'active' }, conditions: [] })
  })

  test('a document that is refused keeps an application from being active', async () => {
    const world = createMesh(['db'])
    await configure(world, {}, DB)
    const metadata = { name: 'db', namespace: 'shop', labels: { 'meshstep.dev/kind': 'config' } }
    const data = { application: 'db', config: '{ polices: [] }' }
    world.api.seed([{ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }])
    expect(await viewOf(world)).toMatchObject({
      status: { status: 'blocked' },
      conditions: [{ reason: 'DocumentRefused', message: expect.stringContaining('polices') }],
    })
  })

  test('a document that is refused is told by the steps too', async () => {
    const world = createMesh(['db'])
    await configure(world, {}, DB)
    const metadata = { name: 'db', namespace: 'shop', labels: { 'meshstep.dev/kind': 'config' } }
    const data = { application: 'db', config: '{ polices: [] }' }
    world.api.seed([{ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }])
    const { conditions, applicationStatus } = await world.send('resync', DB)
    expect(conditions).toMatchObject([{ reason: 'DocumentRefused', object: 'ConfigMap shop/db' }])
    expect(applicationStatus).toMatchObject({ status: 'blocked' })
    expect(await viewOf(world)).toMatchObject({ conditions, status: applicationStatus })
  })

  test('a document that is taken is no condition of the steps', async () => {
    const world = createMesh(['db'])
    const metadata = { name: 'db', namespace: 'shop', labels: { 'meshstep.dev/kind': 'config' } }
    const data = { application: 'db', config: '{ settings: { a: b } }' }
    world.api.seed([{ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }])
    const { conditions = [] } = await world.send('resync', DB)
    expect(world.memory('db')?.state.document).toBe('db')
    expect(conditions).toEqual([])
  })

  test('an expectation that is not met keeps an application from being active', async () => {
    const world = createMesh(['db', 'web'])
    await configure(world, { mesh: {} })
    for (const [id, application] of ['db', 'web'].entries())
      await world.send('relation-changed', requires(7 + id, { application }))
    const expect_ = [{ from: 'shop/web', to: 'shop/db', port: 80, allowed: false }]
    const { conditions } = await configure(world, { expect: expect_ }, DB)
    expect(conditions).toMatchObject([{ reason: 'ExpectationUnmet' }])
    expect(await viewOf(world)).toMatchObject({ status: { status: 'waiting' }, conditions })
    await configure(world, {}, DB)
    expect(await viewOf(world)).toMatchObject({ status: { status: 'active' }, conditions: [] })
  })

  test('labels of a Service that are refused do not blame the pods of the application', async () => {
    const world = createMesh(['db'])
    await configure(world, {}, DB)
    world.intercept = (request) =>
      request.method === 'PATCH' && request.path.includes('/services/db') ? FORBIDDEN : undefined
    await configure(world, { mesh: {} })
    await world.send('relation-changed', requires(7, DB))
    const { conditions } = await world.send('resync', DB)
    expect(conditions).toContainEqual(expect.objectContaining({ reason: 'Refused', object: 'Service shop/db' }))
    expect((conditions ?? []).map(({ reason }) => reason)).not.toContain('SpecRefused')
    expect((await viewOf(world)).status.status).toBe('error')
  })

  test('pods that are off the mesh are told by a following step, whatever it is about, and since when', async () => {
    const world = createMesh(['db'])
    await configure(world, { mesh: {} })
    await world.send('relation-changed', requires(7, DB))
    for (const name of ['db-0', 'db-1'])
      edit(world, `/api/v1/namespaces/shop/pods/${name}`, {
        metadata: { annotations: { 'ambient.istio.io/redirection': 'disabled' } },
      })
    const first = await world.send('resync', DB)
    expect(first.conditions).toMatchObject([{ reason: 'PodsOffMesh' }])
    await world.clock.sleep(3_600_000)
    const next = await configure(world, { labels: {} }, DB)
    expect(next.conditions).toEqual(first.conditions)
    expect((await viewOf(world)).conditions).toEqual(first.conditions)
  })

  test('what the next event mends is due until then', async () => {
    const world = createMesh(['db'])
    await configure(world, { mesh: {} })
    await configure(world, {}, DB)
    await world.send('relation-changed', requires(7, DB))
    expect(await viewOf(world)).toMatchObject({ status: { status: 'active' }, conditions: [] })
    edit(world, '/apis/apps/v1/namespaces/shop/statefulsets/db', {
      spec: { template: { metadata: { labels: { 'istio.io/use-waypoint': null } } } },
    })
    expect(await viewOf(world)).toMatchObject({ status: { status: 'waiting' }, conditions: [{ reason: 'Due' }] })
    await world.send('resync', DB)
    expect(await viewOf(world)).toMatchObject({ status: { status: 'active' }, conditions: [] })
  })

  test('policies that another publishes, and that are not as its config says, are due', async () => {
    const world = createMesh(['db', 'web'], false)
    const deliver = async () => {
      for (let next = world.published.shift(); next; next = world.published.shift()) await world.post(next)
    }
    const policies = [{ type: 'app', relation: 'database', endpoints: [] }]
    await configure(world, { mesh: {} })
    await configure(world, { policies }, DB)
    for (const [id, application] of ['db', 'web'].entries())
      await world.send('relation-changed', requires(7 + id, { application }))
    await world.send('relation-changed', related(20, 'database', { application: 'web' }, DB))
    await deliver()
    expect(await viewOf(world)).toMatchObject({ status: { status: 'active' }, conditions: [] })
    await configure(world, { mesh: {}, trustDomain: 'example.org' })
    expect(await viewOf(world)).toMatchObject({
      status: { status: 'waiting' },
      conditions: [{ reason: 'Due' }, { reason: 'Due' }],
    })
    await deliver()
    expect(await viewOf(world)).toMatchObject({ status: { status: 'active' }, conditions: [] })
  })
})
