import { describe, expect, test } from 'vitest'
import { labelsHandedElsewhere, labelsHandedOn } from '../../../src/core/relations/handed-on.ts'
import { desiredMeshLabels } from '../../../src/core/relations/mesh-labels.ts'
import { dueIntents, recordProgress, type StepFailures, withIntents } from '../../../src/core/relations/progress.ts'
import { endedBy, knownEnrolments, withRecoveredLabels } from '../../../src/core/relations/recover-labels.ts'
import { resolveRelations } from '../../../src/core/relations/resolve-relations.ts'
import {
  awaitedConfig,
  awaitedEndpoints,
  endpointsEndedByPeers,
  isKnownToPeers,
  withUnknownEndpoints,
} from '../../../src/core/relations/unknown-endpoints.ts'
import { type Relation, type RelationEntry, relationKey } from '../../../src/core/state/relation.ts'
import type { State } from '../../../src/core/state/state.ts'
import { features } from '../../../src/features.ts'
import { entryOf, peersOf, stateOf } from '../../helpers/states.ts'
import { SUBJECT } from '../../helpers/world.ts'

const MESH = { 'istio.io/dataplane-mode': 'ambient' }
const LABELS = { published: { labels: { data: { labels: JSON.stringify(MESH) } } } }
const BEACON_CONFIG = features.config.parse({ mesh: {} })
const PLAIN = features.config.parse({})
const SINCE = '2026-01-01T00:00:00.000Z'

const NONE: StepFailures = { requesters: new Set(), mayBeLabelled: false }

/** The beacon's entry of the relation with `web`, which asks for labels. */
const asking = (changes: Partial<RelationEntry> = {}): State =>
  stateOf(
    [entryOf({ role: 'provides', remote: { application: 'web' }, published: { digest: 'labels' }, ...changes })],
    LABELS,
  )

/** The entry of the consumer `db` of the relation with `web`, which has published a request. */
const requesting = (changes: Partial<RelationEntry> = {}): State =>
  stateOf([entryOf({ remote: { application: 'web' }, published: { digest: 'request' }, ...changes })], {
    published: { request: { data: { policies: '[]' } } },
  })

const provides = (changes: Partial<RelationEntry> = {}): RelationEntry =>
  entryOf({ role: 'provides', remote: { application: 'db' }, ...changes })

describe('the progress of a requirer', () => {
  const progress = (entry: RelationEntry, theirs: State | undefined = asking(), failures = NONE) => {
    const state = stateOf([entry], { config: PLAIN })
    const peers = peersOf(theirs ? { beacon: theirs } : {})
    const after = recordProgress(SUBJECT, state, resolveRelations(SUBJECT, state, peers), peers, failures)
    return after.relations[relationKey(entry)]
  }

  test.each<[string, RelationEntry, State, StepFailures, RelationEntry['labels']]>([
    ['has the labels that are asked for', entryOf(), asking(), NONE, 'applied'],
    ['has none where none are asked for', entryOf({ labels: 'applied' }), asking({ published: {} }), NONE, undefined],
    ['has none after the end', entryOf({ labels: 'applied', status: 'ended' }), asking(), NONE, undefined],
    [
      'may have them where some may remain',
      entryOf({ labels: 'applied', status: 'ended' }),
      asking(),
      { ...NONE, mayBeLabelled: true },
      'applied',
    ],
    [
      'keeps what it has where the data are unknown',
      entryOf({ labels: 'applying', peer: { publishes: true } }),
      asking({ published: {} }),
      NONE,
      'applying',
    ],
    [
      'has none of a relation of another interface',
      entryOf({ interface: 'sql' }),
      asking({ interface: 'sql' }),
      NONE,
      undefined,
    ],
  ])('the progress of a requirer: it %s', (_, entry, theirs, failures, labels) => {
    expect(progress(entry, theirs, failures)?.labels).toBe(labels)
  })

  test('the progress of a requirer says what it has observed of its peer, and that it publishes', () => {
    const first = progress(entryOf())
    expect(first?.peer).toEqual({ publishes: true, observed: expect.any(String) })
    expect(progress(entryOf(), asking({ published: {} }))?.peer).toEqual({ observed: expect.any(String) })
    expect(progress(entryOf(), stateOf([]))).not.toHaveProperty('peer')
    expect(progress(entryOf({ peer: { observed: 'before' } }), stateOf([]))?.peer).toEqual({ observed: 'before' })
    const same = progress(first ?? entryOf())
    expect(same).toEqual(first)
  })
})

describe('the progress of a provider', () => {
  const REQUESTER = 'relation 1 (service-mesh) of shop/db'
  const grant = (
    entry: RelationEntry,
    theirs: State | undefined,
    failed: string[] = [],
    config: State['config'] | null = BEACON_CONFIG,
  ) => {
    const state = stateOf([entry], config ? { config } : {})
    const peers = peersOf(theirs ? { db: theirs } : {})
    const failures = { requesters: new Set(failed), mayBeLabelled: false }
    const after = recordProgress(SUBJECT, state, resolveRelations(SUBJECT, state, peers), peers, failures)
    return after.relations[relationKey(entry)]
  }
  const standing = { phase: 'standing', digest: 'request' } as const
  const earlier = { phase: 'standing', digest: 'earlier' } as const

  test.each<[string, RelationEntry, State | undefined, string[], State['config'] | null, RelationEntry['grant']]>([
    ['of the request', provides(), requesting(), [], BEACON_CONFIG, standing],
    ['of the new request', provides({ grant: earlier }), requesting(), [], BEACON_CONFIG, standing],
    [
      'of the earlier request where its policies failed',
      provides({ grant: earlier }),
      requesting(),
      [REQUESTER],
      BEACON_CONFIG,
      earlier,
    ],
    [
      'of the request where policies of another requester failed',
      provides(),
      requesting(),
      ['relation 2 (service-mesh) of shop/db'],
      BEACON_CONFIG,
      standing,
    ],
    [
      'without a request where none is known',
      provides(),
      requesting({ published: {} }),
      [],
      BEACON_CONFIG,
      { phase: 'standing' },
    ],
    [
      'of before where the consumer is unknown',
      provides({ grant: earlier, peer: { publishes: true } }),
      undefined,
      [],
      BEACON_CONFIG,
      earlier,
    ],
    [
      'of before while it leaves',
      provides({ grant: earlier, status: 'ended' }),
      requesting({ labels: 'applied' }),
      [],
      BEACON_CONFIG,
      standing,
    ],
    [
      'of nobody once it has left',
      provides({ grant: earlier, status: 'ended' }),
      requesting(),
      [],
      BEACON_CONFIG,
      undefined,
    ],
    ['of nobody where it runs no mesh', provides({ grant: earlier }), requesting(), [], PLAIN, undefined],
    [
      'of before where it runs none, and labels are carried',
      provides({ grant: earlier }),
      requesting({ labels: 'applied' }),
      [],
      PLAIN,
      earlier,
    ],
    ['of before where its config is unknown', provides({ grant: earlier }), requesting(), [], null, earlier],
    [
      'of nobody in a relation of another interface',
      provides({ interface: 'sql' }),
      requesting({ interface: 'sql' }),
      [],
      BEACON_CONFIG,
      undefined,
    ],
  ])('the progress of a provider is a grant %s', (_, entry, theirs, failed, config, expected) => {
    expect(grant(entry, theirs, failed, config)?.grant).toEqual(expected)
  })

  test('the progress of a provider does not say that it has observed what failed', () => {
    expect(grant(provides({ peer: { observed: 'before' } }), requesting(), [REQUESTER])?.peer?.observed).toBe('before')
    expect(grant(provides({ peer: { observed: 'before' } }), requesting())?.peer?.observed).not.toBe('before')
  })
})

describe('an intent', () => {
  const intents = (entry: RelationEntry, theirs: State, before: RelationEntry = entry, config = BEACON_CONFIG) => {
    const state = stateOf([entry], { config })
    const peers = peersOf({ beacon: theirs, db: theirs })
    const resolved = resolveRelations(SUBJECT, state, peers)
    return dueIntents(SUBJECT, stateOf([before]), state, resolved, peers)
  }
  const granted = { phase: 'standing', digest: 'request' } as const

  test('an intent of a requirer is to apply labels', () => {
    expect(intents(entryOf(), asking())).toEqual([
      {
        key: relationKey(entryOf()),
        remote: { namespace: 'shop', application: 'beacon' },
        saves: { labels: 'applying' },
      },
    ])
    expect(intents(entryOf({ labels: 'applied' }), asking())).toEqual([])
    expect(intents(entryOf(), asking({ published: {} }))).toEqual([])
  })

  test('an intent of a provider is to revoke its grant', () => {
    expect(intents(provides({ grant: granted, status: 'ended' }), requesting())).toMatchObject([
      { remote: { application: 'db' }, saves: { grant: { phase: 'revoking' } } },
    ])
    expect(intents(provides({ grant: { phase: 'revoking' }, status: 'ended' }), requesting())).toMatchObject([
      { saves: undefined },
    ])
    expect(intents(provides({ status: 'ended' }), requesting())).toEqual([])
    expect(intents(provides({ grant: granted, status: 'ended' }), requesting({ labels: 'applied' }))).toEqual([])
  })

  test('an intent of a provider is to follow what it publishes, or another request', () => {
    const own = { grant: granted, published: { digest: 'new' } }
    expect(intents(provides(own), requesting(), provides({ published: { digest: 'old' } }))).toMatchObject([
      { saves: undefined },
    ])
    expect(intents(provides(own), requesting(), provides({ published: { digest: 'new' } }))).toEqual([])
    expect(intents(provides(own), requesting(), provides())).toEqual([])
    expect(intents(provides({ grant: { phase: 'standing', digest: 'earlier' } }), requesting())).toMatchObject([
      { saves: undefined },
    ])
    expect(intents(provides({ grant: granted }), requesting({ published: {} }))).toEqual([])
  })

  test('an intent is saved in the entry of its relation', () => {
    const state = stateOf([entryOf()])
    const [key] = Object.keys(state.relations)
    const remote = { namespace: 'shop', application: 'beacon' }
    expect(withIntents(state, [{ key: key ?? '', remote, saves: { labels: 'applying' } }])).toEqual(
      stateOf([entryOf({ labels: 'applying' })]),
    )
    expect(
      withIntents(state, [
        { key: key ?? '', remote, saves: undefined },
        { key: 'other', remote, saves: {} },
      ]),
    ).toEqual(state)
  })
})

describe('labels that were recovered', () => {
  test('labels that were recovered may be those of each relation that enrols', () => {
    const db = entryOf({ id: 2, interface: 'sql' })
    const state = withRecoveredLabels(stateOf([entryOf({ peer: { observed: 'a' } }), db]))
    expect(state).toEqual(
      stateOf([entryOf({ labels: 'applied', peer: { observed: 'a', publishes: true } }), db], { recovering: true }),
    )
  })

  const BEACON = { namespace: 'shop', application: 'beacon' }

  test('labels that were recovered are explained by providers that are known, and by ends', () => {
    const known = (entry: RelationEntry, theirs?: State) => {
      const state = stateOf([entry])
      const peers = peersOf(theirs ? { beacon: theirs } : {})
      return knownEnrolments(SUBJECT, state, resolveRelations(SUBJECT, state, peers))
    }
    expect(known(entryOf(), asking())).toEqual([BEACON])
    expect(known(entryOf({ peer: { publishes: true } }))).toEqual([])
    expect(known(entryOf({ interface: 'cluster' }))).toEqual([undefined])
    expect(known(entryOf({ interface: 'sql' }))).toEqual([])
    expect(known(entryOf({ role: 'provides' }))).toEqual([])
  })

  test('labels that were recovered are explained by ends that only the peer knows', () => {
    const tombstone = (name?: string) => ({ position: { at: 1 }, endedAt: SINCE, ...(name && { interface: name }) })
    const ended = (state: State, theirs = stateOf([])) => endedBy(SUBJECT, state, peersOf({ beacon: theirs }))
    expect(ended(stateOf([entryOf({ status: 'ended' })]))).toEqual([BEACON])
    expect(ended(stateOf([entryOf()]))).toEqual([])
    expect(ended(stateOf([entryOf({ status: 'ended', interface: 'sql' })]))).toEqual([])
    expect(ended(stateOf([], { tombstones: { '1/beacon': tombstone('service_mesh') } }))).toEqual([BEACON])
    expect(ended(stateOf([], { tombstones: { 1: tombstone('service_mesh') } }))).toEqual([undefined])
    expect(ended(stateOf([], { tombstones: { '1/beacon': tombstone('cluster') } }))).toEqual([undefined])
    expect(ended(stateOf([], { tombstones: { '1/beacon': tombstone() } }))).toEqual([])
    const theirs = (name: string) => stateOf([], { tombstones: { '1/web': tombstone(name) } })
    expect(ended(stateOf([]), theirs('service_mesh'))).toEqual([BEACON])
    expect(ended(stateOf([]), theirs('cluster'))).toEqual([])
  })
})

describe('endpoints whose relations are unknown', () => {
  const config = (...endpoints: string[]) =>
    features.config.parse({ policies: endpoints.map((relation) => ({ type: 'app', relation, endpoints: [] })) })
  const leftAfter = (changes: Partial<State>, isLost = true, ended: string[] = [], entries: RelationEntry[] = []) =>
    withUnknownEndpoints(stateOf(entries, changes), isLost, ended).unknownEndpoints

  test('endpoints whose relations are unknown are those of the first config after a loss, without those that are known', () => {
    expect(leftAfter({ config: config('a', 'b', 'a') })).toEqual(['a', 'b'])
    expect(leftAfter({ config: config('a', 'b') }, true, ['b'])).toEqual(['a'])
    expect(leftAfter({ config: config('a', 'b') }, true, [], [entryOf({ endpoint: 'b' })])).toEqual(['a'])
    expect(leftAfter({ config: config('a') }, true, ['a'])).toBeUndefined()
    expect(leftAfter({ config: config('a') }, false)).toBeUndefined()
    expect(leftAfter({ config: config('a'), removed: SINCE })).toBeUndefined()
  })

  test('endpoints whose relations are unknown become no more with a later config', () => {
    expect(leftAfter({ config: config('a', 'b'), unknownEndpoints: ['a'] }, false)).toEqual(['a'])
    expect(leftAfter({ config: config('b'), unknownEndpoints: ['a'] }, false)).toBeUndefined()
    expect(leftAfter({ config: config('a', 'b'), unknownEndpoints: { ended: ['b'] } }, false)).toEqual(['a'])
  })

  test('endpoints that have ended are collected until there is a config', () => {
    expect(leftAfter({}, true, ['a'])).toEqual({ ended: ['a'] })
    expect(leftAfter({ unknownEndpoints: { ended: ['b'] } }, false, ['a'])).toEqual({ ended: ['b', 'a'] })
    expect(leftAfter({ unknownEndpoints: ['b'] }, false, ['a'])).toEqual({ ended: ['a'] })
  })

  test('endpoints whose relations are unknown are waited for, or else the config', () => {
    expect(awaitedEndpoints({})).toEqual([])
    expect(awaitedEndpoints({ unknownEndpoints: { ended: [] } })).toEqual([])
    expect(awaitedEndpoints({ unknownEndpoints: ['a'] })).toMatchObject([{ for: ['a relation of endpoint a'] }])
    const waits = (unknownEndpoints: State['unknownEndpoints'], ...names: string[]) =>
      awaitedConfig(SUBJECT, { unknownEndpoints }, { waiting: [{ held: '', for: names, message: '' }] })
    expect(waits({ ended: [] })).toMatchObject([{ for: ['its config'] }])
    expect(waits({ ended: [] }, 'shop/web')).toEqual([])
    expect(waits({ ended: [] }, 'shop/db')).toHaveLength(1)
    expect(waits(['a'])).toEqual([])
    expect(waits(undefined)).toEqual([])
  })

  test('a lost memory is known to a peer that has observed it in a relation', () => {
    const known = (changes: Partial<RelationEntry>) =>
      isKnownToPeers(SUBJECT, peersOf({ beacon: stateOf([entryOf({ remote: { application: 'web' }, ...changes })]) }))
    expect(known({ peer: { publishes: true } })).toBe(true)
    expect(known({ peer: { observed: 'a' } })).toBe(true)
    expect(known({})).toBe(false)
    expect(known({ peer: { publishes: true }, status: 'ended' })).toBe(false)
    expect(known({ peer: { publishes: true }, remote: { application: 'other' } })).toBe(false)
  })

  test('endpoints that have ended are those whose relations do not stand at the peer', () => {
    const ended = (changes: Partial<RelationEntry>) =>
      endpointsEndedByPeers(
        SUBJECT,
        peersOf({ beacon: stateOf([entryOf({ remote: { application: 'web', endpoint: 'own' }, ...changes })]) }),
      )
    expect(ended({ status: 'ended' })).toEqual(['own'])
    expect(ended({})).toEqual([])
    expect(ended({ status: 'ended', remote: { application: 'other' } })).toEqual([])
  })
})

describe('labels of a mesh', () => {
  const relation = (changes: Partial<Relation> = {}, data: Record<string, unknown> = { labels: MESH }): Relation => {
    const { id, endpoint, interface: name, role } = entryOf()
    return { id, endpoint, interface: name, role, remote: { application: 'beacon', data }, ...changes }
  }
  const of = (...all: Relation[]) =>
    desiredMeshLabels({ relations: Object.fromEntries(all.map((one) => [relationKey(one), one])) })

  test('labels of a mesh are those that beacons ask for, of which the lower id counts', () => {
    expect(of()).toBeUndefined()
    expect(of(relation({}, {}))).toBeUndefined()
    expect(of(relation({ role: 'provides' }))).toBeUndefined()
    expect(of(relation({ interface: 'cluster' }))).toBeUndefined()
    expect(of(relation())).toEqual({ labels: MESH, elsewhere: MESH })
    const waypoint = (name: string) => ({ labels: { 'istio.io/use-waypoint': name } })
    expect(
      of(relation({}, waypoint('a')), relation({ id: 2 }, { labels: { ...MESH, ...waypoint('b').labels } }))?.labels,
    ).toEqual({
      ...MESH,
      'istio.io/use-waypoint': 'a',
    })
  })

  test('labels of a mesh are other ones in other namespaces where the beacon says so, and the last readable ones where it cannot be read', () => {
    expect(of(relation({}, { labels: {}, labels_elsewhere: MESH }))).toEqual({ labels: {}, elsewhere: MESH })
    expect(of(relation({ lastReadable: { labels: MESH } }, { labels: 'no' }))).toEqual({
      labels: MESH,
      elsewhere: MESH,
    })
    expect(of(relation({}, { labels: { ...MESH, app: 'db' } }))?.labels).toEqual(MESH)
  })

  const WAYPOINT = { 'istio.io/use-waypoint': 'w' }
  const worker = (changes: Partial<Relation> = {}) =>
    relation({ id: 3, interface: 'cluster', role: 'provides', remote: { application: 'worker', data: {} }, ...changes })
  const handed = (held: Record<string, string>, ...all: Relation[]) =>
    labelsHandedOn(held, { relations: Object.fromEntries(all.map((one) => [relationKey(one), one])) })

  test('labels of a mesh are handed on to workers that carry them, or may', () => {
    expect(handed({ ...MESH, ...WAYPOINT, a: 'b' }, worker({ peerLabels: { ...MESH, ...WAYPOINT, a: 'b' } }))).toEqual(
      WAYPOINT,
    )
    expect(handed(WAYPOINT, worker({ isUnknown: true }))).toEqual(WAYPOINT)
    expect(handed(WAYPOINT, worker({ peerLabels: { 'istio.io/use-waypoint': 'other' } }))).toEqual({})
    expect(handed(WAYPOINT, worker())).toEqual({})
    expect(handed(WAYPOINT, worker({ interface: 'sql', peerLabels: WAYPOINT }))).toEqual({})
    expect(handed(WAYPOINT)).toEqual({})
  })

  test('labels of a mesh are handed on to workers of other namespaces', () => {
    const elsewhere = (namespace: string | undefined) => {
      const remote = { application: 'worker', data: {}, ...(namespace !== undefined && { namespace }) }
      const all = [relation({}, { labels: {}, labels_elsewhere: { ...MESH, ...WAYPOINT } }), worker({ remote })]
      return labelsHandedElsewhere(SUBJECT, {
        relations: Object.fromEntries(all.map((one) => [relationKey(one), one])),
      })
    }
    expect(elsewhere('data')).toEqual(WAYPOINT)
    expect(elsewhere(undefined)).toEqual({})
    expect(elsewhere('shop')).toEqual({})
    expect(
      labelsHandedElsewhere(SUBJECT, {
        relations: { one: worker({ remote: { application: 'w', namespace: 'data', data: {} } }) },
      }),
    ).toEqual({})
  })
})
