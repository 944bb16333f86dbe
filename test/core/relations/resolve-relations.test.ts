import { describe, expect, test } from 'vitest'
import { lastReadableValues } from '../../../src/core/relations/databags/last-readable.ts'
import { readData } from '../../../src/core/relations/databags/relation-data.ts'
import { contentHash, versionOf, withVersions } from '../../../src/core/relations/offers/published-version.ts'
import { findPeerEntry, oppositeIdentity, peerEntry } from '../../../src/core/relations/peer-entry.ts'
import { peerView } from '../../../src/core/relations/peer-view.ts'
import { isRelatedTo, listRemotes, type Peer, type Peers, remoteTest } from '../../../src/core/relations/peers.ts'
import { resolveRelations } from '../../../src/core/relations/resolve-relations.ts'
import { assignIds, sharedIds } from '../../../src/core/relations/told/ids.ts'
import { protocolOf } from '../../../src/core/state/interfaces.ts'
import { publishedWith, type RelationEntry, relationKey, relationsIn } from '../../../src/core/state/relation.ts'
import type { State } from '../../../src/core/state/state.ts'
import { features } from '../../../src/features.ts'
import { entryOf, peersOf, stateOf } from '../../helpers/states.ts'
import { SUBJECT } from '../../helpers/world.ts'

const KEY = relationKey(entryOf())
const CONFIG = features.config.parse({})
const SINCE = '2026-01-01T00:00:00.000Z'
const BEACON = { namespace: 'shop', application: 'beacon' }

const theirs = (changes: Partial<RelationEntry> = {}): RelationEntry =>
  entryOf({ role: 'provides', remote: { application: 'web' }, ...changes })

const publishing = (data: Record<string, string>, changes: Partial<RelationEntry> = {}, more = {}): State =>
  stateOf([theirs({ published: { digest: 'd' }, ...changes })], { published: { d: { data, ...more } } })

const resolved = (entry: RelationEntry, beacon?: State, changes: Partial<State> = {}) =>
  resolveRelations(SUBJECT, stateOf([entry], { config: CONFIG, ...changes }), peersOf(beacon ? { beacon } : {}))

const relationOf = (...args: Parameters<typeof resolved>) => Object.values(resolved(...args).state.relations)[0]

describe('the data of a relation in effect', () => {
  test('the data of a relation in effect are those that the peer publishes, and else those of the platform', () => {
    const told = entryOf({
      remote: { application: 'beacon', data: { a: 'platform', b: 'platform' }, units: { 'beacon/0': { c: 'd' } } },
    })
    expect(relationOf(told)).toMatchObject({ remote: told.remote, source: 'platform' })
    const units = { 'beacon/1': { e: 'f' } }
    expect(relationOf(told, publishing({ a: 'peer' }, {}, { units, partial: true }))).toMatchObject({
      ...{ remote: { data: { a: 'peer', b: 'platform' }, units }, source: 'peer', isPartial: true },
    })
    expect(relationOf(told, publishing({ a: 'peer' }))).toMatchObject({ remote: { units: { 'beacon/0': { c: 'd' } } } })
  })

  test('the data of a relation in effect are unknown where the peer had published some, whatever the platform says', () => {
    expect(relationOf(entryOf({ peer: { publishes: true } }))?.source).toBe('unknown')
    expect(relationOf(entryOf({ peer: { publishes: true } }), publishing({}))?.source).toBe('peer')
    expect(
      relationOf(entryOf({ peer: { publishes: true }, remote: { application: 'beacon', data: { a: 'b' } } }))?.source,
    ).toBe('unknown')
    expect(relationOf(entryOf())?.source).toBe('nobody')
  })

  const unreadable = { _supported_versions: '["v1"]', data: '{' }

  test('the data of a relation in effect are the last readable ones while they cannot be read', () => {
    const entry = entryOf({ remote: { application: 'beacon', data: unreadable } })
    expect(relationOf(entry)).toMatchObject({ source: 'unknown', remote: { data: {} } })
    const { problems, waiting } = resolved(entry)
    expect(waiting).toMatchObject([{ for: ['shop/beacon'] }])
    expect(problems).toEqual([
      expect.stringMatching(/^relation 1 \(service-mesh\): data: .*; the last readable data stays in effect$/),
    ])
    const known = relationOf({ ...entry, lastReadable: { labels: '{}' } })
    expect(known).toMatchObject({ remote: { data: { labels: '{}' } }, lastReadable: { labels: '{}' } })
    expect(known?.source).toBe('platform')
  })

  test('the data of a relation in effect are blocked without a version in common', () => {
    const entry = entryOf({ remote: { application: 'beacon', data: { _supported_versions: '["v9"]' } } })
    expect(resolved(entry).blocked).toEqual([
      'relation 1 (service-mesh): service_mesh: no version in common: v0, v1 here, v9 there; the last readable data stays in effect',
    ])
    expect(resolved(entry).problems).toEqual([])
  })

  test('the data of a relation in effect are told to be none by a platform that emptied them; what this side published stands beside them', () => {
    expect(relationOf(entryOf({ remote: { application: 'beacon', data: {} } }))?.source).toBe('platform')
    const own = { data: { policies: '[]' } }
    expect(relationOf(entryOf({ published: { digest: 'own' } }), undefined, { published: { own } })?.ownData).toEqual(
      own,
    )
    expect(relationOf(entryOf())).not.toHaveProperty('ownData')
  })

  test('policies of the platform count while the peer has never published any', () => {
    expect(readData('service_mesh', { policies: '1' }, undefined)).toEqual({ data: { policies: '1' }, version: 0 })
    expect(readData('service_mesh', { policies: '1' }, { a: 'b' })).toEqual({ data: { policies: '1', a: 'b' } })
    expect(readData('service_mesh', { policies: '1' }, { policies: '2' })).toMatchObject({ data: { policies: '2' } })
    expect(readData('service_mesh', {}, { a: 'b' })).toMatchObject({ data: { a: 'b' } })
  })
})

describe('a relation that is over', () => {
  test('a relation that is over stays in effect at its provider while its labels are, or may be, carried', () => {
    const provided = (changes: Partial<RelationEntry>, db?: State) => {
      const entry = entryOf({ role: 'provides', remote: { application: 'db' }, status: 'ended', ...changes })
      const state = stateOf([entry], { config: CONFIG })
      return Object.values(resolveRelations(SUBJECT, state, peersOf(db ? { db } : {})).state.relations).map(
        ({ standing }) => standing,
      )
    }
    const consumer = (phase?: 'applied') =>
      stateOf([entryOf({ remote: { application: 'web' }, ...(phase && { claim: { version: 'v1', phase } }) })])
    expect(provided({}, consumer('applied'))).toEqual(['leaving'])
    expect(provided({}, consumer())).toEqual([])
    expect(provided({ peer: { publishes: true } })).toEqual(['leaving'])
    expect(provided({})).toEqual([])
  })

  test('a relation that is over at the peer is over here', () => {
    expect(
      relationOf(entryOf(), stateOf([theirs()], { removed: SINCE, marks: { application: { at: 9 } } })),
    ).toBeUndefined()
    expect(relationOf(entryOf(), stateOf([theirs({ status: 'ended' })]))).toBeDefined()
  })

  test('a relation that leaves, or whose data are unknown, is waited for', () => {
    const waits = (entry: RelationEntry, beacon?: State) =>
      resolved(entry, beacon).waiting.map(({ message }) => message)
    expect(waits(entryOf())).toEqual([])
    const UNKNOWN = 'relation 1 (service-mesh): waiting for the data of shop/beacon'
    expect(waits(entryOf({ peer: { publishes: true } }))).toEqual([
      `${UNKNOWN}; what was applied for it stays in effect`,
    ])
    expect(waits(entryOf({ peer: { publishes: true } }), stateOf([theirs()]))).toEqual([
      `${UNKNOWN}; what was applied for it stays in effect`,
    ])
    const provided = entryOf({ role: 'provides', peer: { publishes: true } })
    const consumer = (changes = {}) => stateOf([entryOf({ remote: { application: 'web' }, ...changes })])
    expect(waits(provided, consumer())).toEqual([
      `${UNKNOWN}, which needs its config, {} if it has none; what was applied for it stays in effect`,
    ])
    expect(waits(provided, consumer({ published: { digest: 'lost' } }))).toEqual([
      `${UNKNOWN}; what was applied for it stays in effect`,
    ])
    expect(waits(provided)).toEqual([`${UNKNOWN}; what was applied for it stays in effect`])
    expect(
      waits(
        { ...provided, status: 'ended' },
        consumer({ claim: { version: 'v1', phase: 'applied' as const }, published: { digest: 'd' } }),
      ),
    ).toHaveLength(1)
    const leaving = { ...entryOf({ role: 'provides', status: 'ended' }), peer: {} }
    expect(waits(leaving, consumer({ claim: { version: 'v1', phase: 'applied' as const } }))).toEqual([
      'relation 1 (service-mesh): waiting for shop/beacon to leave the mesh',
    ])
  })
})

describe('the view of a peer', () => {
  const view = (entry: RelationEntry, peers: Peers) => peerView(SUBJECT, stateOf([entry]), KEY, peers)
  const unknown = (changes: object): Peers =>
    new Map([['shop/beacon', { subject: BEACON, problem: 'no', ...changes } as Peer]])

  test('the view of a peer without a memory is empty, and has no labels where no workload exists either', () => {
    expect(view(entryOf(), peersOf({}))).toEqual({ word: 'established', mayCarry: false })
    expect(view(entryOf(), unknown({ unknown: 'missing' }))).toEqual({ word: 'established', mayCarry: false })
    expect(view(entryOf(), unknown({ unknown: 'missing', isGone: true }))).toEqual({
      word: 'established',
      mayCarry: false,
    })
    expect(view(entryOf(), unknown({ unknown: 'unreadable' }))).toEqual({
      ...{ word: 'established', problem: 'no', mayCarry: true },
    })
    expect(peerView(SUBJECT, stateOf([]), KEY, peersOf({ beacon: stateOf([theirs()]) }))).toEqual({
      word: 'established',
      mayCarry: false,
    })
  })

  test('the view of a peer that does not know the relation has labels only while it recovers, and a rival with the id', () => {
    expect(view(entryOf(), peersOf({ beacon: stateOf([]) }))).toMatchObject({
      word: 'established',
      mayCarry: false,
    })
    expect(view(entryOf(), peersOf({ beacon: stateOf([], { lost: { labels: true } }) }))).toMatchObject({
      mayCarry: true,
    })
    const rival = theirs({ remote: { application: 'other' } })
    expect(view(entryOf(), peersOf({ beacon: stateOf([rival]) }))).toMatchObject({ word: 'waiting', rival })
    expect(view(entryOf(), peersOf({ beacon: stateOf([{ ...rival, status: 'ended' }]) }))).toMatchObject({
      word: 'established',
    })
    expect(view(entryOf(), peersOf({ beacon: stateOf([{ ...rival, waitsForId: true }]) }))).toMatchObject({
      word: 'established',
    })
  })

  test('the view of a peer that waits for the id is that of its rival', () => {
    const rival = theirs({ interface: 'sql' })
    expect(view(entryOf(), peersOf({ beacon: stateOf([theirs({ waitsForId: true }), rival]) }))).toMatchObject({
      word: 'waiting',
      rival,
    })
    expect(view(entryOf(), peersOf({ beacon: stateOf([theirs(), { ...rival, waitsForId: true }]) }))).toMatchObject({
      word: 'established',
      rival: undefined,
    })
  })

  test('the view of a peer has its data, unless they are from before the end of a relation that is announced again', () => {
    const data = { a: 'b' }
    const seen = (own: Partial<RelationEntry>, changes: Partial<RelationEntry>) =>
      view(entryOf(own), peersOf({ beacon: publishing(data, changes) })).published?.data
    expect(seen({}, {})).toEqual(data)
    expect(seen({}, { status: 'ended' })).toBeUndefined()
    expect(seen({ status: 'ended' }, { status: 'ended' })).toEqual(data)
  })

  test('the view of a peer in another namespace has its data, whatever its status', () => {
    const far = {
      ...theirs({ status: 'ended', published: { digest: 'd' } }),
      remote: { application: 'web', namespace: 'shop' },
    }
    const state = stateOf([far], { published: { d: { data: { a: 'b' } } } })
    const peers: Peers = new Map([
      ['mesh/beacon', { subject: { namespace: 'mesh', application: 'beacon' }, state, labels: {} }],
    ])
    const own = entryOf({ remote: { application: 'beacon', namespace: 'mesh' } })
    expect(peerView(SUBJECT, stateOf([own]), relationKey(own), peers)).toMatchObject({
      published: { data: { a: 'b' } },
      word: 'over',
    })
  })

  test('the view of a peer shows the hash of its side', () => {
    const state = publishing({ a: 'b' })
    const [entry] = Object.values(state.relations)
    expect(view(entryOf(), peersOf({ beacon: state })).shows).toBe(versionOf(state, entry ?? theirs()))
  })

  test('labels may be carried where the peer says so, or else where it had published something', () => {
    const published = entryOf({ peer: { publishes: true } })
    expect(view(published, peersOf({ beacon: stateOf([theirs()]) })).mayCarry).toBe(false)
    expect(view(published, new Map()).mayCarry).toBe(true)
    expect(view(entryOf({ peer: { seen: 'a' } }), new Map()).mayCarry).toBe(true)
    expect(view(entryOf({ peer: { sent: 'a' } }), new Map()).mayCarry).toBe(false)
  })
})

describe('the entry of a peer in another namespace', () => {
  const REMOTE = { application: 'beacon', namespace: 'mesh' }
  const own = (changes: Partial<RelationEntry> = {}) => entryOf({ remote: REMOTE, ...changes })
  const far = (changes: Partial<RelationEntry> = {}) =>
    entryOf({ id: 9, role: 'provides', remote: { application: 'web', namespace: 'shop' }, ...changes })
  const find = (entries: RelationEntry[], others: RelationEntry[], entry = entries[0] ?? own()) =>
    findPeerEntry(SUBJECT, stateOf(entries), relationKey(entry), stateOf(others))?.id

  test('the entry of a peer in another namespace has another id, and the opposite role', () => {
    expect(find([own()], [far()])).toBe(9)
    expect(find([own()], [far({ role: 'requires' })])).toBeUndefined()
    expect(find([own()], [far({ interface: 'sql' })])).toBeUndefined()
    expect(find([own()], [far({ remote: { application: 'other', namespace: 'shop' } })])).toBeUndefined()
    expect(find([], [far()], own())).toBeUndefined()
  })

  test('the entry of a peer in another namespace has the endpoints that either side names', () => {
    expect(find([own({ remote: { ...REMOTE, endpoint: 'mesh' } })], [far()])).toBeUndefined()
    expect(find([own({ remote: { ...REMOTE, endpoint: 'service-mesh' } })], [far()])).toBe(9)
    const named = (endpoint: string) => far({ remote: { application: 'web', namespace: 'shop', endpoint } })
    expect(find([own()], [named('other')])).toBeUndefined()
    expect(find([own()], [named('service-mesh')])).toBe(9)
  })

  test('the entry of a peer in another namespace is that of the same rank by id, where existing ones come first', () => {
    const both = [own({ id: 1 }), own({ id: 2 })]
    const others = [far({ id: 8 }), far({ id: 9 })]
    expect([find(both, others, own({ id: 1 })), find(both, others, own({ id: 2 }))]).toEqual([8, 9])
    const ended = [own({ id: 1, status: 'ended' }), own({ id: 2 })]
    expect([find(ended, others, own({ id: 1 })), find(ended, others, own({ id: 2 }))]).toEqual([9, 8])
    expect(find(both, [far({ id: 8 })], own({ id: 2 }))).toBe(8)
    expect(find([own({ id: 1 }), own({ id: 2, endpoint: 'other' })], others, own({ id: 2 }))).toBe(8)
    expect(find([own({ id: 1 }), own({ id: 2, role: 'provides' })], others, own({ id: 1 }))).toBe(8)
  })
})

describe('an id', () => {
  const WAITING = entryOf({ remote: { application: 'other' }, waitsForId: true, position: { at: 3 } })
  const assigned = (entries: RelationEntry[], peers: Peers = peersOf({})) =>
    Object.values(assignIds(SUBJECT, stateOf(entries), peers).relations).flatMap(({ remote, waitsForId }) =>
      waitsForId ? [] : [remote.application],
    )

  test('an id passes to the relation that was announced first, once its holder is over on either side', () => {
    expect(assigned([entryOf(), WAITING])).toEqual(['beacon'])
    expect(assigned([entryOf({ status: 'ended' }), WAITING])).toEqual(['other'])
    expect(assigned([WAITING])).toEqual(['other'])
    const third = { ...WAITING, remote: { application: 'third' }, position: { at: 2 } }
    expect(assigned([entryOf({ status: 'ended' }), WAITING, third])).toEqual(['third'])
    expect(assigned([entryOf({ status: 'ended' }), third, WAITING])).toEqual(['third'])
    expect(
      assigned(
        [entryOf(), WAITING],
        peersOf({ beacon: stateOf([theirs()], { removed: SINCE, marks: { application: { at: 9 } } }) }),
      ),
    ).toEqual(['other'])
    expect(assigned([entryOf({ status: 'ended' }), { ...WAITING, status: 'ended' }])).toEqual(['beacon'])
  })

  test('an id stays where the peer has it for another relation', () => {
    const rival = theirs({ remote: { application: 'rival' } })
    expect(assigned([entryOf(), WAITING], peersOf({ beacon: stateOf([rival]) }))).toEqual(['beacon'])
  })

  test('an id that another relation has is waited for, on either side', () => {
    const waits = (entries: RelationEntry[], peers: Peers = peersOf({})) => sharedIds(SUBJECT, stateOf(entries), peers)
    expect(waits([entryOf(), WAITING])).toMatchObject([
      {
        ...{ object: 'relation 1 (service-mesh) with shop/other', for: ['shop/beacon'] },
        message:
          'relation 1 (service-mesh) with shop/other does not count, as shop/web has the id 1 for service_mesh with shop/beacon until that ends: give one of the two another id',
      },
    ])
    expect(waits([entryOf(), { ...WAITING, told: undefined }])).toEqual([])
    expect(waits([entryOf(), { ...WAITING, status: 'ended' }])).toEqual([])
    const rival = theirs({ remote: { application: 'rival' } })
    expect(waits([entryOf()], peersOf({ beacon: stateOf([rival]) }))).toMatchObject([
      {
        for: ['shop/rival'],
        message: expect.stringContaining('as shop/beacon has the id 1 for service_mesh with shop/rival'),
      },
    ])
    expect(waits([entryOf()])).toEqual([])
  })
})

describe('what identifies a relation', () => {
  test('what identifies a relation at its peer is its id, its interface, the opposite role and the endpoint there', () => {
    const opposite = (changes: Partial<RelationEntry>) => oppositeIdentity(entryOf(changes))
    expect(opposite({})).toEqual({ id: 1, endpoint: 'service-mesh', interface: 'service_mesh', role: 'provides' })
    expect(opposite({ role: 'peers', remote: { application: 'a', endpoint: 'b' } })).toMatchObject({
      endpoint: 'b',
      role: 'peers',
    })
    expect(opposite({ interface: 'cross_model_mesh', endpoint: 'require-cmr-mesh' }).endpoint).toBe('provide-cmr-mesh')
    expect(peerEntry(theirs({ document: 'one', endedAt: SINCE }), BEACON)).toEqual({
      ...{ ...entryOf(), remote: { application: 'beacon', endpoint: 'service-mesh' } },
      ...{ told: undefined, document: 'one', endedAt: SINCE },
    })
    expect(peerEntry(theirs(), BEACON)).not.toHaveProperty('document')
  })

  test('what identifies the content of a relation changes with its status and its data, until it is saved as a version', () => {
    const hash = (changes: Partial<RelationEntry>, more: Partial<State> = {}) =>
      versionOf(stateOf([], more), entryOf(changes))
    const all = [
      ...[hash({}), hash({ status: 'ended' }), hash({ published: { digest: 'a' } })],
      ...[
        hash({ published: { version: '1' } }),
        hash({ endedAt: SINCE }),
        hash({}, { marks: { application: { at: 1 } } }),
      ],
    ]
    expect(new Set(all).size).toBe(all.length)
    expect(hash({ status: 'ended', endedAt: SINCE })).toBe(hash({ status: 'ended' }))
    expect(hash({ claim: { version: 'v1', phase: 'applied' as const } })).toBe(hash({}))
    expect(contentHash({ a: 1 })).toHaveLength(12)
  })

  test('a relation gets a new version when what it shows changes, and keeps its version otherwise', () => {
    const stored = (state: State) => ({
      state,
      labels: {},
      stored: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', resourceVersion: '7' } },
    })
    const version = (before: RelationEntry[], after: RelationEntry, more: Partial<State> = {}) =>
      Object.values(
        withVersions(stored(stateOf(before)), { state: stateOf([after], more), labels: {} }).state.relations,
      )[0]?.published?.version
    const known = entryOf({ published: { version: '3' } })
    expect(version([known], known)).toBe('3')
    expect(version([known], { ...known })).toBe('3')
    expect(version([known], { ...known, claim: { version: 'v1', phase: 'applied' } })).toBe('3')
    expect(version([known], known, { removed: SINCE })).toBe('3')
    const changed = [
      version([known], { ...known, status: 'ended' }),
      version([known], known, { removed: SINCE, marks: { application: { at: 9 } } }),
      version([known], known, { marks: { application: { at: 0 } } }),
      version([], known),
    ]
    expect(changed).not.toContain('3')
    expect(new Set(changed).size).toBeGreaterThan(1)
  })

  test('a relation of four interfaces has a protocol', () => {
    expect(
      ['service_mesh', 'cross_model_mesh', 'cluster', 'k8s-service', 'sql'].map(
        (name) => protocolOf(name) !== undefined,
      ),
    ).toEqual([true, true, true, true, false])
  })

  test('relations are sorted by id, then by key', () => {
    const entries = [
      entryOf({ id: 2 }),
      entryOf({ remote: { application: 'z' } }),
      entryOf({ remote: { application: 'a' } }),
    ]
    expect(relationsIn(stateOf(entries)).map(({ id, remote }) => [id, remote.application])).toEqual([
      [1, 'a'],
      [1, 'z'],
      [2, 'beacon'],
    ])
    expect(relationsIn(stateOf(entries), ({ id }) => id === 2)).toHaveLength(1)
  })

  test('published data without fields are left out', () => {
    expect(publishedWith(entryOf({ published: { digest: 'a' } }), { digest: undefined })).toEqual({})
    expect(publishedWith(entryOf({ published: { version: '1' } }), { digest: 'a' }).published).toEqual({
      digest: 'a',
      version: '1',
    })
  })
})

describe('the peers of an application', () => {
  const alias = entryOf({ id: 2, interface: 'cross_model_mesh', remote: { application: 'alias' } })

  test('the peers of an application are others, and no aliases', () => {
    const names = (...entries: RelationEntry[]) =>
      listRemotes(SUBJECT, stateOf(entries)).map(({ namespace, application }) => `${namespace}/${application}`)
    expect(names(entryOf(), entryOf({ id: 3 }), entryOf({ id: 4, remote: { application: 'web' } }))).toEqual([
      'shop/beacon',
    ])
    expect(names(alias, entryOf({ id: 3, remote: { application: 'alias' } }))).toEqual([])
    expect(names({ ...alias, status: 'ended' })).toEqual(['shop/alias'])
    expect(names({ ...alias, remote: { application: 'alias', namespace: 'data' } })).toEqual(['data/alias'])
    expect(remoteTest(SUBJECT, stateOf([]))({ ...SUBJECT, namespace: 'data' })).toBe(true)
  })

  test('a peer is related where its memory has a relation with the application, or the end of one', () => {
    const related = (state: State) => isRelatedTo({ subject: BEACON, state, labels: {} }, SUBJECT)
    expect(related(stateOf([theirs()]))).toBe(true)
    expect(related(stateOf([]))).toBe(false)
    expect(related(stateOf([theirs({ remote: { application: 'other' } })]))).toBe(false)
    expect(related(stateOf([], { tombstones: { '1/web': { position: { at: 1 }, endedAt: SINCE } } }))).toBe(true)
    expect(related(stateOf([theirs({ interface: 'cross_model_mesh' })]))).toBe(false)
    expect(isRelatedTo({ subject: BEACON, unknown: 'missing', problem: '' }, SUBJECT)).toBe(false)
  })
})

describe('the last readable values', () => {
  const platform = (data: Record<string, unknown>, lastReadable?: Record<string, unknown>, name = 'service_mesh') => ({
    ...{ interface: name, remote: { application: 'beacon', data }, ...(lastReadable && { lastReadable }) },
  })
  const kept = (before: ReturnType<typeof platform> | undefined, now: ReturnType<typeof platform>) =>
    lastReadableValues(before, now, undefined)

  test('the last readable values are kept of keys that are unreadable now', () => {
    expect(kept(platform({ policies: '[]' }), platform({ policies: '{' }))).toEqual({ policies: '[]' })
    expect(kept(platform({ policies: '[]' }), platform({}))).toBeUndefined()
    expect(kept(platform({ policies: '{' }), platform({ policies: '{' }))).toBeUndefined()
    expect(kept(platform({ policies: '{' }, { policies: '[]' }), platform({ policies: '{' }))).toEqual({
      policies: '[]',
    })
    expect(kept(platform({ labels: '{}', policies: '[]' }), platform({ labels: '[', policies: '{' }))).toEqual({
      labels: '{}',
      policies: '[]',
    })
    expect(
      kept(platform({ policies: '[]' }, undefined, 'sql'), platform({ policies: '{' }, undefined, 'sql')),
    ).toBeUndefined()
    expect(kept(undefined, platform({ policies: '{' }))).toBeUndefined()
  })

  test('the last readable values are kept as a whole while nothing can be read', () => {
    const broken = { _supported_versions: '["v1"]', data: '{' }
    expect(kept(platform({ policies: '[]', a: 'b' }), platform(broken))).toEqual({ policies: '[]', a: 'b' })
    expect(kept(platform(broken, { policies: '[]' }), platform(broken))).toEqual({ policies: '[]' })
    expect(kept(undefined, platform(broken))).toBeUndefined()
  })
})

test('what the platform tells of a provider of labels does not count while the memory of the provider knows of no relation', () => {
  const data = { labels: '{"tier":"red"}' }
  const told = { application: 'beacon', data }
  const dataOf = (entry: RelationEntry, peers: Peers) =>
    Object.values(resolveRelations(SUBJECT, stateOf([entry]), peers).state.relations).map(({ remote }) => remote.data)
  const unaware = peersOf({ beacon: stateOf([]) })
  expect(dataOf(entryOf({ remote: told }), unaware)).toEqual([{}])
  expect(dataOf(entryOf({ remote: told }), new Map())).toEqual([data])
  expect(dataOf(entryOf({ remote: told, interface: 'sql' }), unaware)).toEqual([data])
})
