import { expect, test } from 'vitest'
import { areEnrolling, ENROLMENT_LABEL } from '../../../../src/core/relations/mesh-labels.ts'
import {
  awaitedByBeacon,
  keptFor,
  labelsAwaited,
  workersAwaited,
} from '../../../../src/core/relations/offers/awaited-peers.ts'
import type { Peers } from '../../../../src/core/relations/peers.ts'
import { resolveRelations } from '../../../../src/core/relations/resolve-relations.ts'
import type { RelationEntry } from '../../../../src/core/state/relation.ts'
import type { State } from '../../../../src/core/state/state.ts'
import { features } from '../../../../src/features.ts'
import { entryOf, peersOf, stateOf } from '../../../helpers/states.ts'
import { SUBJECT } from '../../../helpers/world.ts'

const MESH = { [ENROLMENT_LABEL]: 'ambient' }

type Asking = (
  subject: typeof SUBJECT,
  state: State,
  resolved: ReturnType<typeof resolveRelations>,
  peers: Peers,
) => unknown

const ask = (asking: Asking, state: State, peers: Peers) =>
  asking(SUBJECT, state, resolveRelations(SUBJECT, state, peers), peers)

const [BEACON, COORDINATOR, PLAIN] = [{ mesh: {} }, { coordinator: { roles: ['all'] } }, {}].map((config) =>
  features.config.parse(config),
)

/** A relation that `web` provides to `db`, and the same at `db`. */
const provided = (changes: Partial<RelationEntry> = {}) =>
  entryOf({ role: 'provides', remote: { application: 'db' }, published: { version: 'v1' }, ...changes })
const required = (changes: Partial<RelationEntry> = {}) => entryOf({ remote: { application: 'web' }, ...changes })

const consumer = (
  changes: Partial<RelationEntry> = {},
  labels: Readonly<Record<string, string>> = {},
  more: Partial<State> = {},
) => peersOf({ db: stateOf([required(changes)], more) }, labels)

test.each<[string, State, Peers, string[]]>([
  [
    'that carries their labels',
    stateOf([provided()], { config: PLAIN }),
    consumer({ claim: { version: 'v1', phase: 'applied' as const } }),
    ['shop/db'],
  ],
  ['that carries none', stateOf([provided()], { config: PLAIN }), consumer(), []],
  [
    'that is lost, where it had published something',
    stateOf([provided({ peer: { publishes: true } })], { config: PLAIN }),
    peersOf({}),
    ['shop/db'],
  ],
  ['that is lost, and never published anything', stateOf([provided()], { config: PLAIN }), peersOf({}), []],
  [
    'in a relation of another interface',
    stateOf([provided({ interface: 'sql' })], { config: PLAIN }),
    consumer({ interface: 'sql', claim: { version: 'v1', phase: 'applied' as const } }),
    [],
  ],
  [
    'of a beacon that runs its mesh',
    stateOf([provided()], { config: BEACON }),
    consumer({ claim: { version: 'v1', phase: 'applied' as const } }),
    [],
  ],
  [
    'where the config is unknown as well',
    stateOf([provided()]),
    consumer({ claim: { version: 'v1', phase: 'applied' as const } }),
    ['shop/db'],
  ],
])('objects of a mesh are kept for a consumer %s', (_, state, peers, names) => {
  expect(ask(keptFor, state, peers)).toEqual(names)
})

test.each<[string, Partial<State>, Partial<RelationEntry>, Peers, string[]]>([
  ['without labels', { config: BEACON }, {}, consumer(), ['shop/db']],
  [
    'with labels that do not enrol it',
    { config: BEACON },
    {},
    consumer({ claim: { version: 'v1', phase: 'applied' as const } }, { a: 'b' }),
    ['shop/db'],
  ],
  [
    'that is enrolled',
    { config: BEACON },
    {},
    consumer({ claim: { version: 'v1', phase: 'applied' as const } }, MESH),
    [],
  ],
  ['that is enrolled by another relation', { config: BEACON }, {}, consumer({}, MESH), ['shop/db']],
  [
    'that is enrolled, and waits for its own workers',
    { config: BEACON },
    {},
    consumer({ claim: { version: 'v1', phase: 'applied' as const } }, MESH, { awaiting: 'labels-applied' }),
    ['shop/db'],
  ],
  [
    'that is enrolled, and waits for others to leave',
    { config: BEACON },
    {},
    consumer({ claim: { version: 'v1', phase: 'applied' as const } }, MESH, { awaiting: 'labels-removed' }),
    [],
  ],
  ['whose data are unknown', { config: BEACON }, { peer: { publishes: true } }, peersOf({}), ['shop/db']],
  ['without a memory', { config: BEACON }, {}, peersOf({}), []],
  ['of another interface', { config: BEACON }, { interface: 'sql' }, consumer({ interface: 'sql' }), []],
  [
    'that leaves',
    { config: BEACON },
    { status: 'ended' },
    consumer({ claim: { version: 'v1', phase: 'applied' as const } }),
    [],
  ],
  ['of an application without a mesh', { config: PLAIN }, {}, consumer(), []],
  ['of one whose config is unknown', {}, {}, consumer(), []],
  [
    'of a mesh of the whole namespace',
    { config: features.config.parse({ mesh: { modelOnMesh: true } }) },
    {},
    consumer(),
    [],
  ],
])('a namespace stays on the mesh for a consumer %s', (_, own, entry, peers, names) => {
  expect(ask(labelsAwaited, stateOf([provided(entry)], own), peers)).toEqual(names)
})

const CLUSTER = { interface: 'cluster' } as const
const told = (labels: Readonly<Record<string, string>>) =>
  entryOf({ id: 2, remote: { application: 'beacon', data: { labels: JSON.stringify(labels) } } })

test.each<
  [string, Partial<State>, Readonly<Record<string, string>> | undefined, Peers, string[], Partial<RelationEntry>?]
>([
  ['waits for a worker without labels', { config: COORDINATOR }, MESH, consumer(CLUSTER), ['shop/db']],
  [
    'waits for a worker with the label of the cluster alone',
    { config: COORDINATOR },
    MESH,
    consumer({ ...CLUSTER, claim: { version: 'v1', phase: 'applied' as const } }, { a: 'b' }),
    ['shop/db'],
  ],
  [
    'does not wait for a worker on the mesh, whatever that waits for',
    { config: COORDINATOR },
    MESH,
    consumer({ ...CLUSTER, claim: { version: 'v1', phase: 'applied' as const } }, MESH, { awaiting: 'labels-applied' }),
    [],
  ],
  ['waits where its config is unknown', {}, MESH, consumer(CLUSTER), ['shop/db']],
  ['does not wait where it is none', { config: PLAIN }, MESH, consumer(CLUSTER), []],
  ['does not wait off the mesh', { config: COORDINATOR }, undefined, consumer(CLUSTER), []],
  ['does not wait where the namespace is enrolled', { config: COORDINATOR }, {}, consumer(CLUSTER), []],
  ['does not wait for a consumer of a mesh', { config: COORDINATOR }, MESH, consumer(), [], {}],
])('a coordinator %s', (_, own, labels, peers, names, named = CLUSTER) => {
  const entry = provided(named)
  expect(ask(workersAwaited, stateOf([entry, ...(labels ? [told(labels)] : [])], own), peers)).toEqual(names)
})

/** The coordinator, as its beacon knows it. */
const KNOWN = entryOf({ id: 2, role: 'provides', remote: { application: SUBJECT.application } })

test('a coordinator waits for its workers where a beacon of it keeps the namespace on the mesh for them', () => {
  const waits = (awaiting: State['awaiting'], entry: RelationEntry = told(MESH)) => {
    const peers = new Map([...consumer(CLUSTER), ...peersOf({ beacon: stateOf([KNOWN], awaiting && { awaiting }) })])
    return ask(awaitedByBeacon, stateOf([provided(CLUSTER), entry], { config: COORDINATOR }), peers)
  }
  expect(waits('labels-applied')).toMatchObject([
    {
      ...{ object: 'the labels of the namespace', for: ['shop/db'] },
      message: 'waiting for shop/db to carry labels of the mesh',
    },
  ])
  expect(waits(undefined)).toEqual([])
  expect(waits('labels-removed')).toEqual([])
})

test('a coordinator waits for no workers where an application that is no beacon of it awaits labels', () => {
  const waits = (other: Partial<RelationEntry>) => {
    const entry = entryOf({ id: 3, remote: { application: 'other' }, ...other })
    const peers = new Map([
      ...consumer(CLUSTER),
      ...peersOf({ beacon: stateOf([KNOWN]), other: stateOf([], { awaiting: 'labels-applied' }) }),
    ])
    return ask(awaitedByBeacon, stateOf([provided(CLUSTER), told(MESH), entry], { config: COORDINATOR }), peers)
  }
  expect(waits({})).toHaveLength(1)
  expect(waits({ role: 'provides' })).toEqual([])
  expect(waits({ interface: 'cluster' })).toEqual([])
})

test('objects of a cluster are kept for its workers on a mesh that it has left', () => {
  const peers = consumer({ ...CLUSTER, claim: { version: 'v1', phase: 'applied' as const } }, MESH)
  expect(ask(keptFor, stateOf([provided(CLUSTER)], { config: COORDINATOR }), peers)).toEqual(['shop/db'])
})

test('a namespace does not stay on the mesh for the beacon of another mesh', () => {
  const peers = peersOf({ beacon: stateOf([entryOf({ role: 'provides', remote: { application: 'web' } })]) })
  expect(ask(labelsAwaited, stateOf([entryOf()], { config: BEACON }), peers)).toEqual([])
})

test('labels put an object on the mesh by the value ambient alone', () => {
  expect([MESH, { [ENROLMENT_LABEL]: 'none' }, {}, undefined].map(areEnrolling)).toEqual([true, false, false, false])
})
