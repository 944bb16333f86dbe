import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sourceEvent } from '../../../src/platform/cloudevents/knative/source-event.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { AUTHOR, anyDocument, TENANT } from '../../helpers/tenant-documents.ts'
import { config, createTenants, erase, outside, relation, remove, resync, tell, write } from '../../helpers/tenants.ts'
import { createWorld, event, isWrite, NAMESPACE, service, workload } from '../../helpers/world.ts'

const ofMesh = '{"mesh":{}}'
const beacon = '{ application: beacon, data: { labels: { "istio.io/dataplane-mode": ambient } } }'
const rights = (...more: string[]) => new Set(['tenant: a', ...more])
const withLabels = (...more: string[]) => rights('tenant: workload a', ...more)

describe('a document acts with the right of its author', () => {
  test('who may ask for what it says is served', async () => {
    const world = createTenants(withLabels('tenant: mesh a'))
    expect((await write(world, config('labels: { tier: red }'))).status).toBe(200)
    expect(world.labels('a').template).toMatchObject({ tier: 'red' })
    expect((await write(world, config(ofMesh))).status).toBe(200)
    expect(world.memory('a')?.state.config).toEqual({ mesh: {} })
  })

  test.each<[string, KubernetesObject, RegExp]>([
    [
      'for a beacon',
      config(ofMesh),
      /author tenant may not update applications\.meshstep\.dev\/mesh shop\/a: grant it/,
    ],
    [
      'for policies',
      config('rawPolicies: []\nmeshPolicies: []\nworkload: { kind: Deployment, name: b }'),
      /\/workload shop\/a/,
    ],
    ['for another application', config('{}', {}, 'b'), /applications\.meshstep\.dev shop\/b/],
    ['for the other side of a relation', relation(beacon), /applications\.meshstep\.dev shop\/beacon/],
  ])('who may not ask %s changes nothing, and is told what to do', async (_, document, message) => {
    const world = createTenants(rights())
    const before = JSON.stringify(world.api.objects())
    const { status, text } = await write(world, document)
    expect({ status, text }).toEqual({ status: 403, text: expect.stringMatching(message) })
    const without = world.api.objects().filter(({ kind, metadata }) => metadata.name !== 'document' && kind !== 'Event')
    expect(JSON.stringify(without)).toBe(before)
    expect((await resync(world)).status).toBe(200)
    expect(world.memory('a') ?? world.memory('b')).toBeUndefined()
  })

  test('who is not named changes nothing, and is told to annotate it', async () => {
    const world = createTenants(rights())
    const { status, text } = await write(world, config('labels: { tier: red }', { author: undefined }))
    expect({ status, text }).toEqual({ status: 403, text: expect.stringContaining(`annotate it with ${AUTHOR}`) })
    expect(world.memory('a')).toBeUndefined()
  })

  test('who may not ask for it stands in the way of nobody who may, whatever the names of the documents, also while the memory is lost', async () => {
    const world = createTenants(rights('admin: a', 'admin: workload a', 'admin: mesh a', 'admin: beacon'))
    await write(world, config('labels: { tier: red }', { name: 'a-first' }))
    const allowed = config('labels: { tier: blue }', { name: 'b-second', author: 'admin' })
    expect((await write(world, allowed)).status).toBe(200)
    remove(world, 'juju-service-mesh-a-labels')
    await resync(world)
    await tell(world, sourceEvent({ type: 'MODIFIED', object: allowed }))
    expect(world.labels('a').template).toMatchObject({ tier: 'blue' })
    expect(world.memory('a')?.state.document).toBe('b-second')
  })

  test('groups that it names count', async () => {
    const world = createTenants(withLabels())
    const asked: unknown[] = []
    world.intercept = ({ path, body }) => {
      if (path.includes('subjectaccessreviews')) asked.push(JSON.parse(body ?? '').spec)
      return undefined
    }
    await write(world, config('labels: { tier: red }', { groups: 'team:blue,system:authenticated' }))
    expect(asked).toContainEqual(
      expect.objectContaining({ user: TENANT, groups: ['team:blue', 'system:authenticated'] }),
    )
  })

  test('groups that are repeated count once, and no more than 64 do, of 256 characters each', async () => {
    const world = createTenants(withLabels())
    const asked: { user: string; groups: string[] }[] = []
    world.intercept = ({ path, body }) => {
      if (path.includes('subjectaccessreviews')) asked.push(JSON.parse(body ?? '').spec)
      return undefined
    }
    const groups = ['a', 'a', 'b'.repeat(257), ...Array.from({ length: 100 }, (_, index) => `g${index}`)].join(',')
    await write(world, config('labels: { tier: red }', { groups }))
    const counted = asked.find(({ user }) => user === TENANT)?.groups
    expect(counted).toEqual(['a', ...Array.from({ length: 63 }, (_, index) => `g${index}`)])
  })

  test('one that another changed since counts by the right of that one, and what it said before stays', async () => {
    const world = createTenants(withLabels('admin: a', 'admin: mesh a'))
    await write(world, config(ofMesh, { author: 'admin' }))
    const { status } = await write(world, config('mesh: { modelOnMesh: true }'))
    expect([status, world.memory('a')?.state.config]).toEqual([403, { mesh: {} }])
    expect((await write(world, config('labels: { tier: red }'))).status).toBe(200)
    expect(world.memory('a')?.state.config).toEqual({ labels: { tier: 'red' } })
  })

  test('a resync tells of one that is refused, takes nothing of it, and ends nothing', async () => {
    const world = createTenants(rights('tenant: beacon'), { isOwnSink: true })
    await write(world, relation(beacon))
    const before = outside(world)
    const state = world.memory('a')?.state.relations
    expect(Object.values(state as object)).toEqual([
      expect.objectContaining({ status: 'established', document: 'document' }),
    ])
    remove(world, 'document')
    world.api.seed([relation('{ application: b, data: {} }')], { manager: 'kubectl' })
    world.clock.advance(11_000)
    const { text } = await resync(world)
    expect(text).toContain('applications.meshstep.dev shop/b')
    expect(world.memory('a')?.state.relations).toEqual(state)
    expect(outside(world)).toEqual(before)
  })

  test('one without a right keeps up no relation that another application has ended', async () => {
    const world = createTenants(rights('admin: a', 'admin: b'), { isOwnSink: true })
    const about = { id: 3, endpoint: 'db', interface: 'sql', role: 'requires' } as const
    const other = { ...about, endpoint: 'clients', role: 'provides' } as const
    await write(world, relation('{ application: b, data: {} }', { author: 'admin' }, 'a', about))
    await write(world, relation('{ application: a, data: {} }', { name: 'theirs' }, 'b', other))
    remove(world, 'document')
    await resync(world)
    expect(Object.values((world.memory('a')?.state.relations ?? {}) as Record<string, { word: string }>)).toEqual([
      expect.objectContaining({ status: 'ended' }),
    ])
  })

  test('what an event tells of a document that is not there is not taken', async () => {
    const world = createTenants(rights())
    const { status, text } = await tell(world, sourceEvent({ type: 'ADDED', object: config(ofMesh) }))
    expect({ status, text }).toEqual({ status: 200, text: expect.stringContaining('does not exist') })
    expect(world.memory('a')).toBeUndefined()
  })

  test('what an event tells of a document that a resync finds gone is not taken, and nothing is remembered of it', async () => {
    const world = createTenants(rights())
    const told = tell(world, sourceEvent({ type: 'ADDED', object: config(ofMesh) }))
    const answers = await Promise.all([world.post(event('resync', { application: 'a' })), told])
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(world.memory('a')).toBeUndefined()
  })

  test('a document that is deleted ends what it said', async () => {
    const world = createTenants(withLabels())
    await write(world, config('labels: { tier: red }'))
    await erase(world, 'document')
    expect(world.labels('a').template).not.toHaveProperty('tier')
  })

  test('a document that is deleted ends what it said, and what is told of it together with its deletion is not taken, by a clock that is ahead', async () => {
    const world = createTenants(withLabels())
    await write(world, config('labels: { tier: red }'))
    remove(world, 'document')
    const told = (type: 'ADDED' | 'DELETED', time?: number) =>
      tell(world, sourceEvent({ type, object: config(ofMesh) }), time)
    const answers = await Promise.all([told('DELETED'), told('ADDED', world.clock.now() + 60_000)])
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(world.labels('a').template).not.toHaveProperty('tier')
    expect(world.memory('a')?.state).not.toHaveProperty('config')
  })

  test('an answer that does not come is waited for by the event, which comes again', async () => {
    const world = createTenants(withLabels())
    world.intercept = ({ path, body }) =>
      path.includes('subjectaccessreviews') && JSON.parse(body ?? '').spec.user === TENANT
        ? { status: 503, headers: {}, body: 'no' }
        : undefined
    expect((await write(world, config('labels: { tier: red }'))).status).toBe(503)
    expect(world.memory('a')).toBeUndefined()
    world.intercept = undefined
    expect((await write(world, config('labels: { tier: red }'))).status).toBe(200)
  })

  test('one about whose author the API server cannot decide is not refused: it stays as it is, and its event comes again', async () => {
    const world = createTenants(withLabels())
    await write(world, config('labels: { tier: red }'))
    const before = [world.memory('a'), outside(world)]
    world.clock.advance(11_000)
    world.intercept = (request) => {
      if (!request.path.includes('subjectaccessreviews') || !request.body?.includes('"user":"tenant"')) return undefined
      const { body, ...answer } = world.api.handle(request)
      const status = { allowed: false, evaluationError: 'webhook: timeout' }
      return { ...answer, body: JSON.stringify({ ...JSON.parse(body), status }) }
    }
    const blue = config('labels: { tier: blue }')
    const { status, text } = await write(world, blue)
    expect({ status, text }).toEqual({
      status: 503,
      text: expect.stringContaining('cannot decide whether tenant may update applications.meshstep.dev shop/a'),
    })
    expect([world.memory('a'), outside(world)]).toEqual(before)
    world.intercept = undefined
    expect((await write(world, blue)).status).toBe(200)
    expect(world.labels('a').template).toMatchObject({ tier: 'blue' })
  })

  test('an author about whom the API server cannot decide holds up no step of another application', async () => {
    const world = createTenants(new Set(['tenant: a', 'admin: b', 'admin: workload b']))
    world.intercept = (request) => {
      if (!request.path.includes('subjectaccessreviews') || !request.body?.includes('"user":"tenant"')) return undefined
      const { body, ...answer } = world.api.handle(request)
      const status = { allowed: false, evaluationError: 'webhook: timeout' }
      return { ...answer, body: JSON.stringify({ ...JSON.parse(body), status }) }
    }
    const named = relation('{ application: b, data: {} }', { name: 'to-b' })
    expect((await write(world, named)).status).toBe(503)
    expect((await world.post(event('resync', { application: 'b', documents: ['to-b'] }))).status).toBe(200)
  })

  test('an author is asked about once for each permission in ten seconds', async () => {
    const world = createTenants(rights('tenant: mesh a'))
    await write(world, config(ofMesh))
    const reviews = () => world.calls.filter((call) => call.includes('subjectaccessreviews')).length
    world.calls.length = 0
    await write(world, config(ofMesh))
    await resync(world)
    expect(reviews()).toBe(0)
  })

  test('a right that is taken away while a step starts over counts no more when it does', async () => {
    const granted = withLabels()
    const world = createTenants(granted)
    await write(world, config('labels: { tier: red }'))
    world.clock.advance(9_900)
    world.intercept = ({ method, path }) => {
      if (method === 'GET' || !path.includes('juju-service-mesh-a-labels')) return undefined
      world.intercept = undefined
      world.clock.advance(200)
      granted.delete('tenant: workload a')
      return { status: 409, headers: {}, body: JSON.stringify({ kind: 'Status', reason: 'Conflict', message: 'no' }) }
    }
    const { status, text } = await write(world, config('labels: { tier: blue }'))
    expect({ status, text }).toEqual({ status: 403, text: expect.stringContaining('/workload shop/a') })
    expect(world.labels('a').template).toMatchObject({ tier: 'red' })
  })

  test('an author who may not is asked about once in a step, however many documents name the application', async () => {
    const world = createTenants(rights())
    for (const name of ['one', 'two', 'three'])
      world.api.seed([relation('{ application: b, data: {} }', { name })], { manager: 'kubectl' })
    world.calls.length = 0
    await tell(world, { ...event('resync', { application: 'a' }) })
    const asked = world.calls.filter((call) => call.includes('subjectaccessreviews'))
    // the sender and the author for all of the namespace, the author for each side
    expect(asked).toHaveLength(4)
  })

  test('lint tells of each document that is refused', async () => {
    const world = createTenants(rights())
    await write(world, config(ofMesh))
    const response = await world.app.request(`/lint?namespace=${NAMESPACE}`, {
      headers: { authorization: 'Bearer good' },
    })
    expect(await response.json()).toContainEqual({
      ...{ rule: 'document-refused', about: 'ConfigMap shop/document' },
      message: expect.stringContaining('applications.meshstep.dev/mesh shop/a'),
    })
  })

  test('the application that it is about tells of one that is refused, known or not', async () => {
    const world = createTenants(rights('admin: a', 'admin: mesh a'))
    const view = async (path: string) => {
      const headers = { authorization: 'Bearer good' }
      return await (await world.app.request(`/applications/shop${path}`, { headers })).json()
    }
    const refused = expect.stringContaining('ConfigMap document: its author tenant may not update')
    await write(world, config(ofMesh))
    expect(await view('/a')).toMatchObject({
      status: 404,
      message: expect.stringMatching(/unknown application; ConfigMap document: its author/),
    })
    expect(await view('')).toEqual([{ namespace: NAMESPACE, application: 'a', problem: refused }])
    await write(world, config(ofMesh, { name: 'of-admin', author: 'admin' }))
    expect(await view('/a')).toMatchObject({ config: { mesh: {} }, messages: expect.arrayContaining([refused]) })
    expect(await view('')).toMatchObject([{ application: 'a', messages: expect.arrayContaining([refused]) }])
  })

  test('nobody is asked where nobody is authenticated', async () => {
    const world = createWorld([workload('StatefulSet', 'a'), service('a')])
    expect((await write(world, config('labels: { tier: red }', { author: undefined }))).status).toBe(200)
    expect(world.labels('a').template).toMatchObject({ tier: 'red' })
    expect(world.calls.filter((call) => call.includes('reviews'))).toEqual([])
  })
})

describe('a key in disguise is refused, and nothing is written', () => {
  test.each([
    ['mesh, as binary', config('!!binary bWVzaA==: { hardened: true }')],
    ['raw policies, as binary', config('labels: {}\n!!binary cmF3UG9saWNpZXM=: [{ kind: X }]')],
    ['a workload, as binary', config('? !!binary d29ya2xvYWQ=\n: { podSpec: {} }')],
    ['mesh, as an alias', config('labels: { a: &key mesh }\n*key : {}')],
    ['mesh, as a complex key', config('? [mesh]\n: {}')],
    ['mesh, merged', config('<<: { mesh: {} }')],
    ['another side, as binary', relation('{ !!binary YXBwbGljYXRpb24=: beacon, data: {} }')],
    ['another side, as an alias', relation('x: &key application\n*key : beacon\ndata: {}')],
  ])('%s', async (_, document) => {
    const world = createTenants(
      rights('tenant: mesh a', 'tenant: policies a', 'tenant: workload a', 'tenant: root a', 'tenant: beacon'),
    )
    const { status, text } = await write(world, document)
    expect({ status, text }).toEqual({ status: 400, text: expect.stringMatching(/neither JSON nor YAML: /) })
    const writes = world.calls.filter(isWrite).filter((call) => !/reviews|\/events/.test(call))
    expect(writes).toEqual([])
  })
})

test('200 documents of who may update one application, and no effect, change nothing outside it', async () => {
  const world = createTenants(rights('admin: beacon', 'admin: mesh beacon', 'admin: b'), { isOwnSink: true })
  await write(world, config('mesh: {}', { name: 'of-beacon', author: 'admin' }, 'beacon'))
  await write(world, relation(beacon, { name: 'of-b', author: 'admin' }, 'b'))
  await resync(world)
  await resync(world)
  expect(world.labels('b').template).toHaveProperty(['istio.io/dataplane-mode'])
  const before = outside(world)
  const seen = new Set<number>()
  for (const [index, document] of fc
    .sample(anyDocument({ namespace: NAMESPACE, elsewhere: 'bank', tenant: TENANT }), { seed: 31, numRuns: 200 })
    .entries()) {
    world.clock.advance(1_000)
    const { status } = await write(world, document)
    seen.add(status)
    if (index % 10 === 5) await resync(world)
    // who may delete one, the admission policy decides: one of this application alone
    if (index % 7 === 3 && document.data?.application === 'a') await erase(world, document.metadata.name)
    expect(outside(world), JSON.stringify(document)).toEqual(before)
  }
  expect([...seen].toSorted()).toEqual([200, 400, 403])
})
