import { describe, expect, test } from 'vitest'
import { unreadyReasons } from '../../../../src/core/reconcile/record/application-status.ts'
import type { KubernetesObject } from '../../../../src/platform/kubernetes/objects.ts'
import type { ApplicationView } from '../../../../src/serve/http/applications.ts'
import { configure, createMesh, edit, requires } from '../../../helpers/beacon-world.ts'
import type { World } from '../../../helpers/world.ts'

const DB = { application: 'db' }
const ACTIVE = { status: 'active', message: '' } as const
const NOTHING = { running: {}, waiting: [], plan: { conflicts: [], problems: [] } }
const wait = (message: string) => ({ held: message, for: ['shop/db'], message })

/** A Deployment with both pods available, of which the second may have an earlier template. */
const deployment = (updatedReplicas: number, spec = {}): KubernetesObject => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment' },
  metadata: { name: 'web', namespace: 'shop', generation: 2 },
  spec: { replicas: 2, ...spec },
  status: { observedGeneration: 2, replicas: 2, availableReplicas: 2, updatedReplicas },
})

const viewOf = async ({ app }: World): Promise<ApplicationView> =>
  (await (await app.request('/applications/shop/db')).json()) as ApplicationView

describe('an application is ready', () => {
  test('an application is ready if it is active and nothing is open', () => {
    expect(unreadyReasons({ status: 'active', message: 'all roles ready' }, NOTHING, [])).toEqual([])
    expect(unreadyReasons(ACTIVE, { ...NOTHING, running: { workload: deployment(2) } }, [])).toEqual([])
  })

  test.each(['error', 'blocked', 'maintenance', 'waiting', 'removed'] as const)(
    'an application that is %s is not ready, and its message says why',
    (status) => {
      expect(unreadyReasons({ status, message: 'why' }, NOTHING, [])).toEqual([`it is ${status}: why`])
      expect(unreadyReasons({ status, message: '' }, NOTHING, [])).toEqual([`it is ${status}`])
    },
  )

  test('each wait is a reason once, also where the status has its message', () => {
    const waiting = [wait('a is away'), { ...wait('b is away'), since: '2026-01-01T00:00:00Z' }]
    const status = { status: 'waiting', message: 'a is away (and 1 more)' } as const
    const told = ['it is waiting: a is away (and 1 more)', 'b is away (since 2026-01-01T00:00:00Z)']
    expect(unreadyReasons(status, { ...NOTHING, waiting }, [])).toEqual(told)
  })

  test('what cannot be read, served or applied is a reason', () => {
    const plan = { conflicts: [], problems: ['no right to read it'] }
    expect(unreadyReasons(ACTIVE, { ...NOTHING, plan }, ['refused'])).toEqual(['refused', 'no right to read it'])
  })

  test('a conflict that is a wait already is no reason of its own', () => {
    const object = 'Service shop/db'
    const conflicts = [
      { object, manager: 'helm' },
      { object, manager: 'helm', key: 'istio.io/use-waypoint', wanted: 'a' },
      { object, manager: 'helm', key: 'team', wanted: 'a' },
      { object, manager: 'helm', key: 'spec.ports' },
    ]
    expect(unreadyReasons(ACTIVE, { ...NOTHING, plan: { conflicts, problems: [] } }, [])).toEqual(
      ['team', 'spec.ports'].map(
        (key) => `helm holds ${key} on Service shop/db: make it stop, or no longer request the key`,
      ),
    )
  })

  test('a rollout is a reason until all pods have the present template, unless somebody holds it back', () => {
    const reasons = (workload: KubernetesObject) => unreadyReasons(ACTIVE, { ...NOTHING, running: { workload } }, [])
    expect(reasons(deployment(1))).toEqual(['the rollout of Deployment shop/web is not complete'])
    expect(reasons(deployment(2))).toEqual([])
    expect(reasons(deployment(1, { paused: true }))).toEqual([])
  })
})

describe('GET /applications says why an application is not ready', () => {
  test('GET /applications says why an application is not ready, until nothing is open', async () => {
    const world = createMesh(['db'])
    await configure(world, { mesh: {} })
    await configure(world, { service: 'away' }, DB)
    await world.send('relation-changed', requires(7, DB))
    const { status, waiting, unready } = await viewOf(world)
    expect([status.status, waiting.length]).toEqual(['waiting', unready.length])
    expect(unready[0]).toMatch(/^it is waiting: .*Service shop\/away/)
    await configure(world, {}, DB)
    expect(await viewOf(world)).toMatchObject({ status: ACTIVE, unready: [] })
  })

  test('a label that somebody else holds keeps an active application from being ready', async () => {
    const world = createMesh(['db'])
    edit(world, '/apis/apps/v1/namespaces/shop/statefulsets/db', {
      spec: { template: { metadata: { labels: { team: 'red' } } } },
    })
    await configure(world, { labels: { team: 'green' } }, DB)
    expect(await viewOf(world)).toMatchObject({
      ...{ status: ACTIVE, waiting: [] },
      unready: ['kubectl-edit holds team on StatefulSet shop/db: make it stop, or no longer request the key'],
    })
    await configure(world, {}, DB)
    expect(await viewOf(world)).toMatchObject({ status: ACTIVE, unready: [] })
  })

  test('a document that is refused keeps an active application from being ready', async () => {
    const world = createMesh(['db'])
    await configure(world, {}, DB)
    const metadata = { name: 'db', namespace: 'shop', labels: { 'meshstep.dev/kind': 'config' } }
    const data = { application: 'db', config: '{ polices: [] }' }
    world.api.seed([{ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }])
    expect(await viewOf(world)).toMatchObject({ status: ACTIVE, unready: [expect.stringContaining('polices')] })
  })
})
