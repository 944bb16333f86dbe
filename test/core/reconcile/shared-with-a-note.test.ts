import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createDelivery } from '../../../src/core/events/deliver.ts'
import { EMPTY_OUTBOX, type Outbox } from '../../../src/core/reconcile/outbox.ts'
import { UNCHANGED } from '../../../src/core/reconcile/outcome.ts'
import { related, requires } from '../../helpers/beacon-world.ts'
import { fakeClock } from '../../helpers/clock.ts'
import { createWorld, event, SUBJECT, service, type World, workload } from '../../helpers/world.ts'

const DB = { application: 'db' }
const LOKI = { application: 'loki' }
const MEMORY = '/api/v1/namespaces/shop/configmaps/juju-service-mesh-db-labels'

/** As a server does it: no answer waits for what is noted afterwards. */
const createServer = (): { world: World; finish(): Promise<unknown> } => {
  const left: Promise<unknown>[] = []
  const world = createWorld([workload('StatefulSet', 'db'), service('db')], {
    later: async (work) => void left.push(work.catch(() => undefined)),
  })
  return { world, finish: () => Promise.all(left) }
}

/** Lets whoever reads the memory of `db` wait once it is saved, until it is let through. */
const holdReaderAfterSave = (world: World): (() => void) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  let isSaved = false
  world.intercept = async ({ method, path }) => {
    if (path.startsWith(MEMORY) && method === 'GET' && isSaved) await promise
    if (path.startsWith(MEMORY) && method === 'PUT') isSaved = true
    return undefined
  }
  return resolve
}

test('an event that comes while it is noted what was sent for another one tells all that follows from it', async () => {
  const { world, finish } = createServer()
  await world.send('config-changed', { ...DB, config: {} })
  await world.send('relation-changed', requires(1, DB))
  await finish()
  const letThrough = holdReaderAfterSave(world)
  // a remote application without a memory is noted as told
  await world.send('relation-changed', related(12, 'db', LOKI, DB))
  world.published.length = 0
  const ending = world.send('relation-broken', { ...DB, relation: { id: 1 } })
  await turn()
  letThrough()
  expect((await ending).published).toEqual(['relation 1 (service-mesh) to shop/beacon'])
  await finish()
  expect(world.published.map(({ subject }) => subject)).toEqual(['shop/beacon'])
})

test('what follows from the step of a note is told, where there is nobody else to tell it', async () => {
  const announced = (id: string): Outbox => ({
    nudges: [],
    announcements: [{ number: 1, event: event('service-changed', {}, { id }) }],
  })
  const due = [announced('second')]
  const sent: string[] = []
  const deliver = createDelivery({
    features: { announced: (state) => state },
    send: async ({ id }) => void sent.push(id),
    enqueue: async () => ({ outcome: UNCHANGED, due: due.shift() ?? EMPTY_OUTBOX }),
    clock: fakeClock(),
    later: (work) => work,
  })
  await deliver({ subject: SUBJECT, due: announced('first'), cause: event('config-changed', {}) }, 1_000)
  expect(sent).toEqual(['first', 'second'])
})
