import { describe, expect, test } from 'vitest'
import { announceRelation } from '../../../src/core/relations/announcements.ts'
import type { State } from '../../../src/core/state/state.ts'
import { noUnits } from '../../../src/core/units/units.ts'
import { findChurn } from '../../../src/core/workload/churn/evidence.ts'
import { features } from '../../../src/features.ts'
import { eventPosition } from '../../../src/platform/base/event-order.ts'
import { createMemo } from '../../../src/platform/base/memo.ts'
import { createEmptyWorld, patch } from '../../helpers/application.ts'
import { ON_MESH } from '../../helpers/mesh.ts'
import { some } from '../../helpers/runs.ts'
import { isWrite, service, type World } from '../../helpers/world.ts'
import {
  atEveryWrite,
  calm,
  configure,
  createPair,
  DETAILS_CONFIG,
  effects,
  endRelation,
  joinProcess,
  MESH,
  OFF,
  resync,
  say,
  startPair,
  tellRelation,
  USE,
  WORKING,
} from '../relations/pair.ts'

type Fields = Record<string, unknown>

const NEW_YEAR = Date.parse('2026-01-01T00:00:00Z')

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

/** A relation as version 1 remembered it: what a platform told of it, and what the remote application published. */
const told = { id: 7, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' }
const published = { data: { labels: '{"mesh":"on"}' }, units: { 'beacon/0': {} }, hash: 'h', asked: true }

/** The least that a memory of version 1 holds, and `changes`. */
const first = (changes: Fields = {}) => ({
  version: 1,
  generation: 1_767_225_600_123,
  relations: {},
  units: noUnits(),
  accepted: {},
  ...changes,
})

const second = (changes: Fields = {}) => ({
  version: 2,
  relations: {},
  units: noUnits(),
  marks: {},
  tombstones: {},
  ...changes,
})

/** What either is read as. */
const third = (changes: Fields = {}) => ({ ...second(changes), version: 3 })

describe('a memory of version 1', () => {
  const spec = {
    spec: { containers: [{ name: 'web', image: 'web:1' }] },
    inputs: { rest: 'r', relations: {} },
  }
  const unchanged: Fields = {
    config: { labels: { team: 'red' } },
    leader: { unit: 'web/0', epoch: 3 },
    pending: { unit: 'web/1', epoch: 4, data: { settings: { color: 'red' } } },
    settings: { color: 'blue' },
    refusedSpec: 'Deployment shop/web: 422',
    announced: {
      last: 3,
      relations: { 7: { number: 3, service: { ...SERVICE(), relation: 7 }, pending: { change: 'service-available' } } },
    },
    inherited: { 'istio.io/dataplane-mode': 'ambient' },
    workloadKind: 'Deployment',
  }

  test.each(Object.entries(unchanged))('a memory of version 1 keeps its %s', (part, value) => {
    expect(stateIn(first({ [part]: value }))).toEqual(third({ [part]: value }))
  })

  test('a memory of version 1 has announced relations by their ids, whoever told of them', () => {
    const announcement = (relation: unknown) => ({ number: 3, service: { ...SERVICE(), relation } })
    const relations = { 'bank/beacon/7': announcement('bank/beacon/7'), 8: announcement(8) }
    const { announced } = stateIn(first({ announced: { last: 3, relations } }))
    expect(announced).toEqual({ last: 3, relations: { 7: announcement(7), 8: announcement(8) } })
  })

  test('a memory of version 1 leaves out relations without an application', () => {
    expect(stateIn(first({ relations: { 7: { ...told, remote: { data: {} } } } })).relations).toEqual({})
  })

  test('a memory of version 1 keeps the kinds that it owns, with their groups, and the targets of before', () => {
    const former = [{ kind: 'Service', name: 'web-old', since: '2026-01-01T00:00:00Z' }]
    expect(stateIn(first({ owned: ['Deployment', 'Service'], former }))).toEqual(
      third({ owned: ['Deployment.apps', 'Service'], previousTargets: former }),
    )
  })

  test.each([
    ['a memory of version 1', first],
    ['one of version 2', second],
  ])(
    '%s whose pod spec was held back has the spec that runs in its config, and still holds the other back',
    (_, memory) => {
      const loop = { paths: ['containers[web].image'], holds: [], at: 1, told: 'x' }
      const told = { workload: { podSpec: { containers: [{ name: 'web', image: 'web:2' }] }, replicas: 2 } }
      const state = stateIn(memory({ specs: { ...spec, recent: {}, loop }, config: told }))
      expect(state.config).toEqual({ workload: { podSpec: spec.spec, replicas: 2 } })
      expect(findChurn(state.configChurn)).toMatchObject([{ paths: ['workload.podSpec.containers[web].image'] }])
    },
  )

  test('a history of pod specs that were all applied is left out', () => {
    expect(stateIn(first({ specs: spec }))).toEqual(stateIn(first()))
    expect(stateIn(second({ specs: spec }))).toEqual(stateIn(second()))
  })

  test('a memory of version 1 keeps its units, whose next reports count', () => {
    const unit = { pod: 'web-0', number: 0, created: '2026-01-01T00:00:00Z', started: true }
    const units = { present: { u: unit }, departed: [{ uid: 'v', pod: 'web-1', number: 1 }], next: 2 }
    const reported = { source: '/a', at: 'time 2026-01-01T00:00:00Z' }
    expect(stateIn(first({ units: { ...units, present: { u: { ...unit, reported } } } })).units).toEqual(units)
  })

  test('a memory of version 1 forgets units of before they had numbers: the next look at the pods finds them again', () => {
    expect(stateIn(first({ units: { u: { unit: 'web/0', pod: 'web-0' } } })).units).toEqual(noUnits())
  })

  const entry = { ...told, status: 'established', position: { at: 0 } }
  const remote = { application: 'beacon', data: {} }
  const named = { application: 'beacon' }
  const KEY = '7/requires/service_mesh/beacon'

  test.each<[string, Fields, Fields]>([
    [
      'that a platform told alone',
      { remote: { ...remote, data: { labels: '{}' } } },
      { remote: { ...remote, data: { labels: '{}' } }, announcedHere: true },
    ],
    [
      'that a platform told, with its document and the last readable values',
      { remote, document: 'mesh', kept: { labels: '{}' } },
      { remote: named, document: 'mesh', lastReadable: { labels: '{}' }, announcedHere: true },
    ],
    [
      'that the remote application told alone: labels are carried and held until it speaks again',
      { remote: { ...remote, heard: 'h' }, published },
      { remote: named, announcedHere: false, peer: { publishes: true }, labels: 'applied' },
    ],
    [
      'that the remote application told alone, to its provider: nothing is carried',
      { remote: { ...remote, heard: 'h' }, published, role: 'provides' },
      { remote: named, role: 'provides', announcedHere: false, peer: { publishes: true } },
    ],
    [
      'that both told, without the last readable values of the platform',
      { remote: { ...remote, data: { labels: '{}' } }, published, kept: { labels: '{}' } },
      { remote: named, announcedHere: true, peer: { publishes: true }, labels: 'applied' },
    ],
    [
      'that the remote application told, and a document',
      { remote, published, document: 'mesh' },
      { remote: named, document: 'mesh', announcedHere: true, peer: { publishes: true }, labels: 'applied' },
    ],
  ])('a memory of version 1 keeps a relation %s', (_, changes, expected) => {
    expect(Object.values(stateIn(first({ relations: { 7: { ...told, ...changes } } })).relations)).toEqual([
      { ...entry, ...expected },
    ])
  })

  test('a memory of version 1 keeps a relation that only the remote application told of by its id', () => {
    const { relations } = stateIn(first({ relations: { 'shop/beacon/7': { ...told, remote, published } } }))
    expect(relations).toEqual({
      [KEY]: { ...entry, remote: named, announcedHere: false, peer: { publishes: true }, labels: 'applied' },
    })
  })

  test('a memory of version 1 keeps a relation that a platform told where an application elsewhere told of one with the same id', () => {
    const elsewhere = { application: 'beacon', namespace: 'bank', data: {} }
    const { relations } = stateIn(
      first({
        relations: {
          7: { ...told, remote: { ...remote, data: { labels: '{"mesh":"on"}' } } },
          'bank/beacon/7': { ...told, remote: elsewhere, published },
        },
      }),
    )
    expect(Object.keys(relations)).toEqual([KEY])
    expect(relations[KEY]?.remote.data).toEqual({ labels: '{"mesh":"on"}' })
  })

  test('a memory of version 1 keeps what the remote application published before older data of a platform', () => {
    const { relations } = stateIn(
      first({ relations: { 7: { ...told, remote: { ...remote, data: { labels: '{}' } }, published } } }),
    )
    // data of before must not come into effect again: what was published does, or nothing is known
    expect(relations[KEY]?.remote.data?.labels).not.toBe('{}')
  })

  describe('orders events as before', () => {
    const at = (...positions: [source: string, at: string][]) => ({ bySource: Object.fromEntries(positions) })

    test.each(['config', 'settings', 'leader', 'application'])(
      'a memory of version 1 orders events as before about its %s',
      (about) => {
        const accepted = { [about]: at(['/a', 'time 2026-01-01T00:00:00.5Z'], ['/b', 'sequence 7']) }
        expect(stateIn(first({ accepted }))).toEqual(
          third({ marks: { [about]: { at: NEW_YEAR + 500, sequences: { '/b': '7' } } } }),
        )
      },
    )

    test('a memory of version 1 orders events as before about a relation, but for the sequences of what applications published', () => {
      const accepted = {
        'relation/7': at(
          ['/a', 'time 2026-01-01T00:00:00Z'],
          ['/c', 'time 2026-01-01T01:00:00+02:00'],
          ['/b', 'sequence 7'],
          ['/meshstep/shop/beacon', 'sequence 1767225600123'],
        ),
      }
      const { relations } = stateIn(first({ accepted, relations: { 7: { ...told, remote } } }))
      expect(relations[KEY]?.position).toEqual({ at: NEW_YEAR, sequences: { '/b': '7' } })
    })

    test('a memory of version 1 orders events as before about a relation that ended', () => {
      const gone = '2026-01-01T00:00:01Z'
      const state = stateIn(first({ accepted: { 'relation/7': { ...at(['/b', 'sequence 7']), gone, goneBy: '/b' } } }))
      expect(state).toEqual(
        third({ tombstones: { 7: { position: { at: 0, sequences: { '/b': '7' } }, endedAt: gone } } }),
      )
      const position = (sequence: string) =>
        eventPosition({ id: sequence, source: '/b', extensions: { sequence } }, new Date(NEW_YEAR))
      const relation = { ...told, role: 'requires' as const, remote }
      const tellAt = (sequence: string) =>
        announceRelation(state, relation, position(sequence), new Date(NEW_YEAR), () => [])
      expect(tellAt('6')).toMatchObject({
        state: { ...state, relations: { [KEY]: { status: 'ended' } } },
        late: 'stale',
      })
      expect(tellAt('8')).toHaveProperty(['state', 'relations', KEY, 'status'], 'established')
    })
  })

  const removal = { application: { bySource: { '/a': 'sequence 3' }, gone: '2026-01-01T00:00:01Z', goneBy: '/a' } }
  const mark = { at: 0, sequences: { '/a': '3' } }

  test('a memory of version 1 stays removed', () => {
    expect(stateIn(first({ accepted: removal, owned: ['Deployment'] }))).toEqual(
      third({ removed: '2026-01-01T00:00:01Z', marks: { application: mark }, owned: ['Deployment.apps'] }),
    )
  })

  test.each<[string, Fields]>([
    ['with a config', { config: {} }],
    ['with a relation', { relations: { 7: { ...told, remote } } }],
  ])('a memory of version 1 is not removed when it came back %s', (_, changes) => {
    const state = stateIn(first({ accepted: removal, ...changes }))
    expect([state.removed, state.marks]).toEqual([undefined, { application: mark }])
  })
})

function SERVICE() {
  return { endpoint: 'db', application: 'postgres', host: 'db.shop.svc.cluster.local', port: 5432 }
}

describe('a memory of version 2', () => {
  const entry = { ...told, word: 'told', mark: { at: 5 }, mine: true, remote: { application: 'beacon', data: {} } }
  const KEY = '7/requires/service_mesh/beacon'
  const read7 = (changes: Fields) => stateIn(second({ relations: { 7: { ...entry, ...changes } } })).relations[KEY]
  const remote = { application: 'beacon' }

  test.each<[string, Fields, Fields]>([
    ['an established relation, of which a platform told this side', {}, { status: 'established', announcedHere: true }],
    [
      'an ended one, of which it told the peer',
      { word: 'ended', mine: false, since: '2026-01-01T00:00:00Z' },
      { status: 'ended', announcedHere: false, endedAt: '2026-01-01T00:00:00Z' },
    ],
    ['its place in the order of events', { mark: { at: 5, ids: ['x'] } }, { position: { at: 5, ids: ['x'] } }],
    ['a databag of which nothing was told', {}, { remote }],
    ['a databag that was emptied', { emptied: true }, { remote: { ...remote, data: {} } }],
    ['the last readable values', { kept: { labels: '{}' } }, { lastReadable: { labels: '{}' } }],
    ['what it publishes', { says: 'h', revision: '7' }, { published: { digest: 'h', generation: '7' } }],
    ['what the peer published', { heard: true, seen: 'h' }, { peer: { publishes: true, observed: 'h' } }],
    ['what was delivered', { sent: 'h' }, { peer: { delivered: 'h' } }],
    ['what is on its way', { sent: '' }, { peer: { delivered: null } }],
    ['labels that are meant', { holds: true, taking: true }, { labels: 'applying' }],
    ['labels that are there', { holds: true }, { labels: 'applied' }],
    ['a grant of a request', { granted: 'h' }, { grant: { phase: 'standing', digest: 'h' } }],
    ['a grant where no request is known', { granted: '-' }, { grant: { phase: 'standing' } }],
    ['a grant that is revoked', { granted: 'changing' }, { grant: { phase: 'revoking' } }],
  ])('a memory of version 2 keeps %s', (_, changes, expected) => {
    expect(read7(changes)).toEqual({ ...read7({}), ...expected })
  })

  test('a memory of version 2 keeps a relation whose id another one has', () => {
    const elsewhere = { ...entry, remote: { application: 'beacon', namespace: 'bank', data: {} } }
    const { relations } = stateIn(second({ relations: { 7: entry, '7/requires/service_mesh/bank/beacon': elsewhere } }))
    expect(Object.entries(relations).map(([key, { waitsForId }]) => [key, waitsForId])).toEqual([
      ['7/requires/service_mesh/bank/beacon', true],
      [KEY, undefined],
    ])
  })

  test.each<[string, Fields, Fields]>([
    ['its databags', { says: { h: { data: {} } } }, { published: { h: { data: {} } } }],
    ['that it is recovering', { carried: true }, { recovering: true }],
    ['that it awaits labels', { awaits: 'carried' }, { awaiting: 'labels-applied' }],
    ['that it awaits that labels go', { awaits: 'let-go' }, { awaiting: 'labels-removed' }],
    ['the mark of who writes', { writing: 'm' }, { writeToken: 'm' }],
    [
      'the kinds that it owns, also those that were stored apart',
      { owned: ['Deployment', 'Service'], later: { owned: ['PodDisruptionBudget'] } },
      { owned: ['Deployment.apps', 'PodDisruptionBudget.policy', 'Service'] },
    ],
    [
      'the kinds of before',
      { formerlyOwned: { Gateway: '2026-01-01T00:00:00Z' } },
      { previouslyOwned: { 'Gateway.gateway.networking.k8s.io': '2026-01-01T00:00:00Z' } },
    ],
  ])('a memory of version 2 keeps %s', (_, changes, expected) => {
    expect(stateIn(second(changes))).toEqual(third(expected))
  })
})

describe('a memory of version 3', () => {
  const KEY = '7/requires/service_mesh/beacon'
  const full = {
    config: { labels: { team: 'red' } },
    leader: { unit: 'web/0', epoch: 3 },
    units: { present: { u: { pod: 'web-0', number: 0 } }, departed: [{ uid: 'v' }], next: 1 },
    relations: {
      [KEY]: {
        ...told,
        remote: { application: 'beacon', data: { labels: '{}' }, units: { 'beacon/0': { a: 'b' } } },
        status: 'established',
        position: { at: 5, ids: ['x'], sequences: { '/a': '1' } },
        announcedHere: true,
        published: { digest: 'hash' },
        grant: { phase: 'standing' },
      },
    },
    published: { hash: { data: { policies: '[]' } } },
    tombstones: { 8: { position: { at: 4 }, endedAt: '2026-01-01T00:00:00Z' } },
    marks: { config: { at: 3 } },
    previousTargets: [{ kind: 'Service', name: 'web-old', since: '2026-01-01T00:00:00Z' }],
    owned: ['Service', 'Service.serving.knative.dev'],
    announced: { last: 1, relations: { 7: { number: 1, service: { ...SERVICE(), relation: 7 } } } },
  }
  const state = stateIn({ version: 3, ...full })

  test('a memory of version 3 is read as it is, with kinds that are not known', () => {
    expect(state).toEqual({ version: 3, ...full })
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
    `relations ${KEY} grant`,
    'published hash',
    'tombstones 8',
    'tombstones 8 position',
    'previousTargets 0',
    'announced',
    'announced relations 7',
    'announced relations 7 service',
  ])('a memory of version 3 may have a key that is not known, as a newer program wrote it: in "%s"', (path) => {
    const steps = path.split(' ').filter((step) => step !== '')
    expect(stateIn(withUnknown({ version: 3, ...full }, steps))).toEqual(state)
  })

  test('a memory of version 3 may have several, beside each other and in each other', () => {
    const written = ['', `relations ${KEY}`, `relations ${KEY} remote`].reduce<unknown>(
      (before, path) => withUnknown(before, path.split(' ').filter(Boolean)),
      { version: 3, ...full },
    )
    expect(stateIn(written)).toEqual(state)
  })
})

const memoryOf = (name: string): string => `juju-service-mesh-${name}-labels`

const write = (world: World, name: string, state: unknown): void => {
  const { status, body } = patch(world, 'ConfigMap', { data: { state: JSON.stringify(state) } }, memoryOf(name))
  if (status !== 200) throw new Error(body)
}

describe('a memory of version 4', () => {
  const FOURTH = { version: 4, relations: [], published: 'what nobody knows yet' }

  test('a memory of version 4 is refused with a clear error, and left as it is', async () => {
    const world = await startPair(createPair())
    write(world, 'details', FOURTH)
    const before = [effects(world), world.object('ConfigMap', memoryOf('details'))]
    world.calls.length = 0
    await expect(configure(world, 'details', {})).rejects.toThrow(
      /500 .*ConfigMap shop\/juju-service-mesh-details-labels: data\.state has version 4, as a newer meshstep wrote it, .*version 3 or lower.*left as it is.* Run that version/s,
    )
    expect(world.calls.filter(isWrite)).toEqual([])
    expect([effects(world), world.object('ConfigMap', memoryOf('details'))]).toEqual(before)
  })

  test.each(['details', 'beacon'])('of %s takes nothing from the other side, which says so', async (name) => {
    const world = await startPair(createPair())
    write(world, name, FOURTH)
    const other = name === 'details' ? 'beacon' : 'details'
    const { status, messages } = await say(world, 'resync', { application: other })
    expect({ status, messages }).toMatchObject({
      status: 'waiting',
      messages: expect.arrayContaining([expect.stringContaining('version 3 or lower')]),
    })
    expect(effects(world)).toEqual(WORKING)
  })
})

type Entry = {
  id: number
  endpoint: string
  interface: string
  role: string
  mine: boolean
  says?: string
  remote: { application: string; data: Fields }
  mark: { at: number; sequences?: Record<string, string> }
}
type Second = Fields & {
  relations: Record<string, Entry>
  says?: Record<string, { data: Fields }>
  marks?: Record<string, Entry['mark']>
}

/** What version 2 remembered where this one has `state`. */
const asSecond = (state: State): Second => {
  const { relations, published, recovering, awaiting, writeToken, previousTargets, owned, previouslyOwned, ...others } =
    state
  const kindOf = (name: string) => name.split('.')[0]
  return JSON.parse(
    JSON.stringify({
      ...others,
      version: 2,
      relations: Object.fromEntries(
        Object.entries(relations).map(([key, { waitsForId, ...entry }]) => [
          waitsForId ? key : entry.id,
          entryOfSecond(entry),
        ]),
      ),
      says: published,
      carried: recovering,
      awaits:
        awaiting === undefined ? undefined : { 'labels-applied': 'carried', 'labels-removed': 'let-go' }[awaiting],
      writing: writeToken,
      former: previousTargets,
      owned: owned?.map(kindOf),
      formerlyOwned:
        previouslyOwned &&
        Object.fromEntries(Object.entries(previouslyOwned).map(([name, since]) => [kindOf(name), since])),
    }),
  )
}

const entryOfSecond = (entry: State['relations'][string]) => {
  const { remote, status, position, announcedHere, endedAt, lastReadable, published, peer, labels, grant, ...others } =
    entry
  return {
    ...others,
    remote: { data: {}, ...remote },
    word: status === 'established' ? 'told' : status,
    mark: position,
    mine: announcedHere,
    since: endedAt,
    kept: lastReadable,
    ...(remote.data && Object.keys(remote.data).length === 0 && { emptied: true }),
    says: published?.digest,
    revision: published?.generation,
    heard: peer?.publishes,
    seen: peer?.observed,
    sent: peer?.delivered === null ? '' : peer?.delivered,
    holds: labels && true,
    taking: labels === 'applying' || undefined,
    granted: grant && (grant.phase === 'revoking' ? 'changing' : (grant.digest ?? '-')),
  }
}

const acceptedOf = ({ at, sequences = {} }: Entry['mark']) => ({
  bySource: {
    ...(at > 1_000_000 && { '/platform': `time ${new Date(at).toISOString()}` }),
    ...Object.fromEntries(Object.entries(sequences).map(([source, sequence]) => [source, `sequence ${sequence}`])),
  },
})

/** What version 1 remembered where version 2 has `state`: what the other sides say was in it as they published it. */
const downgraded = (state: Second, others: Readonly<Record<string, Second>>) => {
  const { relations, says: _s, marks = {}, tombstones: _t, removed: _r, formerlyOwned: _f, ...rest } = state
  const keyed = Object.values(relations).map((relation) => {
    const { id, endpoint, interface: name, role, remote } = relation
    const other = others[remote.application]
    const hash = other?.relations[id]?.says
    const content = hash === undefined ? undefined : other?.says?.[hash]
    const heard = content ? { heard: relation.says ?? 'nothing' } : {}
    const identity = { id, endpoint, interface: name, role }
    return {
      key: relation.mine ? String(id) : `shop/${remote.application}/${id}`,
      known: {
        ...identity,
        remote: { ...remote, ...heard },
        ...(content && {
          published: { data: content.data, hash, ...(content.data.policies !== undefined && { asked: true }) },
        }),
      },
      publication: {
        ...identity,
        to: { namespace: 'shop', application: remote.application },
        hash: relation.says ?? 'nothing',
        generation: 1_767_225_600_123,
      },
      mark: relation.mark,
    }
  })
  return {
    ...rest,
    version: 1,
    generation: 1_767_225_600_123,
    relations: Object.fromEntries(keyed.map(({ key, known }) => [key, known])),
    published: Object.fromEntries(keyed.map(({ key, publication }) => [key, publication])),
    accepted: Object.fromEntries([
      ...Object.entries(marks).map(([about, mark]) => [about, acceptedOf(mark)]),
      ...keyed.map(({ key, mark }) => [`relation/${key}`, acceptedOf(mark)]),
    ]),
  }
}

const NAMES = ['beacon', 'details', 'productpage']

/** Puts memories of an earlier version in the place of those that are there. */
const goBackTo = (version: 1 | 2, world: World, names: readonly string[] = NAMES): void => {
  const states = Object.fromEntries(
    [...new Set([...NAMES, ...names])].flatMap((name) => {
      const memory = world.memory(name)
      return memory ? [[name, asSecond(memory.state as unknown as State)] as const] : []
    }),
  )
  for (const name of names)
    if (states[name]) write(world, name, version === 2 ? states[name] : downgraded(states[name], states))
}

const versions = (world: World) => ['beacon', 'details'].map((name) => world.memory(name)?.state.version)

const quiet = async (world: World): Promise<string[]> => {
  await resync(world, 'details')
  await resync(world, 'beacon')
  world.calls.length = 0
  for (const name of ['details', 'beacon']) {
    await say(world, 'pod-restarted', { application: name, pod: { name: `${name}-0`, uid: `${name}-0` } })
    await say(world, 'pod-restarted', { application: name, pod: { name: `${name}-0`, uid: `${name}-0` } })
  }
  return world.calls.filter((call) => isWrite(call) && !call.includes('/configmaps/'))
}

const POD = { name: 'details-0', uid: 'details-0' }

describe.each([1, 2] as const)('applications with memories of version %i work on', (version) => {
  const goBack = (world: World, names?: readonly string[]) => goBackTo(version, world, names)
  const eventsOf: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
    'a pod of the consumer': (world) => say(world, 'pod-restarted', { application: 'details', pod: POD }),
    'a pod of the beacon': (world) =>
      say(world, 'pod-restarted', { application: 'beacon', pod: { name: 'beacon-0', uid: 'beacon-0' } }),
    'the config of the consumer': (world) => configure(world, 'details', DETAILS_CONFIG),
    'the config of the beacon': (world) => configure(world, 'beacon', { mesh: {} }),
    'the relation, to the consumer': (world) => tellRelation(world, 'details', MESH),
    'the relation, to the beacon': (world) => tellRelation(world, 'beacon', MESH),
    'another relation of the consumer': (world) => tellRelation(world, 'details', USE),
    'a resync of the consumer': (world) => resync(world, 'details'),
    'a resync of the beacon': (world) => resync(world, 'beacon'),
    'a resync of the namespace': (world) => resync(world, undefined),
  }
  const histories = [['details'], ['beacon'], ['details', 'beacon']].flatMap((sides) =>
    Object.keys(eventsOf).map((name) => ({ sides: sides.join(' and '), name })),
  )

  test.each(some(histories, 7))(
    '$name is the first event, the relation was told to $sides',
    async ({ sides, name }) => {
      const world = await startPair(createPair(), sides.split(' and '))
      expect(effects(world)).toEqual(WORKING)
      goBack(world)
      const seen = atEveryWrite(world, () => effects(world))
      await eventsOf[name]?.(world)
      expect(seen).toEqual([WORKING])
      for (const again of Object.values(eventsOf)) await again(world)
      expect(seen).toEqual([WORKING])
      expect(versions(world)).toEqual([3, 3])
      expect(await quiet(world)).toEqual([])
      await endRelation(world, sides.split(' and ')[0] ?? '', MESH)
      expect(effects(world)).toEqual(OFF)
    },
  )

  test.each(['details', 'beacon'])(
    'applications with memories of an earlier version work on, also where that of %s alone is of that version',
    async (name) => {
      const world = await startPair(createPair())
      goBack(world, [name])
      const seen = atEveryWrite(world, () => effects(world))
      for (const next of Object.values(eventsOf)) await next(world)
      expect(seen).toEqual([WORKING])
      expect(versions(world)).toEqual([3, 3])
    },
  )

  test('applications with memories of an earlier version work on when both take their first steps at once', async () => {
    const world = await startPair(createPair(), ['details', 'beacon'])
    goBack(world)
    const seen = atEveryWrite(world, () => effects(world))
    const other = joinProcess(world)
    await Promise.all([resync(world, 'details'), resync(other, 'beacon')])
    for (const published of other.published.splice(0)) await world.post(published)
    await calm(world)
    expect(seen).toEqual([WORKING])
    // a memory of version 2 says the same, and is written when anything changes
    expect(versions(world)).toEqual(version === 1 ? [3, 3] : [2, 2])
  })

  test('the labels stay, though a platform told older data of the relation before', async () => {
    const world = await startPair(createPair())
    goBack(world)
    const { state } = world.memory('details') ?? {}
    const relations = state?.relations as Record<string, Fields & { remote: Fields }>
    for (const relation of Object.values(relations))
      if (relation.id === MESH.id)
        relation.remote = { ...relation.remote, data: { labels: '{}', mesh_type: '"istio"' } }
    write(world, 'details', state)
    const seen = atEveryWrite(world, () => effects(world))
    await say(world, 'pod-restarted', { application: 'details', pod: POD })
    expect(seen).toEqual([WORKING])
    expect(world.labels('details').template).toMatchObject(ON_MESH)
  })

  test.each(['web', 'db'])(
    'a Service that is offered is announced no other time, the relation was told to %s',
    async (side) => {
      const world = createEmptyWorld()
      world.api.seed([service('db')], { manager: 'juju' })
      await configure(world, 'web', {})
      await configure(world, 'db', { services: { database: { name: 'db', port: 5432 } } })
      const relation = { id: 3, requirer: 'web', provider: 'db', endpoint: 'database', interface: 'k8s-service' }
      await tellRelation(world, side, relation)
      expect(world.memory('web')?.state.announced).toMatchObject({ relations: { 3: { service: { port: 5432 } } } })
      goBack(world, ['web', 'db'])
      if (side === 'db' && version === 1)
        write(world, 'web', withAnnouncedKey(world.memory('web')?.state ?? {}, 'shop/db/3'))
      const announced: string[] = []
      for (const name of ['web', 'db', 'web']) {
        await world.send('resync', { application: name })
        announced.push(...world.published.map(({ type }) => type).filter((type) => type.includes('.service-')))
        await calm(world)
      }
      expect(announced).toEqual([])
    },
  )
})

test('a beacon with a memory of version 1 that waits for a consumer that never had a config says that an empty one will do', async () => {
  const world = createPair()
  await configure(world, 'beacon', { mesh: {} })
  await configure(world, 'details', {})
  await tellRelation(world, 'details', MESH)
  const before = effects(world)
  goBackTo(1, world)
  const { config: _, ...state } = world.memory('details')?.state ?? {}
  write(world, 'details', state)
  await resync(world, 'details')
  expect(await resync(world, 'beacon')).toMatchObject({
    status: 'waiting',
    messages: [expect.stringContaining('shop/details, which needs its config, {} if it has none; what was applied')],
  })
  expect(effects(world)).toEqual(before)
  await configure(world, 'details', {})
  for (const name of ['details', 'beacon'])
    expect(await resync(world, name)).toMatchObject({ status: 'unchanged', messages: [] })
  expect(effects(world)).toEqual(before)
})

/** Version 1 kept announcements by the key of the relation. */
const withAnnouncedKey = ({ announced, ...state }: Fields, key: string): Fields => {
  const { relations, ...others } = announced as { relations: Record<string, { service: Fields }> }
  const entries = Object.values(relations).map((entry) => [
    key,
    { ...entry, service: { ...entry.service, relation: key } },
  ])
  return { ...state, announced: { ...others, relations: Object.fromEntries(entries) } }
}

test('a kind that only a newer program knows stays among the owned ones, also days later', async () => {
  const DAY = 24 * 60 * 60 * 1_000
  const world = await startPair(createPair())
  const stateOf = () => JSON.parse(world.object('ConfigMap', memoryOf('details'))?.data?.state ?? '{}')
  write(world, 'details', { ...stateOf(), owned: [...(stateOf().owned ?? []), 'Widget.example.com'] })
  await configure(world, 'details', {})
  for (let day = 0; day < 3; day += 1) {
    world.clock.advance(DAY)
    await say(world, 'resync', { application: 'details' })
  }
  expect(stateOf().owned).toContain('Widget.example.com')
})
