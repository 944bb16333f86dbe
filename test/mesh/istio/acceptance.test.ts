import { describe, expect, test } from 'vitest'
import { causeIn, causeLookups, unenforced, withCause } from '../../../src/mesh/istio/acceptance.ts'
import { describeCondition } from '../../../src/platform/base/condition.ts'
import { type KubernetesObject, nameOf } from '../../../src/platform/kubernetes/objects.ts'

const AT = '2026-01-01T00:00:00Z'

const object = (
  kind: string,
  name: string,
  spec: Record<string, unknown>,
  conditions?: readonly Record<string, unknown>[],
  metadata: Record<string, unknown> = {},
): KubernetesObject => ({
  apiVersion: 'v1',
  kind,
  metadata: {
    name,
    namespace: 'shop',
    generation: 2,
    creationTimestamp: AT,
    managedFields: [
      { manager: 'meshstep/beacon', operation: 'Apply', time: '2026-01-02T00:00:00Z' },
      { manager: 'pilot', operation: 'Apply', subresource: 'status', time: '2026-01-03T00:00:00Z' },
    ],
    ...metadata,
  },
  spec,
  ...(conditions && { status: { conditions } }),
})

const said = (type: string, observedGeneration: string | number | undefined, more: Record<string, unknown> = {}) => ({
  ...{ type, status: 'True', reason: 'Accepted', message: 'bound', lastTransitionTime: AT },
  ...(observedGeneration !== undefined && { observedGeneration }),
  ...more,
})

const ofPods = (conditions?: readonly Record<string, unknown>[], name = 'pods') =>
  object('AuthorizationPolicy', name, { selector: { matchLabels: { app: 'db' } } }, conditions)
const ofService = (conditions?: readonly Record<string, unknown>[]) =>
  object('AuthorizationPolicy', 'service', { targetRefs: [{ group: '', kind: 'Service', name: 'db' }] }, conditions)
const ofGateway = (conditions?: readonly Record<string, unknown>[]) =>
  object('AuthorizationPolicy', 'gateway', { targetRefs: [{ kind: 'Gateway', name: 'way' }] }, conditions)
const gateway = (conditions?: readonly Record<string, unknown>[]) =>
  object('Gateway', 'way', { gatewayClassName: 'istio-waypoint' }, conditions)
const service = (conditions?: readonly Record<string, unknown>[], labels = { 'istio.io/use-waypoint': 'way' }) =>
  object('Service', 'db', {}, conditions, { labels, generation: undefined })

const heldIn = (objects: readonly KubernetesObject[], witnesses: readonly KubernetesObject[] = []): string[] =>
  unenforced(objects, witnesses).map(({ condition: { reason, object } }) => `${reason} ${object}`)

const TAKEN = said('ZtunnelAccepted', '2')

describe('an object counts as taken', () => {
  test.each<[string, KubernetesObject]>([
    ['a policy for pods whose condition is of its generation', ofPods([TAKEN])],
    ['a policy for a Service whose condition is of its generation', ofService([said('WaypointAccepted', '2')])],
    ['a Gateway whose condition is of its generation', gateway([said('Accepted', 2), said('Programmed', 2)])],
    [
      'a Service that says which waypoint it is led to',
      service([
        said('istio.io/WaypointBound', undefined, { message: 'Successfully attached to waypoint shop/way. Ingress' }),
      ]),
    ],
    ['a Service that is led to no waypoint', service(undefined, {} as never)],
  ])('%s', (_, taken) => {
    expect(heldIn([taken], [ofPods([TAKEN], 'other')])).toEqual([])
  })

  test.each<[string, readonly KubernetesObject[]]>([
    ['where nothing has a condition', [ofPods(), ofService(), gateway(), service()]],
    [
      'where the API server alone gives conditions, which wait for a controller',
      [ofPods(), gateway([said('Accepted', 2, { status: 'Unknown', reason: 'Pending' })])],
    ],
    ['where only Gateways have conditions, as with older Istio', [ofPods(), gateway([said('Accepted', 2)])]],
  ])('each object %s', (_, objects) => {
    expect(heldIn(objects)).toEqual([])
  })
})

describe('an object is not taken yet', () => {
  test.each<[string, KubernetesObject]>([
    ['a policy without a condition', ofPods()],
    ['a policy whose condition is of an older generation', ofPods([said('ZtunnelAccepted', '1')])],
    ['a policy whose condition is of no generation', ofPods([said('ZtunnelAccepted', undefined)])],
    ['a policy for a Service that has the condition of one for pods', ofService([TAKEN])],
    ['a Service without a condition', service()],
    [
      'a Service that says that it is led to another waypoint',
      service([said('istio.io/WaypointBound', undefined, { message: 'Successfully attached to waypoint shop/way-2' })]),
    ],
  ])('%s, where another has one', (_, pending) => {
    expect(heldIn([pending], [ofPods([TAKEN], 'other')])).toEqual([
      `NotTaken ${pending.kind} shop/${pending.metadata.name}`,
    ])
  })

  test('a Gateway whose condition is of an older generation', () => {
    expect(heldIn([gateway([said('Accepted', 1)])])).toEqual(['NotTaken Gateway shop/way'])
  })

  test('an object is not taken yet, and says since when, and what ends it', () => {
    const [wait] = unenforced([ofPods([said('ZtunnelAccepted', '1')])])
    expect(wait && describeCondition(wait.condition)).toBe(
      'Istio has not taken AuthorizationPolicy shop/pods yet: proxies enforce the previous state until istiod takes it; istiod may be away (since 2026-01-02T00:00:00Z)',
    )
  })
})

describe('an object that Istio refuses says why', () => {
  test.each<[string, KubernetesObject, string]>([
    [
      'a policy for a Gateway that has no address, or is not there',
      ofGateway([said('WaypointAccepted', '2', { status: 'False', reason: 'TargetNotFound', message: 'not bound' })]),
      'AuthorizationPolicy shop/gateway is not enforced: not bound (TargetNotFound); it is enforced once its Gateway has an address',
    ],
    [
      'a Service whose waypoint is not ready',
      service([
        said('istio.io/WaypointBound', undefined, {
          ...{ status: 'False', reason: 'WaypointIsNotReady', message: 'waypoint "shop/way" is not ready' },
        }),
      ]),
      'Service shop/db is not led to its waypoint: waypoint "shop/way" is not ready (WaypointIsNotReady)',
    ],
    [
      'a Gateway that is not accepted',
      gateway([said('Accepted', 2, { status: 'False', reason: 'InvalidParameters', message: 'no such options' })]),
      'Gateway shop/way is not enforced: no such options (InvalidParameters)',
    ],
  ])('%s', (_, refused, message) => {
    expect(unenforced([refused]).map(({ condition }) => [condition.reason, condition.message])).toEqual([
      ['NotEnforced', message],
    ])
  })
})

describe('the reason why Istio takes nothing of a namespace', () => {
  const causeWith = (mesh: string, labels: Record<string, string>) => {
    const found = [
      { ...object('ConfigMap', 'istio', {}, undefined, { namespace: 'istio-system' }), data: { mesh } },
      object('Namespace', 'shop', {}, undefined, { labels }),
    ]
    const seen = new Map(
      found.map((one) => [
        nameOf(
          one.kind === 'Namespace' ? { kind: one.kind, name: one.metadata.name } : { kind: one.kind, ...one.metadata },
        ),
        one,
      ]),
    )
    expect(causeLookups('shop', seen).map(nameOf)).toEqual(expect.arrayContaining([...seen.keys()]))
    return causeIn('shop', seen)
  }
  const LEFT_OUT =
    'the discoverySelectors of Istio leave out the namespace shop: nothing there is enforced until they select it'

  test.each<[string, string, Record<string, string>, string | undefined]>([
    ['is none without selectors', '{}', {}, undefined],
    ['is none with an empty list', 'discoverySelectors: []', {}, undefined],
    ['is none where a selector is empty', 'discoverySelectors: [{}]', {}, undefined],
    [
      'is none where one of two selects it',
      'discoverySelectors: [{matchLabels: {a: x}}, {matchLabels: {a: y}}]',
      { a: 'y' },
      undefined,
    ],
    [
      'is that none selects it',
      'discoverySelectors: [{matchLabels: {a: x}}, {matchLabels: {a: y}}]',
      { a: 'z' },
      LEFT_OUT,
    ],
    [
      'is an expression that it does not meet',
      'discoverySelectors: [{matchExpressions: [{key: a, operator: In, values: [x, y]}]}]',
      {},
      LEFT_OUT,
    ],
    [
      'is none where it meets the expression',
      'discoverySelectors: [{matchExpressions: [{key: a, operator: NotIn, values: [x]}, {key: b, operator: Exists}]}]',
      { b: '' },
      undefined,
    ],
    ['is not known where the config cannot be read', 'discoverySelectors: 7', {}, undefined],
  ])('%s', (_, mesh, labels, expected) => {
    expect(causeWith(mesh, labels)?.message).toBe(expected)
  })

  test('the reason why Istio takes nothing of a namespace is named with what is not taken', () => {
    const [pending] = unenforced([ofPods([said('ZtunnelAccepted', '1')])])
    const cause = causeWith('discoverySelectors: [{matchLabels: {a: x}}]', {})
    expect(pending && withCause(pending, cause).message).toBe(
      `Istio has not taken AuthorizationPolicy shop/pods yet: ${LEFT_OUT}`,
    )
  })
})
