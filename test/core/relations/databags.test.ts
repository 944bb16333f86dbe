import { describe, expect, test } from 'vitest'
import { remove, view } from '../../helpers/application.ts'
import { createWorld, event, NAMESPACE, service, type World, workload } from '../../helpers/world.ts'

const http = (application: string, remote: string, role: 'provides' | 'requires', name = 'http') => ({
  application,
  relation: { id: 5, endpoint: 'website', interface: name, role },
  remote: { application: remote, data: {} },
})

/** `web` provides a website to `proxy`; both are told of by meshstep, and there is a sink. */
const related = async (name = 'http') => {
  const world = createWorld([workload(), service(), workload('StatefulSet', 'proxy'), service('proxy')])
  for (const application of ['web', 'proxy']) await world.send('config-changed', { application, config: {} })
  await world.send('relation-changed', http('web', 'proxy', 'provides', name))
  await look(world)
  return world
}

/** What the sink passes on: the other side looks. */
const look = async (world: World) => {
  for (let sent = world.published.shift(); sent; sent = world.published.shift())
    if (sent.type.startsWith('dev.meshstep.relation-')) await world.post(sent)
    else announced.push(sent)
}

const announced: { type: string; subject?: string | undefined; data?: unknown }[] = []

/** What the sink was told of settings since it was asked last. */
const told = () => announced.splice(0).map(({ type, data }) => [type, data])

const heard = async (world: World, application = 'proxy') =>
  ((await view(world, application)) as unknown as { databags: unknown[] }).databags

const refusal = async (world: World, type: string, data: Record<string, unknown>) => {
  const response = await world.post(event(type, data))
  return [response.status, await response.text()]
}

const CHANGED = [
  'dev.meshstep.settings-changed.v1',
  { namespace: NAMESPACE, application: 'proxy', relation: { id: 5, endpoint: 'website', application: 'web' } },
]

describe('what an application says in its relations besides their protocols', () => {
  test.each<[string, Record<string, unknown>]>([
    ['its config', { config: { databag: { website: { colour: 'blue' } } } }],
    ['its leader', { databag: { website: { colour: 'blue' } }, unit: 'web/0' }],
    ['a person', { databag: { website: { colour: 'blue' } } }],
  ])('is told by %s, read at the other side, and announced there once', async (_, data) => {
    const world = await related()
    await world.send('leader-elected', { unit: 'web/0', epoch: 1 })
    await world.send('config-changed', data)
    await look(world)
    expect(await heard(world)).toEqual([
      { relation: 5, endpoint: 'website', application: 'web', data: { colour: 'blue' } },
    ])
    expect(told()).toEqual([CHANGED])
    await world.send('resync', { application: 'proxy' })
    await look(world)
    expect(told()).toEqual([])
  })

  test('is announced when it changes, and when it is over', async () => {
    const world = await related()
    for (const colour of ['blue', 'red']) {
      await world.send('config-changed', { databag: { website: { colour } } })
      await look(world)
      expect(told()).toEqual([CHANGED])
    }
    await world.send('config-changed', { databag: {} })
    await look(world)
    expect([told(), await heard(world)]).toEqual([[CHANGED], []])
    await world.send('config-changed', { databag: { website: { colour: 'green' } } })
    await look(world)
    told()
    await world.send('relation-broken', { relation: { id: 5 } })
    await look(world)
    expect([told(), await heard(world)]).toEqual([[CHANGED], []])
  })

  test('is announced again until the sink takes it, as the same event', async () => {
    const world = await related()
    await world.send('config-changed', { databag: { website: { colour: 'blue' } } })
    const refused: string[] = []
    world.sink = async (sent) => {
      if (sent.type === 'dev.meshstep.settings-changed.v1') refused.push(sent.id)
      return sent.type === 'dev.meshstep.settings-changed.v1' ? 503 : 202
    }
    expect((await world.post(event('resync', { application: 'proxy' }))).status).toBe(503)
    world.sink = undefined
    await world.send('resync', { application: 'proxy' })
    const ids = world.published.filter(({ type }) => type === 'dev.meshstep.settings-changed.v1').map(({ id }) => id)
    expect(ids).toEqual([...new Set(refused)])
    await look(world)
    told()
    await world.send('resync', { application: 'proxy' })
    await look(world)
    expect(told()).toEqual([])
  })

  test('of its own settings its units are told', async () => {
    const world = await related()
    await world.send('config-changed', { settings: { key: 'a' } })
    await look(world)
    expect(told()).toEqual([['dev.meshstep.settings-changed.v1', { namespace: NAMESPACE, application: 'web' }]])
    await world.send('config-changed', { config: { settings: { key: 'b', more: 'c' } } })
    expect((await view(world)).settings).toEqual({ key: 'b', more: 'c' })
  })

  test('is refused from a unit that does not lead, and stays when the unit that asked is gone', async () => {
    const world = await related()
    await world.send('leader-elected', { unit: 'web/0', epoch: 1 })
    const databag = { website: { database: 'orders' } }
    expect(await refusal(world, 'config-changed', { databag, unit: 'web/1' })).toEqual([
      403,
      expect.stringContaining('web/1 does not lead'),
    ])
    await world.send('config-changed', { databag, unit: 'web/0' })
    remove(world, 'Pod', 'web-0')
    await world.send('resync', {})
    await look(world)
    told()
    expect(await heard(world)).toMatchObject([{ data: { database: 'orders' } }])
  })
})

describe('what a unit says', () => {
  const pod = (world: World, name = 'web-0') => ({ name, uid: world.object('Pod', name)?.metadata.uid })

  test('is told under its name, and goes with it', async () => {
    const world = await related()
    await world.send('pod-restarted', { pod: pod(world), unit: 'web/0', databag: { website: { host: 'a' } } })
    await look(world)
    expect(await heard(world)).toMatchObject([{ data: {}, units: { 'web/0': { host: 'a' } } }])
    expect(told()).toEqual([CHANGED])
    await world.send('pod-restarted', { pod: pod(world), gone: true })
    remove(world, 'Pod', 'web-0')
    await world.send('resync', {})
    await look(world)
    expect([told(), await heard(world)]).toEqual([[CHANGED], []])
  })

  test('is not said for another unit', async () => {
    const world = await related()
    const data = { pod: pod(world), unit: 'web/1', databag: { website: { host: 'a' } } }
    expect(await refusal(world, 'pod-restarted', data)).toEqual([
      403,
      expect.stringContaining('web/1 is not the unit of the pod'),
    ])
  })
})

describe('a key that a protocol owns', () => {
  test.each([
    ['service_mesh', 'policies'],
    ['cross_model_mesh', 'cmr_data'],
    ['cluster', 'worker_config'],
    ['k8s-service', 'service-port'],
    ['k8s-service', '_supported_versions'],
    ['http', 'scrape_jobs'],
  ])('of %s is refused, with the reason: %s', async (name, key) => {
    const world = await related(name)
    const databag = { website: { [key]: 'forged' } }
    const reason = `data.databag.website.${key}: the interface ${name} has this key itself`
    expect(await refusal(world, 'config-changed', { databag })).toEqual([400, expect.stringContaining(reason)])
    expect(await refusal(world, 'config-changed', { config: { databag } })).toEqual([
      400,
      expect.stringContaining(reason),
    ])
  })

  test('is left out, and told, where the relation comes later', async () => {
    const world = createWorld()
    await world.send('config-changed', { config: { databag: { website: { policies: '[]', colour: 'blue' } } } })
    const outcome = await world.send('relation-changed', http('web', 'proxy', 'provides', 'service_mesh'))
    expect(outcome.messages.join()).toContain(
      'databag.website.policies: the interface service_mesh has this key itself; left out',
    )
    expect(JSON.stringify(world.memory()?.state.published)).toContain('blue')
  })

  test.each([[[0, 1]], [[0]], [[1]]])('is said beside others, in whichever version: %j', async (versions) => {
    const world = await related('k8s-service')
    const config = { databag: { website: { colour: 'blue' } }, services: { website: { name: 'web', port: 80 } } }
    await world.send('config-changed', { config: { ...config, versions: { 'k8s-service': versions } } })
    await look(world)
    told()
    expect(await heard(world)).toMatchObject([{ data: { colour: 'blue' } }])
    expect((await view(world, 'proxy')).services).toMatchObject([{ port: 80 }])
  })
})
