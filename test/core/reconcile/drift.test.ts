import { expect, test } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import { type Kind, pathOf } from '../../../src/platform/kubernetes/objects.ts'
import { configure, createMesh, edit, path, policiesIn, remove } from '../../helpers/beacon-world.ts'
import { createWorld, meshRelation, service, setLabels, type World } from '../../helpers/world.ts'

const USE_WAYPOINT = 'istio.io/use-waypoint'

const joined = async (options: Parameters<typeof createWorld>[1] = {}): Promise<World> => {
  const world = createWorld(undefined, options)
  await world.send('relation-changed', meshRelation())
  return world
}

/** A log, and its lines. */
const kept = () => {
  const lines: Record<string, unknown>[] = []
  return { log: createLog('info', (line) => void lines.push(JSON.parse(line))), lines }
}

const repaired = (lines: readonly Record<string, unknown>[]) => lines.filter(({ msg }) => msg === 'drift repaired')

test('a resync names each label that it puts back, what it was and what it is', async () => {
  const world = await joined()
  setLabels(world, 'somebody', { [USE_WAYPOINT]: null }, 'services')
  const { drift } = await world.send('resync', {})
  expect(drift).toEqual([{ object: 'Service shop/web', label: USE_WAYPOINT, is: 'shop-beacon-waypoint' }])
})

test('a resync names each field of an object that it takes back, and an object that it makes again', async () => {
  const world = createMesh([], false)
  const meshPolicies = [
    {
      ...{ source_namespace: 'shop', source_app_name: 'a', target_namespace: 'shop', target_app_name: 'web' },
      ...{ target_selector_labels: null, target_service: null, target_type: 'app', endpoints: [] },
    },
  ]
  await configure(world, { meshPolicies })
  const [policy] = policiesIn(world)
  if (policy === undefined) throw new Error('expected a policy')
  const object = `AuthorizationPolicy shop/${policy.metadata.name}`
  edit(world, path(policy), { spec: { action: 'DENY' } })
  expect((await world.send('resync', { application: 'beacon' })).drift).toEqual([
    { object, field: 'spec.action', was: 'DENY', is: 'ALLOW' },
  ])
  remove(world, path(policy))
  expect((await world.send('resync', { application: 'beacon' })).drift).toEqual([{ object, is: 'there' }])
})

test('what is in a pod template or a file is not told', async () => {
  const world = createWorld([service('db')])
  const podSpec = (value: string) => ({ containers: [{ name: 'web', image: 'web:1', env: [{ name: 'A', value }] }] })
  await world.send('config-changed', { config: { workload: { podSpec: podSpec('password') } } })
  const made = world.object('Deployment') ?? world.object('StatefulSet')
  if (made === undefined) throw new Error('expected a workload')
  const { namespace, name } = made.metadata
  edit(world, pathOf({ kind: made.kind as Kind, namespace, name }), { spec: { template: { spec: podSpec('other') } } })
  const { drift } = await world.send('resync', {})
  expect(drift).toContainEqual(expect.objectContaining({ field: 'spec.template.spec.containers' }))
  expect(JSON.stringify(drift)).not.toMatch(/password|other"/)
})

test('there is no drift where nothing differs, and none of an event that asks for something else', async () => {
  const world = await joined()
  expect(await world.send('resync', {})).not.toHaveProperty('drift')
  expect(await world.send('config-changed', { config: { labels: { tier: 'a' } } })).not.toHaveProperty('drift')
})

test('a resync of the namespace names what each application took back, where the process is its own sink', async () => {
  const { log, lines } = kept()
  const world = await joined({ log, isOwnSink: true })
  setLabels(world, 'somebody', { [USE_WAYPOINT]: null }, 'services')
  const drift = [{ object: 'Service shop/web', label: USE_WAYPOINT, is: 'shop-beacon-waypoint' }]
  const all = { namespace: 'shop', application: undefined }
  expect((await world.send('resync', all)).effects).toContainEqual(
    expect.objectContaining({ application: 'web', drift }),
  )
  await world.send('resync', all)
  expect(repaired(lines)).toMatchObject([{ namespace: 'shop', application: 'web', drift }])
})

test('the log has one line for each application whose drift was repaired', async () => {
  const { log, lines } = kept()
  const world = await joined({ log })
  setLabels(world, 'somebody', { [USE_WAYPOINT]: null }, 'services')
  await world.send('resync', {})
  await world.send('resync', {})
  expect(repaired(lines)).toMatchObject([
    { namespace: 'shop', application: 'web', drift: [{ object: 'Service shop/web', label: USE_WAYPOINT }] },
  ])
})
