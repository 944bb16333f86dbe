import { describe, expect, test } from 'vitest'
import { createHandler, type DoneStep } from '../../../src/core/events/handle.ts'
import { createQueue } from '../../../src/core/events/queue.ts'
import { createStep } from '../../../src/core/reconcile/step.ts'
import { features } from '../../../src/features.ts'
import { createKubernetes, type Transport } from '../../../src/platform/kubernetes/client.ts'
import { configure, createMesh, related, requires } from '../../helpers/beacon-world.ts'
import { functions } from '../../helpers/functions.ts'
import { createWorld, event, service, workload } from '../../helpers/world.ts'

const POLICIES = { policies: [{ type: 'app', relation: 'db', endpoints: [{ ports: [80] }] }] }
const DB = { application: 'db' }
const WEB = { application: 'web' }

const guarded = async () => {
  const world = createMesh(['db', 'web'])
  await configure(world, { mesh: {} })
  await configure(world, POLICIES, DB)
  await world.send('relation-changed', requires(1, DB))
  await world.send('relation-changed', requires(2, WEB))
  return world
}

describe('the answer to an event', () => {
  test('the answer to an event names the steps that followed at other applications, and what each wrote', async () => {
    const world = await guarded()
    const answer = await world.send('relation-changed', related(3, 'db', WEB, DB))
    expect(answer).toMatchObject({ status: 'changed' })
    expect(answer.written).toContainEqual(expect.stringMatching(/^AuthorizationPolicy shop\//))
    const joined = await world.send('config-changed', { application: 'beacon', config: { mesh: { waypoint: false } } })
    const followed = joined.effects?.find(({ application }) => application === 'db')
    expect(followed).toMatchObject({ namespace: 'shop', status: 'changed', conflicts: [] })
    expect(followed?.written).not.toEqual([])
  })

  test('the answer to an event has no effects when nothing followed', async () => {
    const world = await guarded()
    await world.send('relation-changed', related(3, 'db', WEB, DB))
    expect(await world.send('relation-changed', related(3, 'db', WEB, DB))).not.toHaveProperty('effects')
  })

  test('the answer to an event tells what is gone apart from what is there', async () => {
    const world = await guarded()
    const answer = await configure(world, {}, DB)
    const { removed = [], written } = answer
    expect(removed).toContainEqual(expect.stringMatching(/^AuthorizationPolicy shop\//))
    for (const name of removed) expect(written).toContain(name)
  })

  test('the answer to an event names a conflict that a step met which followed', async () => {
    const world = createMesh(['db'])
    await configure(world, { mesh: {} })
    world.api.handle({
      method: 'PATCH',
      path: '/api/v1/namespaces/shop/services/db?fieldManager=somebody',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ metadata: { labels: { 'istio.io/use-waypoint': 'another' } } }),
    })
    const answer = await world.send('relation-changed', {
      ...requires(1, DB),
      application: 'beacon',
      relation: { id: 1, endpoint: 'service-mesh', interface: 'service_mesh', role: 'provides' },
      remote: { application: 'db', data: {} },
    })
    expect(answer.effects?.flatMap(({ conflicts }) => conflicts)).toMatchObject([{ key: 'istio.io/use-waypoint' }])
  })

  test('the answer to an event hides the steps of applications that the sender may send no events about', async () => {
    const allowed = new Set(['db', 'web', 'beacon', 'mesh beacon'])
    const world = createWorld(
      ['db', 'web'].flatMap((name) => [workload('StatefulSet', name), service(name)]),
      { isOwnSink: true, allows: (about) => allowed.has(about) },
    )
    await configure(world, { mesh: {} })
    await world.send('relation-changed', requires(1, DB))
    const seen = await configure(world, POLICIES, DB)
    expect(seen.effects?.map(({ application }) => application)).toContain('beacon')
    world.clock.advance(11_000)
    allowed.delete('beacon')
    const hidden = await configure(world, { ...POLICIES, enforcement: 'audit' }, DB)
    expect(hidden.published).toEqual(['relation 1 (service-mesh) to shop/beacon'])
    expect(hidden.effects?.filter(({ application }) => application === 'beacon') ?? []).toEqual([])
  })

  test('the answer to an event names all steps of a resync of the namespace', async () => {
    const world = await guarded()
    world.api.handle({
      method: 'PATCH',
      path: '/apis/apps/v1/namespaces/shop/statefulsets/db?fieldManager=somebody',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ spec: { template: { metadata: { labels: { 'istio.io/dataplane-mode': null } } } } }),
    })
    const answer = await world.send('resync', { application: undefined }, { subject: 'shop', data: {} })
    const repaired = answer.effects?.filter(({ status }) => status === 'changed')
    expect(repaired).toMatchObject([
      { application: 'db', written: ['ConfigMap shop/juju-service-mesh-db-labels', 'StatefulSet shop/db'] },
    ])
  })
})

describe('an event that a step sends', () => {
  const TRACE = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=b' }

  test('an event that a step sends names the event that caused it, and the first of them all', async () => {
    const world = createMesh(['db'], false)
    const extensions = { correlationid: 'root', ...TRACE }
    await world.post({ ...event('relation-changed', requires(1, DB)), id: 'cause', extensions })
    expect(world.published).toMatchObject([{ extensions: { causationid: 'cause', ...extensions } }])
  })

  test('an event that a step sends begins the correlation where nobody did, and invents no trace', async () => {
    const world = createMesh(['db'], false)
    await world.post({ ...event('relation-changed', requires(1, DB)), id: 'cause' })
    expect(world.published[0]?.extensions).toEqual({
      partitionkey: 'shop/beacon',
      causationid: 'cause',
      correlationid: 'cause',
    })
  })

  test('an event that a step sends is part of the trace of the request that brought its cause', async () => {
    const world = createMesh(['db'], false)
    const body = JSON.stringify({
      specversion: '1.0',
      ...event('relation-changed', requires(1, DB)),
      extensions: undefined,
    })
    const headers = { 'content-type': 'application/cloudevents+json', ...TRACE }
    const response = await world.app.request('/', { method: 'POST', headers, body })
    expect(response.headers.get('ce-traceparent')).toBe(TRACE.traceparent)
    expect(world.published).toMatchObject([{ extensions: TRACE }])
  })

  test.each([
    ['a line break', '00-\r\nx'],
    ['too much', 'x'.repeat(513)],
  ])('an event that a step sends hands no trace on that has %s', async (_, traceparent) => {
    const world = createMesh(['db'], false)
    const sent = event('relation-changed', requires(1, DB), { extensions: { traceparent } })
    await world.post(sent).catch(() => undefined)
    expect(JSON.stringify(world.published)).not.toContain('traceparent')
  })
})

describe('each step', () => {
  const followed = async () => {
    const { api, clock } = createMesh(['db'])
    const traces: (string | undefined)[] = []
    const steps: DoneStep[] = []
    const transport: Transport = async (request) => {
      traces.push(request.headers.traceparent)
      return api.handle(request)
    }
    const connect = (deadline: number, trace?: Record<string, string>) =>
      createKubernetes({ transport, clock, deadline, trace })
    const step = createStep({ features, connect, clock, environment: { resolver: '10.96.0.10' } })
    const handle = createHandler({
      features,
      functions,
      step,
      enqueue: createQueue(step),
      connect,
      clock,
      timeoutMilliseconds: 10_000,
      onStep: (step) => steps.push(step),
    })
    const sent = event('relation-changed', requires(1, DB), { extensions: { traceparent: '00-a-b-01' } })
    await handle(sent, {})
    return { sent, steps, traces }
  }

  test('each step is told of once, with the event that caused it', async () => {
    const { sent, steps } = await followed()
    expect(steps.map(({ application }) => application)).toEqual(['db', 'beacon'])
    expect(steps[0]?.event).toEqual({ id: sent.id, source: '/test', type: 'dev.meshstep.relation-changed.v1' })
    expect(steps[1]?.event).toMatchObject({ source: '/meshstep/shop/db', causationid: sent.id })
  })

  test('each step passes the trace on in every call', async () => {
    const { traces } = await followed()
    expect(new Set(traces)).toEqual(new Set(['00-a-b-01']))
  })
})
