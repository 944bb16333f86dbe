import { describe, expect, test } from 'vitest'
import { ENROLMENT_LABEL } from '../../../src/core/relations/enrolment-labels.ts'
import {
  gateEnrolment,
  isAwaiting,
  leavingWorkers,
  ungrantedBy,
  unheardBy,
  type WorkloadLabels,
} from '../../../src/core/relations/gate-enrolment.ts'
import {
  grantsLabels,
  requestedLabels,
  runsProvider,
  takesLabels,
} from '../../../src/core/relations/requested-labels.ts'
import { resolveRelations } from '../../../src/core/relations/resolve-relations.ts'
import type { Config } from '../../../src/core/state/config.ts'
import type { RelationEntry } from '../../../src/core/state/relation.ts'
import type { State } from '../../../src/core/state/state.ts'
import { features } from '../../../src/features.ts'
import { entryOf, peersOf, stateOf } from '../../helpers/states.ts'
import { SUBJECT } from '../../helpers/world.ts'

const MESH = { [ENROLMENT_LABEL]: 'ambient' }

const configOf = (config: unknown): Config => features.config.parse(config)
const CONFIG = configOf({})

/** The beacon's memory: what it publishes in the relation, and its grant. */
const beacon = (
  grant: RelationEntry['grant'],
  data: Readonly<Record<string, string>> | undefined = { labels: JSON.stringify(MESH) },
  others: Partial<RelationEntry> = {},
): State =>
  stateOf(
    [
      entryOf({
        ...{ role: 'provides', remote: { application: 'web' }, published: { digest: 'labels' }, ...others },
        ...(grant && { grant }),
      }),
    ],
    { config: configOf({ mesh: {} }), published: { labels: { data } } },
  )

const BARE: WorkloadLabels = { labels: {}, own: [] }
const ENROLLED: WorkloadLabels = { labels: MESH, own: [ENROLMENT_LABEL] }

const gated = (state: State, theirs: State | undefined, workload: WorkloadLabels) => {
  const peers = peersOf(theirs ? { beacon: theirs } : {})
  const resolved = resolveRelations(SUBJECT, state, peers)
  return gateEnrolment(SUBJECT, state, resolved, peers, workload)
}

const waitsOf = (...args: Parameters<typeof gated>): string[] => gated(...args).waiting.map(({ message }) => message)

const POLICIES = 'relation 1 (service-mesh): waiting for the policies of shop/beacon'
const REQUEST = { published: { digest: 'request' } }

describe('labels that a beacon asks for', () => {
  test.each<[string, Partial<RelationEntry>, RelationEntry['grant'], WorkloadLabels, string[]]>([
    ['wait for its grant', REQUEST, undefined, BARE, [POLICIES]],
    ['wait while it revokes', REQUEST, { phase: 'revoking', digest: 'request' }, BARE, [POLICIES]],
    ['wait for the grant of this request', REQUEST, { phase: 'standing', digest: 'other' }, BARE, [POLICIES]],
    ['are applied with the grant of the request', REQUEST, { phase: 'standing', digest: 'request' }, BARE, []],
    ['are applied with any grant where nothing is requested', {}, { phase: 'standing', digest: 'other' }, BARE, []],
    ['stay without a grant once they are applied', { ...REQUEST, labels: 'applied' }, undefined, ENROLLED, []],
    ['wait again where the workload lost them', { ...REQUEST, labels: 'applied' }, undefined, BARE, [POLICIES]],
    [
      'stay where there is no workload, once they are applied',
      { ...REQUEST, labels: 'applied' },
      undefined,
      { labels: {}, own: undefined },
      [],
    ],
    ['stay where an interrupted step applied them', { ...REQUEST, labels: 'applying' }, undefined, ENROLLED, []],
    [
      'wait where an interrupted step did not apply them',
      { ...REQUEST, labels: 'applying' },
      undefined,
      { labels: MESH, own: [] },
      [POLICIES],
    ],
    [
      'wait where the workload has another value',
      { ...REQUEST, labels: 'applying' },
      undefined,
      { labels: { [ENROLMENT_LABEL]: 'none' }, own: [ENROLMENT_LABEL] },
      [POLICIES],
    ],
  ])('labels that a beacon asks for %s', (_, own, grant, workload, waits) => {
    expect(waitsOf(stateOf([entryOf(own)], { config: CONFIG }), beacon(grant), workload)).toEqual(waits)
  })

  test('labels that a beacon asks for, and that the config or another relation may have brought, show no grant', () => {
    const own = entryOf({ ...REQUEST, labels: 'applying' })
    const config = configOf({ labels: MESH })
    expect(waitsOf(stateOf([own], { config }), beacon(undefined), ENROLLED)).toEqual([POLICIES])
    const other = entryOf({ id: 2, remote: { application: 'other' }, labels: 'applied' })
    expect(waitsOf(stateOf([own, other], { config: CONFIG }), beacon(undefined), ENROLLED)).toContain(POLICIES)
  })

  test('labels that the platform alone tells of wait for nobody', () => {
    const told = entryOf({ remote: { application: 'beacon', data: { labels: JSON.stringify(MESH) } } })
    expect(waitsOf(stateOf([told], { config: CONFIG }), undefined, BARE)).toEqual([])
  })

  test('labels that a relation of another interface publishes wait for nobody', () => {
    const own = entryOf({ interface: 'sql', ...REQUEST })
    const { state } = gated(
      stateOf([own], { config: CONFIG }),
      beacon(undefined, undefined, { interface: 'sql' }),
      BARE,
    )
    expect(Object.values(state.relations).map(({ awaits }) => awaits)).toEqual([undefined])
  })
})

test.each<[string, Partial<RelationEntry>, RelationEntry['grant'], string[]]>([
  ['has not granted the request', REQUEST, undefined, ['shop/beacon']],
  ['has granted another request', REQUEST, { phase: 'standing', digest: 'other' }, ['shop/beacon']],
  ['has granted the request', REQUEST, { phase: 'standing', digest: 'request' }, []],
])('a Service of an application on the mesh waits for a beacon that %s', (_, own, grant, names) => {
  const state = stateOf([entryOf({ ...own, labels: 'applied' })], { config: CONFIG })
  const peers = peersOf({ beacon: beacon(grant) })
  expect(ungrantedBy(SUBJECT, state, gated(state, beacon(grant), ENROLLED), peers)).toEqual(names)
})

test('a Service waits neither for a beacon that asks for no labels, nor while the labels of the relation wait', () => {
  const ungranted = (theirs: State, workload: WorkloadLabels, own: Partial<RelationEntry> = {}) => {
    const state = stateOf([entryOf({ ...REQUEST, labels: 'applied', ...own })], { config: CONFIG })
    return ungrantedBy(SUBJECT, state, gated(state, theirs, workload), peersOf({ beacon: theirs }))
  }
  expect(ungranted(beacon(undefined, { labels: '{}' }), { labels: {}, own: undefined })).toEqual([])
  expect(ungranted(beacon(undefined), BARE)).toEqual([])
  const sql = { interface: 'sql' }
  expect(ungranted(beacon(undefined, undefined, sql), ENROLLED, sql)).toEqual([])
  const told = { remote: { application: 'beacon', data: { labels: JSON.stringify(MESH) } } }
  expect(ungranted(stateOf([]), ENROLLED, told)).toEqual([])
})

describe('a beacon that asks for no labels', () => {
  const state = stateOf([entryOf()], { config: CONFIG })
  const silent = beacon(undefined, undefined, { published: {} })
  const ASKS_NONE =
    'relation 1 (service-mesh): waiting for the labels of shop/beacon, which asks for none: a beacon of meshstep does once its config has mesh'

  test('a beacon that asks for no labels is waited for', () => {
    expect(waitsOf(state, silent, BARE)).toEqual([ASKS_NONE])
    expect(waitsOf(state, beacon(undefined, { mesh_type: 'istio' }), BARE)).toEqual([ASKS_NONE])
  })

  test('a beacon that asks for no labels is not waited for where it does not know the relation, or its data are unknown', () => {
    expect(waitsOf(state, stateOf([]), BARE)).toEqual([])
    expect(waitsOf(stateOf([entryOf({ peer: { publishes: true } })], { config: CONFIG }), silent, BARE)).toEqual([
      expect.stringContaining('waiting for the data of shop/beacon'),
    ])
  })

  test('a beacon in whose memory the relation has ended has not answered the new one: nothing is said of its labels', () => {
    const before = beacon(undefined, undefined, { status: 'ended' })
    expect(waitsOf(state, before, BARE)).toEqual([])
    const peers = peersOf({ beacon: before })
    expect(unheardBy(SUBJECT, state, resolveRelations(SUBJECT, state, peers), peers)).toEqual([
      expect.objectContaining({ message: expect.stringContaining('which does not know of the relation yet') }),
    ])
  })

  test('a beacon that asks for no labels is not waited for where the config enrols the workload', () => {
    expect(waitsOf({ ...state, config: configOf({ labels: MESH }) }, silent, BARE)).toEqual([])
  })

  test('a beacon that asks for an empty set has its whole namespace on the mesh, and is not waited for', () => {
    expect(waitsOf(state, beacon(undefined, { labels: '{}' }), BARE)).toEqual([POLICIES])
    expect(waitsOf(state, beacon({ phase: 'standing' }, { labels: '{}' }), BARE)).toEqual([])
  })

  test('a beacon that has published nothing leaves the labels of the workload as they are', () => {
    const gate = gated(state, silent, ENROLLED)
    expect(gate.waiting.map(({ message }) => message)).toEqual([
      'relation 1 (service-mesh): waiting for the data of shop/beacon; the labels stay',
    ])
    expect(isAwaiting(gate)).toBe(true)
  })

  test.each<[string, Partial<RelationEntry>, boolean]>([
    ['has published nothing', {}, true],
    ['is told of by the platform', { remote: { application: 'beacon', data: { mesh_type: 'istio' } } }, false],
    ['has emptied its databag', { remote: { application: 'beacon', data: {} } }, false],
    ['is none', { interface: 'sql' }, false],
    ['is a consumer', { role: 'provides' }, false],
  ])('labels of other relations wait for a beacon that %s: %#', (_, own, isWaiting) => {
    expect(isAwaiting(gated(stateOf([entryOf(own)], { config: CONFIG }), undefined, BARE))).toBe(isWaiting)
  })

  test('labels of other relations wait for a beacon whose grant is missing', () => {
    expect(isAwaiting(gated(stateOf([entryOf(REQUEST)], { config: CONFIG }), beacon(undefined), BARE))).toBe(true)
    expect(isAwaiting(gated(stateOf([entryOf(REQUEST)], { config: CONFIG }), beacon(undefined, {}), BARE))).toBe(false)
    const granted = beacon({ phase: 'standing', digest: 'request' })
    expect(isAwaiting(gated(stateOf([entryOf(REQUEST)], { config: CONFIG }), granted, BARE))).toBe(false)
  })
})

describe('a beacon that does not know a relation', () => {
  const unheard = (own: Partial<RelationEntry>, peers = peersOf({ beacon: stateOf([]) })): string[] => {
    const state = stateOf([entryOf(own)], { config: CONFIG })
    return unheardBy(SUBJECT, state, resolveRelations(SUBJECT, state, peers), peers).map(({ message }) => message)
  }

  test('a beacon that does not know a relation is waited for', () => {
    expect(unheard({})).toEqual([
      'relation 1 (service-mesh): waiting for shop/beacon, which does not know of the relation yet: its next event, or a resync of shop, tells it',
    ])
  })

  test.each<[string, Partial<RelationEntry>]>([
    ['whose labels the platform tells', { remote: { application: 'beacon', data: { labels: '{}' } } }],
    ['whose databag is empty', { remote: { application: 'beacon', data: {} } }],
    ['whose data are unknown', { peer: { publishes: true } }],
    ['of another interface', { interface: 'sql' }],
    ['in which this side is the beacon', { role: 'provides' }],
  ])('nobody is waited for in a relation %s', (_, own) => {
    expect(unheard(own)).toEqual([])
  })

  test('nobody is waited for in a relation that the beacon knows', () => {
    expect(unheard({}, peersOf({ beacon: beacon(undefined) }))).toEqual([])
  })
})

describe('a coordinator that has left the mesh', () => {
  const OWN = entryOf({ interface: 'cluster', role: 'provides', remote: { application: 'worker' } })
  const worker = stateOf([entryOf({ interface: 'cluster', remote: { application: 'web' }, labels: 'applied' })])
  const coordinator = configOf({ coordinator: { roles: ['all'] } })
  const leaving = (state: State, labels: Readonly<Record<string, string>> = MESH): string[] => {
    const peers = peersOf({ worker }, labels)
    return leavingWorkers(SUBJECT, state, resolveRelations(SUBJECT, state, peers), peers)
  }

  test('a coordinator that has left the mesh waits for its workers to leave', () => {
    expect(leaving(stateOf([OWN], { config: coordinator }))).toEqual(['shop/worker'])
  })

  test('a coordinator that has left the mesh waits for nobody who is off the mesh, or was never its worker', () => {
    expect(leaving(stateOf([OWN], { config: coordinator }), {})).toEqual([])
    expect(leaving(stateOf([OWN], { config: CONFIG }))).toEqual([])
    expect(leaving(stateOf([{ ...OWN, interface: 'sql' }], { config: coordinator }))).toEqual([])
  })

  test('a coordinator that is on the mesh waits for nobody', () => {
    const told = entryOf({ id: 2, remote: { application: 'beacon', data: { labels: JSON.stringify(MESH) } } })
    expect(leaving(stateOf([OWN, told], { config: coordinator }))).toEqual([])
  })
})

test.each([
  ['service_mesh', 'requires', true, false],
  ['service_mesh', 'provides', false, true],
  ['cluster', 'requires', true, false],
  ['cluster', 'provides', false, true],
  ['sql', 'requires', false, false],
  ['sql', 'provides', false, false],
] as const)('in a relation of %s a side that %s takes labels: %s, and grants them: %s', (name, role, takes, grants) => {
  const entry = entryOf({ interface: name, role })
  expect([takesLabels(entry), grantsLabels(entry)]).toEqual([takes, grants])
})

test('a config with mesh runs a beacon, and one with coordinator a coordinator', () => {
  const [mesh, coordinator] = [{ mesh: {} }, { coordinator: { roles: ['all'] } }].map(configOf)
  expect(runsProvider({ config: mesh }, entryOf())).toBe(true)
  expect(runsProvider({ config: coordinator }, entryOf())).toBe(false)
  expect(runsProvider({ config: mesh }, entryOf({ interface: 'cluster' }))).toBe(false)
  expect(runsProvider({ config: coordinator }, entryOf({ interface: 'cluster' }))).toBe(true)
  expect(runsProvider({}, entryOf())).toBe(false)
})

test('a coordinator asks for labels in another key than a beacon, and what cannot be read asks for none', () => {
  const relation = (name: string, data: Record<string, unknown>) => ({
    ...entryOf({ interface: name }),
    remote: { application: 'beacon', data },
  })
  expect(requestedLabels(relation('service_mesh', { labels: MESH, worker_labels: { a: 'b' } }))).toEqual(MESH)
  expect(requestedLabels(relation('cluster', { labels: { a: 'b' }, worker_labels: MESH }))).toEqual(MESH)
  expect(requestedLabels(relation('service_mesh', { labels: 'none' }))).toEqual({})
  expect(requestedLabels(relation('service_mesh', {}))).toEqual({})
})

describe('an application whose config was lost', () => {
  const KEPT =
    'relation 1 (service-mesh): waiting for the config of shop/web, {} if it has none; its grants stay in effect'
  const granted = beacon({ phase: 'standing', digest: 'request' })

  test.each<[string, Partial<RelationEntry>, Partial<State>, State, string[]]>([
    ['waits for it where a request of it is granted', {}, {}, granted, [KEPT]],
    ['waits for it while such a grant is revoked', {}, {}, beacon({ phase: 'revoking' }), [KEPT]],
    ['does not wait where the grant is of no request', {}, {}, beacon({ phase: 'standing' }), []],
    ['does not wait where nothing is granted', {}, {}, beacon(undefined), []],
    ['does not wait where it has published a request', REQUEST, {}, granted, []],
    ['does not wait once it was removed', {}, { removed: '2026-01-01T00:00:00Z' }, granted, []],
    ['does not wait once it has a config', {}, { config: CONFIG }, granted, []],
  ])('an application whose config was lost %s', (_, own, changes, theirs, waits) => {
    const state = stateOf([entryOf({ ...own, labels: 'applied', document: 'document' })], changes)
    expect(waitsOf(state, theirs, ENROLLED)).toEqual(waits)
  })

  test('an application whose config was lost does not join another mesh by a grant of no request', () => {
    const other = entryOf({ id: 2, remote: { application: 'other' }, labels: 'applied' })
    const state = stateOf([entryOf({ labels: 'applied' }), other])
    const unasked = (grant: RelationEntry['grant']) => {
      const peers = peersOf({ beacon: granted, other: beacon(grant, undefined, { id: 2 }) })
      const gate = gateEnrolment(SUBJECT, state, resolveRelations(SUBJECT, state, peers), peers, ENROLLED)
      return Object.values(gate.state.relations).map(({ awaits }) => awaits)
    }
    expect(unasked({ phase: 'standing' })).toEqual([undefined, 'shop/other'])
    expect(unasked({ phase: 'standing', digest: 'request' })).toEqual([undefined, undefined])
  })
})
