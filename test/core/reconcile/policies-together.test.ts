import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { ask, BEACON, configure, createMesh, policiesIn, provides, wire, writes } from '../../helpers/beacon-world.ts'
import { event, type World } from '../../helpers/world.ts'

const COUNT = 40

/** So many policies of `db`, each for pods of its own. */
const asked = Array.from({ length: COUNT }, (_, index) =>
  wire({
    target_type: 'unit',
    target_app_name: null,
    target_selector_labels: { 'app.kubernetes.io/name': 'db', part: String(index) },
    endpoints: [{ ports: [80] }],
  }),
)

const createBeacon = async (): Promise<World> => {
  const world = createMesh(['db'], false)
  await configure(world, { mesh: {} })
  world.calls.length = 0
  return world
}

const isApply = (method: string, path: string) => method === 'PATCH' && path.includes('authorizationpolicies')

/** Each answer takes a turn; `refuse` says what the API server answers in place of an apply. */
const slowly = (
  world: World,
  applying: (index: number) => { status: number; headers: object; body: string } | undefined = () => undefined,
) => {
  const seen = { inFlight: 0, most: 0, applies: 0, others: [] as number[] }
  world.intercept = async ({ method, path }) => {
    if (!isApply(method, path)) {
      seen.others.push(seen.inFlight)
      return undefined
    }
    seen.inFlight += 1
    seen.most = Math.max(seen.most, seen.inFlight)
    const answer = applying(seen.applies++)
    if (answer === undefined) await turn()
    seen.inFlight -= 1
    return answer as never
  }
  return seen
}

describe('many policies that are made', () => {
  test('many policies that are made are applied side by side, eight at a time', async () => {
    const world = await createBeacon()
    const seen = slowly(world)
    await ask(world, JSON.stringify(asked))
    expect(policiesIn(world)).toHaveLength(COUNT)
    expect(seen.most).toBe(8)
  })

  test('many policies that are made have all been answered when the step starts over, as one of them was overtaken', async () => {
    const world = await createBeacon()
    const stale = { status: 409, headers: {}, body: JSON.stringify({ kind: 'Status', reason: 'Conflict', code: 409 }) }
    const seen = slowly(world, (index) => (index === 3 ? stale : undefined))
    await ask(world, JSON.stringify(asked))
    expect(policiesIn(world)).toHaveLength(COUNT)
    expect(seen.others.filter((inFlight) => inFlight > 0)).toEqual([])
  })

  test('many policies that are made stay when the time is over, and the next event makes the rest', async () => {
    const world = await createBeacon()
    const busy = { status: 503, headers: {}, body: '' }
    const seen = slowly(world, (index) => (index >= 16 ? busy : undefined))
    const told = event('relation-changed', provides(7, { application: 'db' }, JSON.stringify(asked)))
    expect((await world.post(told)).status).toBe(503)
    const made = policiesIn(world).map(({ metadata }) => metadata.name)
    expect(made).toHaveLength(16)
    world.intercept = undefined
    world.calls.length = 0
    expect((await world.post(told)).status).toBe(200)
    expect(policiesIn(world)).toHaveLength(COUNT)
    expect(seen.most).toBe(8)
    // a late write may be under way to what stands: an annotation comes and goes there
    const times = Map.groupBy(writes(world), (call) => call.split('/').at(-1) ?? '')
    const names = policiesIn(world).map(({ metadata }) => metadata.name)
    expect(names.filter((name) => times.get(name)?.length === 2).toSorted()).toEqual(made.toSorted())
    expect(names.filter((name) => times.get(name)?.length === 1)).toHaveLength(COUNT - made.length)
    expect((await world.send('resync', BEACON)).status).toBe('unchanged')
  })
})
