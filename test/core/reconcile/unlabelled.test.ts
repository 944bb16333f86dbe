import { describe, expect, test } from 'vitest'
import { unlabelledWaits } from '../../../src/core/reconcile/record/unlabelled-pods.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { application as page } from '../../../src/serve/page/views/application.ts'
import { configure, createMesh, objectsOf, requires } from '../../helpers/beacon-world.ts'
import { service, type World, workload } from '../../helpers/world.ts'
import { lintOf, viewOf } from '../answers.ts'

const DB = { application: 'db' }
const SETS = '/apis/apps/v1/namespaces/shop/statefulsets/db'
const DEPLOYMENTS = '/apis/apps/v1/namespaces/shop/deployments/db'
const PODS = '/api/v1/namespaces/shop/pods'
const LABELS =
  'istio.io/dataplane-mode=ambient, istio.io/use-waypoint=shop-beacon-waypoint, istio.io/use-waypoint-namespace=shop'

const patch = ({ api }: World, path: string, change: object) => {
  const headers = { 'content-type': 'application/merge-patch+json' }
  expect(api.handle({ method: 'PATCH', path, headers, body: JSON.stringify(change) }).status).toBe(200)
}
const remove = ({ api }: World, path: string) => api.handle({ method: 'DELETE', path, headers: {}, body: '' })
const podsOf = (world: World): KubernetesObject[] =>
  objectsOf(world, 'Pod').filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/name'] === 'db')

/** Two pods of `db`, whose workload is changed before it joins a mesh. */
const joined = async (kind: 'StatefulSet' | 'Deployment', change: object = {}): Promise<World> => {
  const world = createMesh()
  world.api.seed([workload(kind, 'db'), service('db')], { manager: 'juju' })
  patch(world, kind === 'StatefulSet' ? SETS : DEPLOYMENTS, { spec: { replicas: 2, ...change } })
  await configure(world, { mesh: {} })
  await world.send('relation-changed', requires(7, DB))
  return world
}

const resync = (world: World) => world.send('resync', DB)

const ON_DELETE = { updateStrategy: { type: 'OnDelete', rollingUpdate: null } }

describe('pods that no rollout gives the labels of their template', () => {
  test.each([
    ['StatefulSet', ON_DELETE, 'db-0, db-1', 'its updateStrategy is OnDelete', 'delete them'],
    [
      'StatefulSet',
      { updateStrategy: { rollingUpdate: { partition: 1 } } },
      'db-0',
      'its updateStrategy has the partition 1',
      'lower the partition',
    ],
    ['Deployment', { paused: true }, '', 'it is paused', 'resume its rollout'],
  ] as const)(
    'pods that no rollout gives the labels of their template are told by every answer: of a %s with %j',
    async (kind, change, names, why, end) => {
      const world = await joined(kind, change)
      const outcome = await resync(world)
      const which =
        names ||
        podsOf(world)
          .map(({ metadata }) => metadata.name)
          .join(', ')
      const message = `pods of ${kind} shop/db lack labels of its template, ${LABELS}, as ${why} (${which}): ${end}`
      const told = { message, since: expect.any(String), for: which.split(', ').map((name) => `Pod shop/${name}`) }
      expect(outcome).toMatchObject({
        status: 'waiting',
        conditions: [told],
        applicationStatus: { status: 'waiting', message },
      })
      const view = await viewOf(world)
      expect(view).toMatchObject({ conditions: [told], status: { status: 'waiting', message } })
      expect(await lintOf(world)).toContainEqual({
        rule: 'pods-unlabelled',
        about: 'shop/db',
        message: `${message} (since ${view.conditions[0]?.since})`,
      })
      expect(String(await page(view))).toContain(message)
    },
  )

  test('pods that no rollout gives the labels of their template are told by the step that labels the template', async () => {
    const world = createMesh(['db'], false)
    patch(world, SETS, { spec: ON_DELETE })
    await configure(world, { labels: { tier: 'a' } }, DB)
    expect(world.memory('db')).toBeDefined()
    const outcome = await configure(world, { labels: { tier: 'b' } }, DB)
    expect(outcome).toMatchObject({ status: 'waiting', conditions: [{ message: expect.stringContaining('tier=b') }] })
  })

  test('pods that no rollout gives the labels of their template are told until somebody deletes them', async () => {
    const world = await joined('StatefulSet', ON_DELETE)
    remove(world, `${PODS}/db-0`)
    expect(await resync(world)).toMatchObject({ conditions: [{ for: ['Pod shop/db-1'] }] })
    remove(world, `${PODS}/db-1`)
    expect(await resync(world)).toMatchObject({ status: 'unchanged', messages: [] })
    expect(await viewOf(world)).toMatchObject({ conditions: [], status: { status: 'active' } })
  })

  test('pods that no rollout gives the labels of their template are told to whoever asks where somebody has taken the labels off a pod', async () => {
    const world = await joined('StatefulSet')
    expect(await viewOf(world)).toMatchObject({ conditions: [], status: { status: 'active' } })
    patch(world, `${PODS}/db-1`, { metadata: { labels: { 'istio.io/dataplane-mode': null } } })
    expect((await viewOf(world)).status).toMatchObject({
      status: 'waiting',
      message:
        'pods of StatefulSet shop/db lack labels of its template, istio.io/dataplane-mode=ambient, as somebody has changed their labels (db-1): delete them; if new ones lack the labels as well, an admission webhook takes them off',
    })
  })

  test.each(['StatefulSet', 'Deployment'] as const)(
    'pods that no rollout gives the labels of their template are told by resyncs, and to whoever asks, where nothing controls a pod that a %s selects',
    async (kind) => {
      const world = await joined(kind)
      const [{ spec } = {}] = podsOf(world)
      const labels = { 'app.kubernetes.io/name': 'db' }
      const [{ spec: { selector = {} } = {} }] = objectsOf(world, kind).filter(
        ({ metadata }) => metadata.name === 'db',
      ) as [KubernetesObject]
      expect(selector).toEqual({ matchLabels: expect.objectContaining(labels) })
      world.api.seed(
        [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'by-hand', namespace: 'shop', labels }, spec }],
        { manager: 'somebody' },
      )
      expect(await lintOf(world)).toContainEqual({
        rule: 'pods-unlabelled',
        about: 'shop/db',
        message: expect.stringMatching(
          /^pods of \w+ shop\/db lack labels .*, as no workload controls them \(by-hand\): delete them, or give them the labels/,
        ),
      })
      expect(await resync(world)).toMatchObject({ status: 'waiting', conditions: [{ for: ['Pod shop/by-hand'] }] })
      remove(world, `${PODS}/by-hand`)
      expect((await viewOf(world)).conditions).toEqual([])
    },
  )
})

test('pods that a rollout is about to replace are no alarm', () => {
  const labels = { 'istio.io/dataplane-mode': 'ambient' }
  const { spec, ...object } = workload('StatefulSet', 'db')
  const pods = [{ ...object, kind: 'Pod', metadata: { name: 'db-0', namespace: 'shop' } }]
  const waitsWith = (updatedReplicas: number, desired: Record<string, string> = labels) => {
    const status = { replicas: 2, availableReplicas: 2, updatedReplicas }
    const running = { pods, workload: { ...object, spec: { ...spec, template: { metadata: { labels } } }, status } }
    return unlabelledWaits({ namespace: 'shop', application: 'db' }, running, desired)
  }
  expect(waitsWith(1)).toEqual([])
  expect(waitsWith(2)).toHaveLength(1)
  expect(waitsWith(2, {})).toEqual([])
})

test('a partition counts from the first ordinal', () => {
  const labels = { 'istio.io/dataplane-mode': 'ambient' }
  const { spec, ...object } = workload('StatefulSet', 'db')
  const pods = ['db-5', 'db-6'].map((name) => ({ ...object, kind: 'Pod', metadata: { name, namespace: 'shop' } }))
  const rollout = { ordinals: { start: 5 }, updateStrategy: { rollingUpdate: { partition: 1 } } }
  const running = { pods, workload: { ...object, spec: { ...spec, ...rollout, template: { metadata: { labels } } } } }
  expect(unlabelledWaits({ namespace: 'shop', application: 'db' }, running, labels)).toMatchObject([
    { for: ['Pod shop/db-5'], message: expect.stringContaining('its updateStrategy has the partition 1') },
  ])
})

test('a pod that is labelled in place, and replaced before its event, is told by every answer until it is labelled', async () => {
  const world = createMesh()
  world.api.seed([workload('StatefulSet', 'db'), service('db')], { manager: 'juju' })
  await configure(world, { mesh: {} })
  await configure(world, { enrolment: 'in-place' }, DB)
  await world.send('relation-changed', requires(7, DB))
  let isReplaced = false
  world.intercept = () => {
    const isWritten = podsOf(world).some(({ metadata: { name, labels } }) => name === 'db-0' && labels?.tier === 'red')
    if (isReplaced || !isWritten) return undefined
    isReplaced = true
    remove(world, `${PODS}/db-0`)
    return undefined
  }
  const outcome = await configure(world, { enrolment: 'in-place', labels: { tier: 'red' } }, DB)
  world.intercept = undefined
  expect(isReplaced).toBe(true)
  const told = {
    ...{ object: 'Pod shop/db-0', for: ['Pod shop/db-0'] },
    message: expect.stringMatching(/^Pod shop\/db-0 lacks labels, .*: its pod-restarted, or a resync, sets them$/),
  }
  expect(outcome).toMatchObject({ conditions: [told], applicationStatus: { status: 'waiting' } })
  expect(await viewOf(world)).toMatchObject({ conditions: [told], status: { status: 'waiting' } })
  await world.send('pod-restarted', { ...DB, pod: { name: 'db-0', uid: 'new' } })
  expect(await viewOf(world)).toMatchObject({ conditions: [], status: { status: 'active' } })
})
