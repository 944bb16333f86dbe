import { describe, expect, test } from 'vitest'
import { leaderElected } from '../../../../functions/leader-elected.ts'
import type { Change } from '../../../../src/core/reconcile/change.ts'
import { foldChanges } from '../../../../src/core/reconcile/fold/fold-changes.ts'
import type { Peer, Peers } from '../../../../src/core/relations/peers.ts'
import type { Document } from '../../../../src/core/relations/told/documents.ts'
import { FULL_BYTES, type Memory, measureContent } from '../../../../src/core/state/memory.ts'
import { type RelationEntry, relationKey } from '../../../../src/core/state/relation.ts'
import type { State } from '../../../../src/core/state/state.ts'
import { noUnits } from '../../../../src/core/units/units.ts'
import { features } from '../../../../src/features.ts'
import { Refused } from '../../../../src/platform/base/errors.ts'
import { entryOf, peersOf, stateOf } from '../../../helpers/states.ts'
import { event, SUBJECT } from '../../../helpers/world.ts'

const NOW = new Date('2026-01-02T03:04:05.000Z')
const CONFIG = features.config.parse({})
const KEY = relationKey(entryOf())

type Surroundings = Parameters<typeof foldChanges>[4]

const fold = async (
  state: State,
  changes: readonly Change[],
  {
    peers = peersOf({}),
    found = [] as readonly Document[],
    areAuthored = false,
    looked = 'all' as Surroundings['documents']['looked'],
  } = {},
  check?: Parameters<typeof foldChanges>[6],
  conceal?: Parameters<typeof foldChanges>[7],
) => {
  const turns: number[] = []
  const memory: Memory = { state, labels: {}, stored: undefined }
  const clock = { yieldTurn: async () => void turns.push(1) }
  const surroundings = { peers, documents: { found, looked, areAuthored } }
  const folded = await foldChanges({ features, clock }, memory, SUBJECT, changes, surroundings, NOW, check, conceal)
  return { ...folded, turns: turns.length }
}

const setting = (key: string, value = 'x', more: Partial<Change> = {}): Change => ({
  observation: false,
  fold: (state) => ({ state: { ...state, settings: { ...state.settings, [key]: value } } }),
  ...more,
})

const LARGE = 'x'.repeat(FULL_BYTES)

test('a config of a unit brings a removed application back once its election is told', async () => {
  const present = { one: { pod: 'web-0', number: 0 }, two: { pod: 'web-1', number: 1 } }
  const pending = [{ unit: 'web/0', data: { config: CONFIG } }]
  const removed = stateOf([], { removed: NOW.toISOString(), units: { ...noUnits(), present } })
  const { change: elect } = leaderElected.receive(event('leader-elected', { ...SUBJECT, unit: 'web/0' }), NOW)
  expect((await fold(removed, [elect])).taken).toMatchObject([{ stale: 'the application was removed' }])
  const { state } = await fold({ ...removed, pending }, [elect])
  expect(state).toMatchObject({ config: CONFIG, leader: { unit: 'web/0' } })
  for (const part of ['removed', 'pending']) expect(state).not.toHaveProperty(part)
})

describe('changes that are taken together', () => {
  test('changes that are taken together are folded one after another, with a turn for others between two', async () => {
    const { state, taken, turns } = await fold(
      stateOf([]),
      ['a', 'b', 'c'].map((key) => setting(key)),
    )
    expect([state.settings, taken, turns]).toEqual([
      { a: 'x', b: 'x', c: 'x' },
      [{}, {}, {}].map(() => ({ stale: undefined, isNews: true })),
      2,
    ])
    expect((await fold(stateOf([]), [])).taken).toEqual([])
  })

  test('changes that fail, or are refused, do not affect the others', async () => {
    const failing: Change = {
      observation: false,
      fold: () => {
        throw 'away'
      },
    }
    const { state, taken } = await fold(
      stateOf([]),
      [setting('a'), failing, setting('b'), setting('c')],
      {},
      (change, before, after) => {
        if (after.settings?.b !== undefined && before.settings?.b === undefined && change.fold !== undefined)
          throw new Refused(403, 'no')
      },
    )
    expect(state.settings).toEqual({ a: 'x', c: 'x' })
    expect(taken.map((one) => (one instanceof Error ? one.message : 'taken'))).toEqual(['taken', 'away', 'no', 'taken'])
  })

  test('changes that do not fit are refused, and others count', async () => {
    const { state, taken } = await fold(stateOf([]), [setting('a'), setting('large', LARGE), setting('b')])
    expect(state.settings).toEqual({ a: 'x', b: 'x' })
    expect(taken[1]).toMatchObject({ status: 413, message: expect.stringContaining('the memory of web would have') })
    const seen = await fold(stateOf([]), [setting('large', LARGE, { observation: true })])
    expect(seen.taken).toEqual([
      { message: 'the memory is full: this event is not remembered', lacksRoom: true, isNews: false },
    ])
  })

  test('changes whose databags do not fit count without them', async () => {
    const told = (data: Record<string, unknown>): Change => ({
      observation: false,
      fold: (state) => ({
        state: {
          ...state,
          relations: { [KEY]: entryOf({ position: { at: 9 }, remote: { application: 'beacon', data } }) },
        },
      }),
    })
    const { state, taken } = await fold(stateOf([entryOf({ remote: { application: 'beacon', data: { a: 'b' } } })]), [
      told({ a: LARGE }),
    ])
    expect(state.relations[KEY]).toMatchObject({ position: { at: 9 }, remote: { data: { a: 'b' } } })
    expect(taken).toEqual([
      {
        message: expect.stringMatching(/^relation 1 \(service-mesh\) with beacon: .*; what was told before stays$/),
        ...{ lacksRoom: true, isNews: false },
      },
    ])
  })

  test('changes that do not fit even without their databags are refused', async () => {
    const { data } = { data: { a: LARGE } }
    const change: Change = {
      observation: false,
      fold: (state) => ({
        state: {
          ...state,
          settings: { a: LARGE },
          relations: { [KEY]: entryOf({ remote: { application: 'beacon', data } }) },
        },
      }),
    }
    const { state, taken } = await fold(stateOf([entryOf()]), [change])
    expect(state).toEqual(stateOf([entryOf()]))
    expect(taken).toMatchObject([{ status: 413 }])
  })

  test('changes that end a relation count where there is no room', async () => {
    const fill = (length: number) => stateOf([entryOf()], { settings: { a: 'x'.repeat(length) } })
    const full = fill(FULL_BYTES - measureContent({ state: fill(0), labels: {} }))
    const over = entryOf({ status: 'ended', endedAt: NOW.toISOString() })
    const { state } = await fold(full, [
      { observation: false, fold: (before) => ({ state: { ...before, relations: { [KEY]: over } } }) },
    ])
    expect(state.relations[KEY]?.status).toBe('ended')
  })

  test('changes do not undo what documents and peers say', async () => {
    const clearing: Change = {
      observation: false,
      fold: ({ config: _, document: _d, ...state }) => ({ state: { ...state, relations: {} } }),
    }
    const peers = peersOf({ beacon: stateOf([entryOf({ role: 'provides', remote: { application: 'web' } })]) })
    const { state } = await fold(stateOf([]), [clearing], {
      peers,
      found: [{ name: 'one', application: 'web', config: CONFIG }],
    })
    expect([Object.keys(state.relations), state.document]).toEqual([[KEY], 'one'])
  })

  test('changes conceal the secret values of a config by their own sender', async () => {
    const change: Change = {
      observation: false,
      fold: (state, _, conceal) => ({ state: { ...state, config: conceal(CONFIG) } }),
    }
    const concealed = features.config.parse({ settings: { a: 'b' } })
    const seen: Change[] = []
    const { state } = await fold(stateOf([]), [change], {}, undefined, (_, by) => {
      seen.push(by)
      return concealed
    })
    expect([state.config, seen[0]]).toEqual([concealed, change])
  })

  test('changes drop data of units that did not become leader', async () => {
    const elected: Change = { observation: true, fold: (state) => ({ state: { ...state, leader: { unit: 'web/1' } } }) }
    const pending = [{ unit: 'web/0', data: { settings: { a: 'b' } } }]
    const { dropped, state } = await fold(stateOf([], { pending }), [elected])
    expect(dropped).toEqual([
      'web/0 does not lead: the leader of web is web/1; the data that it sent before a leader was elected are dropped',
    ])
    expect([state.pending, state.settings]).toEqual([undefined, undefined])
    const led = await fold(stateOf([], { pending }), [
      { ...elected, fold: (before) => ({ state: { ...before, leader: { unit: 'web/0' } } }) },
    ])
    expect([led.dropped, led.state.settings]).toEqual([[], { a: 'b' }])
  })
})

describe('documents beside changes', () => {
  const document: Document = { name: 'one', application: 'web', config: CONFIG }
  const event = (look: Change['look'], more: Partial<Change> = {}) =>
    setting('a', 'x', { look, event: 'event', ...more })

  test('documents beside changes cover their own events, whose content is not folded', async () => {
    const { state, taken } = await fold(stateOf([]), [event({ document: 'one', isTold: true })], { found: [document] })
    expect(state).toMatchObject({ document: 'one', config: CONFIG, marks: { config: { ids: ['event'] } } })
    expect(state).not.toHaveProperty('settings')
    expect(taken).toEqual([{ stale: undefined, isNews: true }])
  })

  test('documents beside changes that are gone cover no event, unless authors are asked for their rights', async () => {
    const told = event({ document: 'one', isTold: true })
    expect((await fold(stateOf([]), [told])).state.settings).toEqual({ a: 'x' })
    expect((await fold(stateOf([]), [told], { areAuthored: true })).state).not.toHaveProperty('settings')
    expect((await fold(stateOf([]), [event({ document: 'one' })])).state.settings).toEqual({ a: 'x' })
    const other: Document = { name: 'one', application: 'db', config: CONFIG }
    expect((await fold(stateOf([]), [event({ document: 'one' })], { found: [other] })).state.settings).toEqual({
      a: 'x',
    })
    expect((await fold(stateOf([]), [event(undefined)])).state.settings).toEqual({ a: 'x' })
  })

  test('a config whose document is gone removes the application as soon as it is told', async () => {
    const told = event(
      { document: 'one', isTold: true },
      { fold: (before) => ({ state: { ...before, config: CONFIG, document: 'one' } }) },
    )
    const { state } = await fold(stateOf([]), [told])
    expect(state).toMatchObject({ removed: NOW.toISOString() })
    expect(state).not.toHaveProperty('config')
  })

  test('the end of a document is never stale where the memory holds its content', async () => {
    const stale = (look: Change['look'], state: Partial<State>) =>
      fold(stateOf([], state), [event(look, { fold: (before) => ({ state: before, stale: 'late' }) })])
    expect(
      (await stale({ document: 'one' }, { document: 'one', config: CONFIG, marks: { config: { at: 1 } } })).taken,
    ).toEqual([{ isNews: true }])
    expect((await stale({ document: 'one' }, {})).taken).toEqual([{ stale: 'late', isNews: false }])
    // the config of a document that is gone goes with this step
    expect((await stale(undefined, { document: 'one', config: CONFIG })).taken).toEqual([
      { stale: 'late', isNews: true },
    ])
  })

  test('an application whose config is no document any more is removed', async () => {
    const { state } = await fold(stateOf([], { document: 'one', config: CONFIG, marks: { config: { at: 1 } } }), [])
    expect(state).toMatchObject({ removed: NOW.toISOString(), marks: { application: { at: NOW.getTime() } } })
    expect(state).not.toHaveProperty('config')
    const ahead = NOW.getTime() + 9_000
    const late = await fold(stateOf([], { document: 'one', config: CONFIG, marks: { config: { at: ahead } } }), [])
    expect(late.state.marks?.application?.at).toBe(ahead + 1)
    expect(late.state).not.toHaveProperty('config')
    const unread = await fold(stateOf([], { document: 'one', config: CONFIG }), [], { looked: [] })
    expect(unread.state).toMatchObject({ config: CONFIG, document: 'one' })
  })

  test('a document that does not fit is told with each change, and is an error of its own event', async () => {
    const huge: Document = {
      name: 'huge',
      application: 'web',
      config: features.config.parse({ settings: { a: LARGE } }),
    }
    const { taken, state } = await fold(stateOf([]), [setting('b'), event({ document: 'huge', isTold: true })], {
      found: [huge],
    })
    expect(state).not.toHaveProperty('config')
    expect(taken).toMatchObject([
      { message: expect.stringMatching(/^ConfigMap shop\/huge: .*; what it said before stays$/) },
      { status: 413 },
    ])
  })
})

test('a change that fails is an error also where a document does not fit', async () => {
  const huge: Document = { name: 'huge', application: 'web', config: features.config.parse({ settings: { a: LARGE } }) }
  const failing: Change = {
    observation: false,
    fold: () => {
      throw new Error('away')
    },
  }
  const { taken } = await fold(stateOf([]), [failing], { found: [huge] })
  expect(taken).toEqual([new Error('away')])
})

describe('the memories of peers beside changes', () => {
  const theirs = (changes: Partial<RelationEntry> = {}) =>
    entryOf({ role: 'provides', remote: { application: 'web' }, position: { at: 5 }, ...changes })
  const far: Peers = new Map<string, Peer>([
    [
      'mesh/beacon',
      {
        subject: { namespace: 'mesh', application: 'beacon' },
        state: stateOf([theirs({ remote: { application: 'web', namespace: 'shop' } })]),
        labels: {},
      },
    ],
  ])

  test('the memories of peers in the same namespace are merged, and no others', async () => {
    expect(
      (await fold(stateOf([]), [], { peers: peersOf({ beacon: stateOf([theirs()]) }) })).state.relations[KEY],
    ).toMatchObject({ status: 'established' })
    expect((await fold(stateOf([]), [], { peers: far })).state.relations).toEqual({})
    const unknown: Peers = new Map<string, Peer>([
      ['shop/beacon', { subject: { namespace: 'shop', application: 'beacon' }, unknown: 'missing', problem: '' }],
    ])
    expect((await fold(stateOf([]), [], { peers: unknown })).state.relations).toEqual({})
    const alias = entryOf({ id: 9, interface: 'cross_model_mesh' })
    const aliased = await fold(stateOf([alias]), [], { peers: peersOf({ beacon: stateOf([theirs()]) }) })
    expect(Object.keys(aliased.state.relations)).toEqual([relationKey(alias)])
  })

  test('of two peers with one id that of the claimed relation counts', async () => {
    const holder = async (first: Partial<RelationEntry>, second: Partial<RelationEntry>) => {
      const { state } = await fold(stateOf([]), [], {
        peers: peersOf({ one: stateOf([theirs(first)]), two: stateOf([theirs(second)]) }),
      })
      return Object.values(state.relations).flatMap(({ remote, waitsForId }) =>
        waitsForId ? [] : [remote.application],
      )
    }
    expect(await holder({}, {})).toEqual(['one'])
    expect(await holder({}, { claim: { version: 'v1', phase: 'applied' as const } })).toEqual(['two'])
    expect(await holder({ claim: { version: 'v1', phase: 'applied' } }, {})).toEqual(['one'])
  })

  test('the marks of peers are known to a change, of its relation or of its id', async () => {
    const known = async (
      id: number,
      asked: Parameters<Parameters<Change['fold']>[1]>[1],
      beacon: State,
      peers: Peers = peersOf({ beacon }),
    ) => {
      const seen: number[] = []
      await fold(
        stateOf([]),
        [
          {
            observation: false,
            fold: (state, marks) => {
              seen.push(...marks(id, asked).map(({ at }) => at))
              return { state }
            },
          },
        ],
        { peers },
      )
      return seen
    }
    const tombstones = (key: string, name?: string): State['tombstones'] => ({
      [key]: { position: { at: 7 }, endedAt: NOW.toISOString(), ...(name && { interface: name }) },
    })
    const about = { remote: { application: 'beacon' } }
    expect(await known(1, undefined, stateOf([theirs()]))).toEqual([5])
    expect(await known(2, undefined, stateOf([theirs()]))).toEqual([])
    expect(await known(1, about, stateOf([theirs()]))).toEqual([5])
    expect(await known(1, { ...about, interface: 'service_mesh' }, stateOf([theirs()]))).toEqual([5])
    expect(await known(1, { ...about, interface: 'sql' }, stateOf([theirs()]))).toEqual([])
    expect(await known(1, { remote: { application: 'other' } }, stateOf([theirs()]))).toEqual([])
    expect(await known(1, undefined, stateOf([theirs({ remote: { application: 'other' } })]))).toEqual([])
    expect(await known(1, about, stateOf([], { tombstones: tombstones('1/web', 'sql') }))).toEqual([7])
    expect(
      await known(1, { ...about, interface: 'http' }, stateOf([], { tombstones: tombstones('1/web', 'sql') })),
    ).toEqual([])
    expect(await known(1, about, stateOf([], { tombstones: tombstones('1/other') }))).toEqual([])
    expect(await known(1, about, stateOf([], { tombstones: tombstones('1') }))).toEqual([7])
    expect(
      await known(1, about, stateOf([theirs({ remote: { application: 'other' } })], { tombstones: tombstones('1') })),
    ).toEqual([])
    expect(await known(1, undefined, stateOf([]), far)).toEqual([])
  })
})
