import { describe, expect, test } from 'vitest'
import { createAuthenticate } from '../../../src/core/access/authenticate.ts'
import type { AuthorizeAuthor } from '../../../src/core/access/document-authors.ts'
import { createHandler, type Handle } from '../../../src/core/events/handle.ts'
import { createQueue } from '../../../src/core/events/queue.ts'
import { createStep } from '../../../src/core/reconcile/step.ts'
import { features } from '../../../src/features.ts'
import type { Event } from '../../../src/platform/cloudevents/cloud-event.ts'
import { createKubernetes } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { createFeedback } from '../../../src/serve/http/kubernetes-events.ts'
import { functions } from '../../helpers/functions.ts'
import { createWorld, event, isWrite, meshRelation, setLabels, type World } from '../../helpers/world.ts'

type Told = { readonly world: World; readonly handle: Handle; readonly warnings: unknown[]; readonly calls: string[] }

const telling = (world = createWorld(), isSecured = false, authorizeAuthor?: AuthorizeAuthor): Told => {
  const { api, clock } = world
  const calls: string[] = []
  const warnings: unknown[] = []
  const connect = (deadline: number) =>
    createKubernetes({
      clock,
      deadline,
      transport: async (request) => {
        calls.push(`${request.method} ${request.path.replace(/\?.*/, '')}`)
        return (await world.intercept?.(request)) ?? api.handle(request)
      },
    })
  const silent = () => undefined
  const log = { info: silent, error: silent, warn: (fields: unknown) => void warnings.push(fields) }
  const environment = { resolver: '10.96.0.10' }
  const step = createStep({ features, connect, clock, environment, authorizeAuthor })
  const handle = createHandler({
    features,
    functions,
    step,
    enqueue: createQueue(step),
    connect,
    publish: async () => undefined,
    authenticate: isSecured ? createAuthenticate({ audience: 'meshstep', clock }) : undefined,
    clock,
    timeoutMilliseconds: 10_000,
    feedback: createFeedback({ connect, clock, log }),
  })
  return { world, handle, warnings, calls }
}

const eventsIn = ({ api }: World): KubernetesObject[] => api.objects().filter(({ kind }) => kind === 'Event')

const conflicting = (): World => {
  const world = createWorld()
  setLabels(world, 'somebody', { 'istio.io/dataplane-mode': 'none' })
  return world
}

const fromDocument = (data: Record<string, string>): Event => ({
  id: '1',
  source: 'http://cluster',
  type: 'dev.knative.apiserver.resource.update',
  extensions: { apiversion: 'v1', kind: 'ConfigMap', name: 'web-config', namespace: 'shop' },
  data: {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'web-config', namespace: 'shop', labels: { 'meshstep.dev/kind': 'config' } },
    data,
  },
})

describe('a Kubernetes Event', () => {
  test('a Kubernetes Event tells of a conflict, on the workload', async () => {
    const { world, handle } = telling(conflicting())
    await handle(event('relation-changed', meshRelation()), {})
    expect(eventsIn(world)).toMatchObject([
      {
        metadata: { namespace: 'shop', name: expect.stringMatching(/^web\.[0-9a-f]{16}$/) },
        ...{ type: 'Warning', reason: 'Conflict', action: 'Reconcile' },
        note: 'StatefulSet shop/web istio.io/dataplane-mode is held by somebody',
        regarding: { kind: 'StatefulSet', name: 'web', namespace: 'shop', uid: expect.any(String) },
      },
    ])
  })

  test('a Kubernetes Event tells what is waited for', async () => {
    const { world, handle } = telling(createWorld([]))
    world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }])
    await handle(event('relation-changed', meshRelation()), {})
    expect(eventsIn(world)).toMatchObject([
      { type: 'Normal', reason: 'Waiting', regarding: { kind: 'ConfigMap', name: 'juju-service-mesh-web-labels' } },
    ])
  })

  test('a Kubernetes Event tells of a document that is refused, on the document', async () => {
    const { world, handle } = telling()
    await expect(handle(fromDocument({ application: 'web', config: '{ polices: [] }' }), {})).rejects.toThrow('polices')
    expect(eventsIn(world)).toMatchObject([
      {
        ...{ type: 'Warning', reason: 'Refused', note: expect.stringContaining('polices') },
        regarding: { kind: 'ConfigMap', name: 'web-config', namespace: 'shop' },
      },
    ])
  })

  test('a Kubernetes Event tells of a document whose author may not write it, on the document', async () => {
    const sent = fromDocument({ application: 'web', config: '{ mesh: {} }' })
    const world = createWorld()
    world.api.seed([sent.data as KubernetesObject])
    const { handle } = telling(world, false, async () => undefined)
    await expect(handle(sent, {})).rejects.toMatchObject({ status: 403 })
    expect(eventsIn(world)).toMatchObject([
      {
        ...{ type: 'Warning', reason: 'Refused', note: expect.stringContaining('it names no author') },
        regarding: { kind: 'ConfigMap', name: 'web-config', namespace: 'shop' },
      },
    ])
  })

  test('a Kubernetes Event is not repeated: not by this process, and not by another one', async () => {
    const { world, handle } = telling(conflicting())
    await handle(event('relation-changed', meshRelation()), {})
    const before = JSON.stringify(world.api.objects())
    const again = telling(world)
    for (const one of [{ handle }, again]) await one.handle(event('resync', {}), {})
    expect(JSON.stringify(world.api.objects())).toBe(before)
    expect(again.warnings).toEqual([])
  })

  describe('of what is met again', () => {
    const MINUTE = 60_000
    const seriesIn = (world: World) => eventsIn(world).map(({ series }) => series)
    const meet = ({ handle }: Told) => handle(event('relation-changed', meshRelation()), {})

    test('a Kubernetes Event, of what is met again counts it once in ten minutes, all times together', async () => {
      const told = telling(conflicting())
      for (let minute = 0; minute <= 25; minute += 1) {
        await meet(told)
        told.world.clock.advance(MINUTE)
      }
      const writes = told.calls.filter((call) => /^(POST|PATCH) .*\/events/.test(call))
      expect(seriesIn(told.world)).toEqual([{ count: 21, lastObservedTime: expect.stringMatching(/\.\d{6}Z$/) }])
      // of each time a creation that finds it there, a look and a count
      expect(writes).toHaveLength(1 + 2 * 3)
    })

    test('a Kubernetes Event, of what is met again is left to the process that wrote it lately, and counted with the next', async () => {
      const [one, other] = [telling(conflicting())].flatMap((told) => [told, telling(told.world)]) as [Told, Told]
      await meet(one)
      one.world.clock.advance(5 * MINUTE)
      await meet(other)
      await meet(other)
      expect(seriesIn(one.world)).toEqual([undefined])
      one.world.clock.advance(11 * MINUTE)
      await meet(other)
      expect(seriesIn(one.world)).toMatchObject([{ count: 4 }])
    })

    test('a Kubernetes Event, of what is met again begins anew when the API server has forgotten it', async () => {
      const told = telling(conflicting())
      await meet(told)
      const [found] = eventsIn(told.world)
      const { namespace, name } = found?.metadata ?? {}
      const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events/${name}`
      told.world.api.handle({ method: 'DELETE', path, headers: {} })
      told.world.clock.advance(90 * MINUTE)
      await meet(told)
      expect(seriesIn(told.world)).toEqual([undefined])
    })
  })

  test('a Kubernetes Event is made of nothing that is as it should be', async () => {
    const { world, handle, calls } = telling()
    await handle(event('relation-changed', meshRelation()), {})
    calls.length = 0
    await handle(event('resync', {}), {})
    expect([eventsIn(world), calls.filter(isWrite)]).toEqual([[], []])
  })

  test('a Kubernetes Event is no reason for a step to fail', async () => {
    const { world, handle, warnings } = telling(conflicting())
    world.intercept = async ({ path }) =>
      path.includes('/events') ? { status: 403, headers: {}, body: '{"kind":"Status","message":"no"}' } : undefined
    expect((await handle(event('relation-changed', meshRelation()), {})).status).toBe('conflict')
    expect(warnings).toMatchObject([{ reason: 'Conflict', problem: expect.stringContaining('403') }])
  })

  test.each([
    ['may send events for all of the namespace', () => true, 1],
    ['may send events for nobody', () => false, 0],
  ])('of a refused event is made for a sender who %s', async (_, allows, count) => {
    const { world, handle } = telling(createWorld(undefined, { allows }), true)
    const sent = event('config-changed', { config: { polices: [] } }, { subject: 'shop/web' })
    await expect(handle(sent, { authorization: 'Bearer good' })).rejects.toThrow()
    expect(eventsIn(world)).toHaveLength(count)
  })

  test('of an event with the name of a document, from a sender with the right to one application, is on its workload', async () => {
    const { world, handle } = telling(createWorld(undefined, { allows: (about) => about.endsWith('web') }), true)
    setLabels(world, 'somebody', { 'istio.io/dataplane-mode': 'none' })
    const told = event('config-changed', { config: { labels: { 'istio.io/dataplane-mode': 'ambient' } } })
    const sent = {
      ...told,
      extensions: { ...told.extensions, kind: 'ConfigMap', name: 'web-config', namespace: 'shop' },
    }
    await handle(sent, { authorization: 'Bearer good' })
    expect(eventsIn(world)).toMatchObject([{ reason: 'Conflict', regarding: { kind: 'StatefulSet', name: 'web' } }])
  })

  test('of an event that is refused changes nothing at the answer, where nobody knows whether the sender may', async () => {
    const { world, handle, warnings } = telling(createWorld(undefined, { allows: () => true }), true)
    world.intercept = async ({ path }) =>
      path.includes('subjectaccessreviews') ? { status: 503, headers: {}, body: 'no' } : undefined
    const sent = event('config-changed', { config: { polices: [] } }, { subject: 'shop/web' })
    await expect(handle(sent, { authorization: 'Bearer good' })).rejects.toMatchObject({ status: 400 })
    expect([eventsIn(world), warnings]).toEqual([[], [expect.objectContaining({ namespace: 'shop' })]])
  })

  test.each([
    ['who may not send it', event('resync', {}), 403],
    ['with a name that is none', event('config-changed', { config: 1 }, { subject: '../x' }), 400],
  ])('a Kubernetes Event is not made of an event from somebody %s', async (_, sent, status) => {
    const { world, handle } = telling(createWorld(undefined, { allows: () => status !== 403 }), true)
    await expect(handle(sent, { authorization: 'Bearer good' })).rejects.toMatchObject({ status })
    expect(eventsIn(world)).toEqual([])
  })
})
