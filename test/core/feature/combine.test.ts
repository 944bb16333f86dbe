import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { combine } from '../../../src/core/feature/combine.ts'
import type { DesiredLabels, Feature, FeatureInput } from '../../../src/core/feature/feature.ts'
import { publishDatabags } from '../../../src/core/reconcile/decide/databags.ts'
import { desiredState } from '../../../src/core/reconcile/decide/desired-state.ts'
import { resolveRelations } from '../../../src/core/relations/resolve-relations.ts'
import type { Config } from '../../../src/core/state/config.ts'
import { publishedIn, type State } from '../../../src/core/state/state.ts'
import { features as every } from '../../../src/features.ts'
import { istio } from '../../../src/mesh/istio/mesh.ts'
import { waitFor } from '../../../src/platform/base/condition.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { entryOf, peersOf, stateOf } from '../../helpers/states.ts'
import { NAMESPACE, SUBJECT } from '../../helpers/world.ts'

const PLAIN = every.config.parse({})
const SINCE = '2026-01-01T00:00:00.000Z'

const of = (...all: Omit<Feature, 'name'>[]) =>
  combine(
    all.map((one, index) => ({ name: `feature ${index}`, ...one })),
    istio,
  )

const inputOf = (state: State = stateOf([], { config: PLAIN }), peers = peersOf({})): FeatureInput => ({
  ...{ subject: SUBJECT, resolved: resolveRelations(SUBJECT, state, peers), environment: { resolver: 'a' } },
  seen: { lookups: new Map(), pods: [], owned: [] },
})

const labels = (one: Record<string, string>, more: Partial<DesiredLabels> = {}): Omit<Feature, 'name'> => ({
  labels: () => ({ labels: one, unknown: [], messages: [], required: false, ...more }),
})

const map = (name: string, data: Record<string, string> = {}): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: NAMESPACE }, data },
})

describe('features together', () => {
  test('features together have no effects without hooks', () => {
    const none = of({}, {})
    const { resolved } = inputOf()
    expect(none.labels(SUBJECT, resolved)).toEqual({
      labels: {},
      unknown: [],
      messages: [],
      overruled: [],
      refused: [],
      required: false,
    })
    expect([
      none.kinds({ relations: {} }),
      none.targets('web'),
      none.services('web'),
      none.leftovers(SUBJECT, resolved),
      none.effects(SUBJECT, PLAIN),
      none.uses(SUBJECT, PLAIN),
    ]).toEqual([[], [], [], [], [], []])
    expect([
      none.desire(inputOf()),
      none.publications(inputOf()),
      none.lookups(SUBJECT, resolved, new Map()),
      none.reports(SUBJECT, resolved),
    ]).toEqual([[], {}, [], []])
    const state = stateOf([])
    expect([
      none.announced(state, [1]),
      none.plan(state, resolved, new Date()),
      none.derive(state, {} as never),
    ]).toEqual([state, state, state])
    expect([
      none.keeps(resolved, {} as never),
      none.withdrawsNothing(resolved.state, {} as never),
      none.dependsOnUnits(state),
    ]).toEqual([false, false, false])
  })

  test('features together desire the labels of all, of which the first counts', () => {
    const { resolved } = inputOf()
    const joined = of(
      labels({ a: '1', b: '1' }, { unknown: ['x'], messages: ['one'] }),
      labels(
        { b: '2', c: '2' },
        { unknown: ['y'], required: true, overruled: [{ key: 'k', value: 'v', wanted: 'w' }] },
      ),
    ).labels(SUBJECT, resolved)
    expect(joined).toEqual({
      ...{ labels: { a: '1', b: '1', c: '2' }, unknown: ['x', 'y'], messages: ['one'], required: true },
      overruled: [{ key: 'k', value: 'v', wanted: 'w' }],
      refused: [],
    })
    expect(of(labels({}, { unknown: 'all' }), labels({}, { unknown: ['x'] })).labels(SUBJECT, resolved).unknown).toBe(
      'all',
    )
  })

  test('features together publish in a relation what the first of them does', () => {
    const publishing = (data: Record<string, string>) => ({ publications: () => ({ one: { data } }) })
    const { publications } = of(publishing({ a: '1' }), publishing({ b: '2' }), {
      publications: () => ({ two: { data: {} } }),
    })
    expect(publications(inputOf())).toEqual({ one: { data: { a: '1' } }, two: { data: {} } })
  })

  test('features together label the Services that they name', () => {
    const { targets } = of(
      { targets: (name) => [{ kind: 'Workload', name }], services: () => ['a'] },
      { services: () => ['b'] },
    )
    expect(targets('web')).toEqual([
      { kind: 'Workload', name: 'web' },
      { kind: 'Service', name: 'a' },
      { kind: 'Service', name: 'b' },
    ])
  })

  test('features together own each kind once, and announce in the order of numbers', () => {
    expect(
      of({ kinds: () => ['Service', 'ConfigMap'] }, { kinds: () => ['Service'] }).kinds({ relations: {} }),
    ).toEqual(['Service', 'ConfigMap'])
    const announcing = (...numbers: number[]) => ({
      announcements: () => numbers.map((number) => ({ number, event: {} as never })),
    })
    expect(
      of(announcing(3, 1), announcing(2))
        .announcements(SUBJECT, stateOf([]))
        .map(({ number }) => number),
    ).toEqual([1, 2, 3])
  })

  test('features together change the state one after another, and say what one of them does', () => {
    const { resolved } = inputOf()
    const adding = (key: string) => (state: State) => ({ ...state, settings: { ...state.settings, [key]: key } })
    const both = of(
      { derive: adding('a'), plan: adding('a'), announced: adding('a') },
      { derive: adding('b'), plan: adding('b'), announced: adding('b') },
    )
    const expected = stateOf([], { settings: { a: 'a', b: 'b' } })
    expect([
      both.derive(stateOf([]), {} as never),
      both.plan(stateOf([]), resolved, new Date()),
      both.announced(stateOf([]), []),
    ]).toEqual([expected, expected, expected])
    const yes = { keeps: () => true, withdrawsNothing: () => true, dependsOnUnits: () => true }
    const some = of({ keeps: () => false, withdrawsNothing: () => false, dependsOnUnits: () => false }, yes)
    expect([
      some.keeps(resolved, {} as never),
      some.withdrawsNothing(resolved.state, {} as never),
      some.dependsOnUnits(stateOf([])),
    ]).toEqual([true, true, true])
  })

  test('features together check a config as it is sent, and not one that is remembered', () => {
    const checking = of(
      { config: { size: z.number() }, problems: () => [{ path: ['size'], message: 'too large' }] },
      {},
    )
    expect(checking.config.safeParse({ size: 1 }).success).toBe(true)
    expect(checking.config.safeParse({ size: 1, other: 2 }).success).toBe(false)
    expect(checking.givenConfig.safeParse({ size: 1 }).error?.issues).toMatchObject([
      { path: ['size'], message: 'too large' },
    ])
  })
})

describe('the desired state', () => {
  const desired = (...all: Omit<Feature, 'name'>[]) => desiredState(of(...all), inputOf())

  test('the desired state has each object once, with the labels of its owner, and says which are left out', () => {
    const { objects, messages } = desired(
      { desire: () => ({ objects: [map('a', { from: '1' })], messages: ['told'] }) },
      { desire: () => ({ objects: [map('a', { from: '2' }), map('b')], messages: ['told'] }) },
    )
    expect(
      objects.map(({ metadata, data }) => [metadata.name, data?.from, metadata.labels?.['meshstep.dev/application']]),
    ).toEqual([
      ['a', '1', 'web'],
      ['b', undefined, 'web'],
    ])
    expect(messages).toEqual([
      'told',
      'ConfigMap shop/a is in the config more than once, or made for it by another part of it: only the first is applied',
    ])
  })

  test('the desired state has the annotations of the first feature with some, which are unknown while the config is', () => {
    const annotations = (value: string) => ({
      desire: () => ({ annotations: { labels: { a: value }, unknown: [] as string[], inherited: {} } }),
    })
    expect(desired({ desire: () => ({}) }, annotations('1'), annotations('2')).annotations).toEqual({
      labels: { a: '1' },
      unknown: [],
      inherited: {},
    })
    expect(desired().annotations).toEqual({ labels: {}, unknown: [], inherited: {} })
    expect(desiredState(of(), inputOf(stateOf([]))).annotations.unknown).toBe('all')
  })

  test('the desired state waits for what its features wait for, and for labels where one does', () => {
    const wait = (message: string) => waitFor([], 'NotReady', 'a', message)
    const waiting = (...all: string[]) => ({ desire: () => ({ waiting: all.map(wait) }) })
    expect(desired(waiting('a', 'b'), waiting('b')).waiting.map(({ message }) => message)).toEqual(['a', 'b', 'b'])
    expect([
      desired().awaiting,
      desired({ desire: () => ({}) }, { desire: () => ({ awaiting: 'claims-applied' }) }).awaiting,
    ]).toEqual([undefined, 'claims-applied'])
    expect(
      desired({ desire: () => ({ unknownRequests: ['a'] }) }, { desire: () => ({ unknownRequests: ['b'] }) })
        .unknownRequests,
    ).toEqual(['a', 'b'])
  })

  test('the desired state waits for the relation that put an application with a lost memory on the mesh', () => {
    const waits = (...args: Parameters<typeof stateOf>) => desiredState(of(), inputOf(stateOf(...args))).waiting.length
    expect([
      waits([], { lost: { labels: true } }),
      waits([]),
      waits([entryOf()], { lost: { labels: true } }),
      waits([entryOf({ interface: 'sql' })], { lost: { labels: true } }),
    ]).toEqual([1, 0, 0, 1])
  })

  test('the desired state is a dry run where its requesters are audited', () => {
    const policy: KubernetesObject = {
      ...map('a'),
      kind: 'AuthorizationPolicy',
      spec: { targetRefs: [{ kind: 'Service', name: 'a' }] },
    }
    const annotations = (audited: 'all' | string[]) =>
      desired({ desire: () => ({ objects: [policy], audited }) }, { desire: () => ({}) }).objects[0]?.metadata
        .annotations
    expect([annotations('all'), annotations([])]).toEqual([{ 'istio.io/dry-run': 'true' }, undefined])
  })

  test('the desired state says which keys of databags a protocol has', () => {
    const state = stateOf([entryOf()], {
      config: every.config.parse({ databag: { 'service-mesh': { labels: 'a' } } }),
      databag: { 'service-mesh': { guard: 'b' } },
    })
    expect(desiredState(of(), inputOf(state)).messages).toEqual(
      ['labels', 'guard'].map(
        (key) => `databag.service-mesh.${key}: the interface service_mesh has this key itself; left out`,
      ),
    )
  })
})

describe('what an application publishes', () => {
  type Side = { data: Record<string, string>; kept?: string[]; partial?: true }
  const [_ONE] = Object.keys(stateOf([entryOf()]).relations)
  const published = (
    content: Side | undefined,
    changes: Partial<State> = {},
    entry = entryOf({ interface: 'sql', endpoint: 'db' }),
    feature: Omit<Feature, 'name'> = {},
  ) => {
    const state = stateOf([entry], { config: PLAIN, ...changes })
    const [key = ''] = Object.keys(state.relations)
    const input = {
      subject: SUBJECT,
      resolved: resolveRelations(SUBJECT, state, peersOf({})),
      state,
      content: content ? { [key]: content } : {},
    }
    const after = publishDatabags(of(feature), input)
    const [after0] = Object.values(after.relations)
    return after0 && publishedIn(after, after0)
  }
  const earlier = (data: Record<string, string>, more: Partial<State> = {}) =>
    [
      { published: { d: { data } }, ...more },
      entryOf({ interface: 'sql', endpoint: 'db', published: { digest: 'd' } }),
    ] as const

  test('what an application publishes is what its features say, with its custom data', () => {
    expect(published({ data: { a: 'b' } })).toEqual({ data: { a: 'b' } })
    expect(
      published({ data: { a: 'b' } }, { config: every.config.parse({ databag: { db: { c: 'd', a: 'x' } } }) }),
    ).toEqual({ data: { a: 'b', c: 'd' } })
    expect(published(undefined)).toBeUndefined()
    expect(published({ data: {}, partial: true })).toEqual({ data: {}, partial: true })
  })

  test('what an application publishes is withdrawn with its config, once it had published something or has a protocol', () => {
    expect(published(undefined, ...earlier({ a: 'b' }))).toEqual({ data: {} })
    expect(published(undefined, ...earlier({ a: 'b' }, { config: undefined }))).toEqual({ data: { a: 'b' } })
    expect(published(undefined, {}, entryOf({ interface: 'k8s-service' }))).toMatchObject({
      data: { _supported_versions: '["v0", "v1"]' },
    })
    expect(published(undefined, { config: undefined }, entryOf({ interface: 'k8s-service' }))).toBeUndefined()
    expect(published(undefined, ...earlier({ a: 'b' }), { withdrawsNothing: () => true })).toEqual({ data: { a: 'b' } })
  })

  test('what an application publishes stays as it is where a feature keeps it, or the relation is over', () => {
    const [changes, entry] = earlier({ a: 'b' })
    expect(published({ data: { a: 'c' } }, changes, entry, { keeps: () => true })).toEqual({ data: { a: 'b' } })
    expect(published({ data: { a: 'c' } }, {}, entryOf({ interface: 'sql' }), { keeps: () => true })).toEqual({
      data: { a: 'c' },
    })
    expect(published({ data: { a: 'c' } }, changes, { ...entry, status: 'ended' })).toEqual({ data: { a: 'b' } })
  })

  test('what an application publishes keeps the earlier values of keys that come later, and withdraws policies explicitly', () => {
    expect(
      published({ data: { a: 'new', b: 'new' }, kept: ['a', 'c'] }, ...earlier({ a: 'old', c: 'old', d: 'old' })),
    ).toEqual({ data: { b: 'new', a: 'old', c: 'old' } })
    expect(published({ data: { a: 'b' }, kept: ['a'] })).toEqual({ data: {} })
    expect(published({ data: {} }, ...earlier({ policies: '[1]' }))).toEqual({ data: { policies: '[]' } })
    expect(published({ data: { policies: '[2]' } }, ...earlier({ policies: '[1]' }))).toEqual({
      data: { policies: '[2]' },
    })
    expect(published({ data: {} }, ...earlier({}))).toEqual({ data: {} })
  })

  test('what an application publishes without a config is incomplete where a protocol is to come', () => {
    const custom = { config: undefined, databag: { 'service-mesh': { team: 'a' } } } as Partial<State>
    expect(published(undefined, custom, entryOf())).toMatchObject({ partial: true })
    expect(published(undefined, { ...custom, databag: { db: { team: 'a' } } })).toEqual({ data: { team: 'a' } })
    expect(published({ data: {} }, custom, entryOf())).not.toHaveProperty('partial')
    expect(published(undefined, { ...custom, removed: SINCE }, entryOf({ position: { at: 1 } }))).not.toHaveProperty(
      'partial',
    )
  })
})

test('a config of no feature has common keys alone', () => {
  const { config }: { config: z.ZodType<Config> } = of()
  expect([config.safeParse({}).success, config.safeParse({ mesh: {} }).success]).toEqual([true, false])
})
