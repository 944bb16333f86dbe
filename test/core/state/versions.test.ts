import { describe, expect, test } from 'vitest'
import { type State, VERSION } from '../../../src/core/state/state.ts'
import { features } from '../../../src/features.ts'
import { createMemo } from '../../../src/platform/base/memo.ts'
import { patch } from '../../helpers/application.ts'
import { isWrite, type World } from '../../helpers/world.ts'
import { configure, createStarted, effects, say, WORKING } from '../relations/pair.ts'

type Fields = Record<string, unknown>

const read = (state: unknown): State | Error | undefined =>
  features.memories.read(
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'juju-service-mesh-web-labels', namespace: 'shop' },
      data: { labels: '{}', state: JSON.stringify(state) },
    },
    createMemo(),
  )

const stateIn = (state: unknown) => {
  const found = read(state)
  if (found === undefined || found instanceof Error) throw found ?? new Error('there is no state')
  return found
}

describe('a memory of this version', () => {
  const KEY = '7/requires/service_mesh/beacon'
  const full = {
    config: { labels: { team: 'red' } },
    leader: { unit: 'web/0', epoch: 3 },
    units: { present: { u: { pod: 'web-0', number: 0 } }, departed: [{ uid: 'v' }], next: 1 },
    relations: {
      [KEY]: {
        ...{ id: 7, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' },
        remote: { application: 'beacon', data: { labels: '{}' }, units: { 'beacon/0': { a: 'b' } } },
        status: 'established',
        position: { at: 5, ids: ['x'], sequences: { '/a': '1' } },
        told: { at: 5 },
        published: { digest: 'hash' },
      },
    },
    published: { hash: { data: { policies: '[]' } } },
    tombstones: { 8: { position: { at: 4 }, endedAt: '2026-01-01T00:00:00Z' } },
    marks: { config: { at: 3 } },
    previousTargets: [{ kind: 'Service', name: 'web-old', since: '2026-01-01T00:00:00Z' }],
    owned: { Service: null, 'Service.serving.knative.dev': '2026-01-01T00:00:00Z' },
    announced: {
      last: 1,
      relations: {
        7: {
          number: 1,
          service: {
            endpoint: 'db',
            application: 'postgres',
            host: 'db.shop.svc.cluster.local',
            port: 5432,
            relation: 7,
          },
        },
      },
    },
  }
  const state = stateIn({ version: VERSION, ...full })

  test('a memory of this version is read as it is, with kinds that are not known', () => {
    expect(state).toEqual({ version: VERSION, ...full })
  })

  /** The value with one more key in the object at `path`. */
  const withUnknown = (value: unknown, [step, ...path]: readonly string[]): unknown => {
    if (step === undefined) return { ...(value as Fields), unknown: { deep: [1] } }
    if (Array.isArray(value)) return value.with(Number(step), withUnknown(value[Number(step)], path))
    return { ...(value as Fields), [step]: withUnknown((value as Fields)[step], path) }
  }

  test.each([
    '',
    'config',
    'leader',
    'units',
    'units present u',
    'units departed 0',
    `relations ${KEY}`,
    `relations ${KEY} remote`,
    `relations ${KEY} position`,
    `relations ${KEY} published`,
    'published hash',
    'tombstones 8',
    'tombstones 8 position',
    'previousTargets 0',
    'announced',
    'announced relations 7',
    'announced relations 7 service',
  ])('a memory of this version may have a key that is not known, as a newer program wrote it: in "%s"', (path) => {
    const steps = path.split(' ').filter((step) => step !== '')
    expect(stateIn(withUnknown({ version: VERSION, ...full }, steps))).toEqual(state)
  })

  test('a memory of this version may have several, beside each other and in each other', () => {
    const written = ['', `relations ${KEY}`, `relations ${KEY} remote`].reduce<unknown>(
      (before, path) => withUnknown(before, path.split(' ').filter(Boolean)),
      { version: VERSION, ...full },
    )
    expect(stateIn(written)).toEqual(state)
  })
})

const memoryOf = (name: string): string => `juju-service-mesh-${name}-labels`

const write = (world: World, name: string, state: unknown): void => {
  const { status, body } = patch(world, 'ConfigMap', { data: { state: JSON.stringify(state) } }, memoryOf(name))
  if (status !== 200) throw new Error(body)
}

describe.each([VERSION - 1, VERSION + 1])('a memory of version %i', (version) => {
  const other = { version, relations: [], published: 'what nobody knows' }

  test('is refused with a clear error, and left as it is', async () => {
    const world = await createStarted()
    write(world, 'details', other)
    const before = [effects(world), world.object('ConfigMap', memoryOf('details'))]
    world.calls.length = 0
    await expect(configure(world, 'details', {})).rejects.toThrow(
      `ConfigMap shop/juju-service-mesh-details-labels: data.state has version ${version}, as another meshstep wrote it, and this one reads version ${VERSION}. It was left as it is and nothing was changed. Run a meshstep that reads that version`,
    )
    expect(world.calls.filter(isWrite)).toEqual([])
    expect([effects(world), world.object('ConfigMap', memoryOf('details'))]).toEqual(before)
  })

  test.each(['details', 'beacon'])('of %s takes nothing from the other side, which says so', async (name) => {
    const world = await createStarted()
    write(world, name, other)
    const remote = name === 'details' ? 'beacon' : 'details'
    const { status, messages } = await say(world, 'resync', { application: remote })
    expect({ status, messages }).toMatchObject({
      status: 'waiting',
      messages: expect.arrayContaining([expect.stringContaining(`this one reads version ${VERSION}`)]),
    })
    expect(effects(world)).toEqual(WORKING)
  })
})

test('a kind that only a newer program knows stays among the owned ones, also days later', async () => {
  const DAY = 24 * 60 * 60 * 1_000
  const world = await createStarted()
  const stateOf = () => JSON.parse(world.object('ConfigMap', memoryOf('details'))?.data?.state ?? '{}')
  write(world, 'details', { ...stateOf(), owned: { ...stateOf().owned, 'Widget.example.com': null } })
  await configure(world, 'details', {})
  for (let day = 0; day < 3; day += 1) {
    world.clock.advance(DAY)
    await say(world, 'resync', { application: 'details' })
  }
  expect(stateOf().owned).toHaveProperty(['Widget.example.com'])
})
