import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findTarget, type PolicyTarget } from '../../../src/core/policies/target.ts'
import type { Relation } from '../../../src/core/state/relation.ts'
import { type EffectiveState, emptyState } from '../../../src/core/state/state.ts'
import { grantsFor, requestedServices } from '../../../src/features/service-mesh/grants.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { nameOf } from '../../../src/platform/kubernetes/objects.ts'
import { TOLD } from '../../helpers/relations.ts'
import { runs } from '../../helpers/runs.ts'

const BEACON = { namespace: 'shop', application: 'beacon' }
const NAME = 'app.kubernetes.io/name'

const relation = (policies: unknown, changes: Partial<Relation> = {}): Relation => ({
  id: 7,
  endpoint: 'service-mesh',
  interface: 'service_mesh',
  ...{ role: 'provides', ...TOLD },
  remote: { application: 'db', data: { policies } },
  ...changes,
})

const stateWith = (...relations: readonly Relation[]): EffectiveState => ({
  ...emptyState(),
  relations: Object.fromEntries(relations.map((one) => [String(one.id), one])),
})

const wire = (changes: Record<string, unknown> = {}) => ({
  source_namespace: 'shop',
  source_app_name: 'web',
  target_namespace: 'shop',
  target_app_name: 'db',
  ...changes,
})

const service = (name: string, selector: Record<string, string> | undefined): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'shop' },
  spec: { ...(selector && { selector }) },
})

const factsWith = (...services: readonly KubernetesObject[]) =>
  new Map(services.map((object) => [nameOf({ kind: 'Service', ...object.metadata }), object]))

describe('a Service of another name', () => {
  test.each<[string, KubernetesObject | undefined, 'granted' | 'waiting' | 'refused']>([
    ['that does not exist is waited for', undefined, 'waiting'],
    ['that selects the pods of another application is refused', service('db-read', { [NAME]: 'web' }), 'refused'],
    ['that selects nothing is refused', service('db-read', undefined), 'refused'],
    ['that selects by something else is refused', service('db-read', { app: 'db' }), 'refused'],
    ['that selects some of its pods is granted', service('db-read', { [NAME]: 'db', role: 'replica' }), 'granted'],
  ])('%s', (_, found, outcome) => {
    const state = stateWith(relation([wire({ target_service: 'db-read' })]))
    expect(requestedServices(BEACON, state)).toEqual([{ kind: 'Service', namespace: 'shop', name: 'db-read' }])
    const { requests, waiting, unserved } = grantsFor(BEACON, state, factsWith(...(found ? [found] : [])))
    expect({ granted: requests.length, waiting: waiting.length, refused: unserved.length }).toEqual({
      granted: 0,
      waiting: 0,
      refused: 0,
      [outcome]: 1,
    })
  })

  test.each<[string, unknown[]]>([
    ['its own Service', [wire(), wire({ target_service: 'db' })]],
    [
      'what it may not name at all',
      [wire({ target_namespace: 'bank', target_service: 'x' }), wire({ target_app_name: 'x', target_service: 'y' })],
    ],
    ['what cannot be read', [{ target_service: 'x' }, 7]],
  ])('a Service of another name is not looked up for %s', (_, policies) => {
    expect(requestedServices(BEACON, stateWith(relation(policies)))).toEqual([])
  })
})

describe('relations that are no consumers', () => {
  test.each<[string, Partial<Relation>]>([
    ['of another interface', { interface: 'http' }],
    ['of the other side', { role: 'requires' }],
  ])('%s: nothing is granted', (_, changes) => {
    expect(grantsFor(BEACON, stateWith(relation([wire()], changes)), new Map())).toEqual({
      requests: [],
      guards: [],
      unknown: [],
      waiting: [],
      unserved: [],
      messages: [],
      isOpening: false,
    })
  })
})

describe('pods during a switch of the waypoint', () => {
  const mesh = { guard: 'whenGranted' } as const
  const requested = (...policies: unknown[]) => {
    const { requests, isOpening } = grantsFor(BEACON, stateWith(relation(policies)), new Map(), mesh, () => true)
    return { isOpening, types: requests.map(({ policy }) => policy.target_type) }
  }

  test('pods admit the clients of their Service during a switch', () => {
    expect(requested(wire())).toEqual({ isOpening: true, types: ['app', 'unit'] })
  })

  test('pods for which there is a policy admit nobody else during a switch', () => {
    expect(requested(wire(), wire({ target_type: 'unit', endpoints: [{ ports: [80] }] }))).toEqual({
      isOpening: false,
      types: ['app', 'unit'],
    })
  })
})

describe('a databag that cannot be read', () => {
  test('of which nothing is known makes its relation unknown', () => {
    const { requests, unknown, unserved } = grantsFor(BEACON, stateWith(relation('[{')), new Map())
    expect({ requests, unknown }).toEqual({ requests: [], unknown: ['relation 7 (service-mesh) of shop/db'] })
    expect(unserved).toEqual([expect.stringContaining('the last readable data stays in effect')])
  })

  test('of which the last is kept asks for that', () => {
    const { requests, unknown } = grantsFor(
      BEACON,
      stateWith(relation('[{', { lastReadable: { policies: [wire()] } })),
      new Map(),
    )
    expect([requests.length, unknown]).toEqual([1, []])
  })
})

const name = fc.constantFrom('db', 'web', 'shop', 'bank', 'db-read', '*', '', 'DB', '__proto__')
const nullable = fc.option(name, { nil: null })

const hostile = fc.record(
  {
    source_namespace: name,
    source_app_name: name,
    target_namespace: name,
    target_app_name: nullable,
    target_service: nullable,
    target_selector_labels: fc.option(fc.dictionary(fc.constantFrom(NAME, 'team'), name), { nil: null }),
    target_type: fc.constantFrom('app', 'unit'),
    endpoints: fc.constantFrom([], [{ ports: [80] }], [{}]),
  },
  { requiredKeys: [] },
)

test('whatever a consumer asks for, nothing is granted or guarded but its own pods and the Services that select them', () => {
  const facts = factsWith(service('db-read', { [NAME]: 'db' }), service('web', { [NAME]: 'web' }))
  const own = [
    { targetRefs: [{ group: '', kind: 'Service', name: 'db' }] },
    { targetRefs: [{ group: '', kind: 'Service', name: 'db-read' }] },
  ]
  const isOwn = (spec: object) =>
    'selector' in spec
      ? (spec as { selector: { matchLabels: Record<string, string> } }).selector.matchLabels[NAME] === 'db'
      : own.some((one) => JSON.stringify(one) === JSON.stringify(spec))
  fc.assert(
    fc.property(fc.array(hostile, { maxLength: 8 }), (policies) => {
      const { requests, guards, unserved, waiting } = grantsFor(BEACON, stateWith(relation(policies)), facts)
      // a Service that does not exist is nobody's yet
      const isForeign = ({ spec, title }: PolicyTarget) => !isOwn(spec) && ('selector' in spec || title === 'web')
      expect(guards.filter(({ target }) => target.namespace !== 'shop' || isForeign(target))).toEqual([])
      for (const { policy } of requests) {
        const target = findTarget(policy)
        expect([target?.namespace, target !== undefined && isOwn(target.spec)]).toEqual(['shop', true])
        expect(`${policy.source_namespace}/${policy.source_app_name}`).not.toMatch(/[*]/)
      }
      expect(requests.length + unserved.length + waiting.length).toBe(policies.length)
    }),
    { numRuns: runs(500) },
  )
})
