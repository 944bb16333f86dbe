import { expect, test } from 'vitest'
import {
  createEmptyWorld,
  deployed,
  forget,
  patch,
  podSpec,
  remove,
  scale,
  writesOf,
} from '../../helpers/application.ts'
import { NAMESPACE, type World } from '../../helpers/world.ts'

const replicasOf = (world: World) => world.object('Deployment')?.spec?.replicas

test('a number of replicas that is told no more stays, and whoever scales then has the say', async () => {
  const world = createEmptyWorld()
  await world.send('config-changed', deployed({ replicas: 3 }))
  await world.send('config-changed', deployed())
  expect(replicasOf(world)).toBe(3)
  await world.send('config-changed', deployed({ podSpec: podSpec('web:2') }))
  expect(replicasOf(world)).toBe(3)
  scale(world, 5)
  await world.send('config-changed', deployed({ podSpec: podSpec('web:3') }))
  expect(replicasOf(world)).toBe(5)
  expect(await writesOf(world, () => world.send('resync', {}))).toEqual([])
})

test('what stands beside a workload goes when it is asked for no more, and drift in it is taken back', async () => {
  const world = createEmptyWorld()
  const parts = { configMaps: { 'web-settings': { a: '1' } }, podDisruptionBudget: { maxUnavailable: 1 } }
  await world.send('config-changed', deployed(parts))
  expect(world.object('PodDisruptionBudget')).toMatchObject({ spec: { maxUnavailable: 1 } })
  patch(world, 'ConfigMap', { data: { a: '2' } }, 'web-settings')
  await world.send('resync', {})
  expect(world.object('ConfigMap', 'web-settings')?.data).toEqual({ a: '1' })
  await world.send('config-changed', deployed())
  expect([world.object('PodDisruptionBudget'), world.object('ConfigMap', 'web-settings')]).toEqual([
    undefined,
    undefined,
  ])
})

test('no pods start with files of somebody else: they wait until the name is free', async () => {
  const world = createEmptyWorld()
  const settings = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'web-settings', namespace: NAMESPACE },
    data: {},
  }
  world.api.seed([settings], { manager: 'kubectl' })
  const config = deployed({ configMaps: { 'web-settings': { a: '1' } } })
  const { status, messages } = await world.send('config-changed', config)
  expect([status, world.object('Deployment'), world.object('ServiceAccount') === undefined]).toEqual([
    'conflict',
    undefined,
    false,
  ])
  expect(messages.join()).toContain(`waits for ConfigMap ${NAMESPACE}/web-settings`)
  remove(world, 'ConfigMap', 'web-settings')
  await world.send('resync', {})
  expect([world.object('ConfigMap', 'web-settings')?.data, replicasOf(world)]).toEqual([{ a: '1' }, 1])
})

test('pods are not replaced for files that the API server refuses', async () => {
  const world = createEmptyWorld()
  const files = (a: string) => deployed({ configMaps: { 'web-settings': { a } } })
  await world.send('config-changed', files('1'))
  const template = () => world.object('Deployment')?.spec?.template
  const before = template()
  const denied = { kind: 'Status', status: 'Failure', code: 403, message: 'exceeded quota' }
  world.intercept = ({ method, path }) =>
    method === 'PATCH' && path.includes('/configmaps/web-settings') && !path.includes('dryRun')
      ? { status: 403, headers: { 'content-type': 'application/json' }, body: JSON.stringify(denied) }
      : undefined
  expect((await world.send('config-changed', files('2'))).applicationStatus?.status).toBe('error')
  expect(template()).toEqual(before)
  world.intercept = undefined
  await world.send('resync', {})
  expect([world.object('ConfigMap', 'web-settings')?.data, template()]).toEqual([
    { a: '2' },
    expect.not.objectContaining(before ?? {}),
  ])
})

test('an account that the spec names and that is not there is told', async () => {
  const world = createEmptyWorld()
  const named = deployed({ podSpec: { ...podSpec(), serviceAccountName: 'other' } })
  const { messages } = await world.send('config-changed', named)
  expect(messages.join()).toContain(`ServiceAccount ${NAMESPACE}/other, which the pod spec names, does not exist`)
})

test('what stands beside a workload is left while the memory is lost, as the workload is', async () => {
  const world = createEmptyWorld()
  await world.send('config-changed', deployed({ configMaps: { 'web-settings': { a: '1' } } }))
  forget(world)
  await world.send('resync', { application: undefined })
  for (const one of world.published.filter(({ type }) => type.includes('resync'))) await world.post(one)
  expect(world.object('ConfigMap', 'web-settings')?.data).toEqual({ a: '1' })
  expect(world.object('Deployment')).toBeDefined()
})
