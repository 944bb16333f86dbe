import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { createHandler, type Handle } from '../../../src/core/events/handle.ts'
import { createQueue } from '../../../src/core/events/queue.ts'
import { createStep } from '../../../src/core/reconcile/step.ts'
import { createEmbeddedApi, type EmbeddedApi } from '../../../src/embedded/api/api.ts'
import { features } from '../../../src/features.ts'
import type { Clock } from '../../../src/platform/base/clock.ts'
import type { Event } from '../../../src/platform/cloudevents/cloud-event.ts'
import { createKubernetes } from '../../../src/platform/kubernetes/client.ts'
import { podSpec } from '../../helpers/application.ts'
import { functions } from '../../helpers/functions.ts'
import { event, meshRelation, service, workload } from '../../helpers/world.ts'

const PROCESSES = 10
const EVENTS = 50
const TURN_MILLISECONDS = 10

/** A process of its own: a call to the API server takes a turn of the event loop, and so do some milliseconds of sleep. */
const createProcess = (api: EmbeddedApi, seed: number): Handle => {
  let [now, state] = [Date.parse('2026-01-01T00:00:00Z'), seed]
  const random = () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
  const clock: Clock = {
    now: () => now,
    random,
    yieldTurn: async () => undefined,
    sleep: async (milliseconds) => {
      for (let left = milliseconds; left > 0; left -= TURN_MILLISECONDS) await turn()
      now += milliseconds
    },
  }
  const connect = (deadline: number) =>
    createKubernetes({
      transport: async (request) => {
        await turn()
        return api.handle(request)
      },
      clock,
      deadline,
    })
  const step = createStep({ features, connect, clock, environment: { resolver: '10.96.0.10' } })
  return createHandler({
    features,
    functions,
    step,
    enqueue: createQueue(step),
    connect,
    publish: async () => undefined,
    clock,
    timeoutMilliseconds: 20_000,
  })
}

/** Sends the events to the processes in turn, all at once; answers how often the pod template changed. */
const countRolls = async (api: EmbeddedApi, events: readonly Event[]): Promise<number> => {
  const templateOf = () => {
    const found = api.objects().find(({ kind }) => kind === 'StatefulSet' || kind === 'Deployment')
    return JSON.stringify(found?.spec?.template)
  }
  let [rolls, template] = [0, templateOf()]
  api.subscribe(() => {
    const now = templateOf()
    if (now !== template && template !== undefined) rolls += 1
    template = now
  })
  const processes = Array.from({ length: PROCESSES }, (_, index) => createProcess(api, index + 1))
  await Promise.all(events.map((one, index) => processes[index % PROCESSES]?.(one, {})))
  return rolls
}

describe('50 events for one application over ten processes', () => {
  test('50 events for one application over ten processes that each bring a label change the pod template fewer times than there are processes', async () => {
    const api = createEmbeddedApi({ now: () => new Date('2026-01-01T00:00:00Z') })
    api.seed([workload(), service()], { manager: 'juju' })
    const events = Array.from({ length: EVENTS }, (_, id) =>
      event('relation-changed', meshRelation({ 'istio.io/use-waypoint': `way-${id}` }, EVENTS - id)),
    )
    const rolls = await countRolls(api, events)
    const [found] = api.objects().filter(({ kind }) => kind === 'StatefulSet')
    // of several relations the lower id wins, which is told last
    expect(JSON.stringify(found)).toContain(`"istio.io/use-waypoint":"way-${EVENTS - 1}"`)
    expect(rolls).toBeLessThanOrEqual(8)
  })

  test('50 events for one application over ten processes that each bring an image change the pod template fewer times than there are processes', async () => {
    const api = createEmbeddedApi({ now: () => new Date('2026-01-01T00:00:00Z') })
    api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }])
    const events = Array.from({ length: EVENTS }, (_, index) => {
      const config = { workload: { podSpec: podSpec(`web:${index}`), revision: String(index) } }
      return event('config-changed', { config }, { time: new Date(index * 1_000).toISOString() })
    })
    const rolls = await countRolls(api, events)
    const [found] = api.objects().filter(({ kind }) => kind === 'Deployment')
    expect(JSON.stringify(found)).toContain(`web:${EVENTS - 1}`)
    expect(rolls).toBeLessThanOrEqual(8)
  })
})
