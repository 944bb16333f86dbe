import { describe, expect, test } from 'vitest'
import type { Event } from '../../../src/platform/cloudevents/cloud-event.ts'
import { createWorld, event, meshRelation, NAMESPACE, service, type World, workload } from '../../helpers/world.ts'

const refusal = async (world: World, ...sent: Parameters<World['post']>) => {
  const response = await world.post(...sent)
  return [response.status, await response.text()] as const
}

describe('the function of an event', () => {
  test('the function of an event is that of its type', async () => {
    const world = createWorld()
    expect(await world.send('config-changed', { config: {} })).toMatchObject({ application: 'web' })
    const [status, text] = await refusal(world, event('other', {}))
    expect([status, text]).toEqual([400, expect.stringContaining('got \\"dev.meshstep.other.v1')])
    expect(text).toContain('type: expected dev.meshstep.')
    expect(text).toContain('dev.meshstep.config-changed.v1')
  })

  test('the function of an event at a path takes no other type', async () => {
    const world = createWorld()
    expect((await world.post(event('resync', {}), '/resync')).status).toBe(200)
    expect(await refusal(world, event('resync', {}), '/config-changed')).toEqual([
      400,
      expect.stringContaining('type: expected dev.meshstep.config-changed.v1, got \\"dev.meshstep.resync.v1'),
    ])
    expect(await refusal(world, event('resync', {}), '/other')).toEqual([
      400,
      expect.stringMatching(/\/other: no such function is served here, but .*config-changed/),
    ])
  })
})

const fromSource = (type: string, data: unknown): Event => ({
  ...event('none', {}),
  ...{ type: `dev.knative.apiserver.${type}`, data },
})

const reference = (name: string) => ({ kind: 'Pod', namespace: NAMESPACE, name })

describe('an event of a source that names an object', () => {
  test('an event of a source that names an object is about the object as it is', async () => {
    const world = createWorld([workload(), service()])
    const answer = await (await world.post(fromSource('ref.add', reference('web-0')))).json()
    expect(answer).toMatchObject({ application: 'web', status: 'unchanged' })
  })

  test('an event of a source that names an object is ignored where the object is gone', async () => {
    const world = createWorld()
    const answer = await (await world.post(fromSource('ref.add', reference('web-7')))).json()
    expect(answer).toEqual({
      ...{ status: 'unchanged', written: [], conflicts: [] },
      messages: ['ignored: Pod shop/web-7 is gone'],
    })
  })

  test('an event of a source that names an object is for senders of the whole namespace, and is read for nobody else', async () => {
    const rights = new Set(['web'])
    const world = createWorld([workload(), service()], { allows: (about) => rights.has(about) })
    expect((await refusal(world, fromSource('ref.add', reference('web-0'))))[0]).toBe(403)
    expect(world.calls.filter((call) => call.includes('pods'))).toEqual([])
    rights.add('*')
    expect((await refusal(world, fromSource('ref.add', reference('web-7'))))[0]).toBe(200)
  })
})

const lease = (labels: Record<string, string>, holderIdentity?: string) =>
  fromSource('resource.update', {
    ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
    metadata: { name: 'web', namespace: NAMESPACE, uid: '1', labels },
    spec: { ...(holderIdentity !== undefined && { holderIdentity }), leaseTransitions: 1 },
  })

describe('an event about a Lease', () => {
  test('an event about a Lease without the label of an application is about the application of its holder, for senders of the namespace', async () => {
    const rights = new Set(['web'])
    const world = createWorld([workload(), service()], { allows: (about) => rights.has(about) })
    expect((await refusal(world, lease({}, 'web-0')))[0]).toBe(403)
    expect(world.calls.filter((call) => call.includes('pods'))).toEqual([])
    rights.add('*')
    world.clock.advance(11_000)
    expect(JSON.parse((await refusal(world, lease({}, 'web-0')))[1])).toMatchObject({
      application: 'web',
    })
  })

  test('an event about a Lease with the label of an application is for senders of that application', async () => {
    const world = createWorld([workload(), service()], { allows: (about) => about === 'web' })
    expect((await refusal(world, lease({ 'app.kubernetes.io/name': 'web' }, 'web-0')))[0]).toBe(200)
  })
})

describe('the answer to an event', () => {
  test('the answer to an event reports the steps that followed to those who may see them', async () => {
    const effects = async (...names: string[]) => {
      const world = createWorld([workload(), service()], { isOwnSink: true, allows: (about) => names.includes(about) })
      const response = await world.post(event('relation-changed', meshRelation()))
      expect(response.status).toBe(200)
      return ((await response.json()) as { effects?: { application: string }[] }).effects?.map((one) => one.application)
    }
    expect(await effects('web', 'beacon')).toEqual(await effects('web', 'beacon', '*'))
  })

  test('the answer to a resync of a namespace reports the steps that followed', async () => {
    const world = createWorld([workload(), service()], { isOwnSink: true })
    await world.send('relation-changed', meshRelation())
    await world.api.handle({
      ...{ method: 'PATCH', path: `/api/v1/namespaces/${NAMESPACE}/services/web?fieldManager=other` },
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ metadata: { labels: { 'istio.io/use-waypoint': null } } }),
    })
    const { effects, application } = await world.send('resync', { application: undefined })
    expect(application).toBeUndefined()
    expect(effects?.find((one) => one.application === 'web')).toMatchObject({ status: 'changed', drift: [{}] })
  })
})
