import { describe, expect, test } from 'vitest'
import { evaluate } from '../../../src/ask/authorization/evaluate.ts'
import type { UnreadablePolicy } from '../../../src/mesh/istio/authorization-policy.ts'
import { call, custom, hardened, managed, pods, service, world } from '../../mesh/istio/bookinfo.ts'

const odd = (changes: Partial<UnreadablePolicy> = {}): UnreadablePolicy => ({
  unreadable: 'AuthorizationPolicy shop/odd: spec.planets: not known',
  namespace: 'shop',
  name: 'odd',
  ...changes,
})
const straight = call({ to: { namespace: 'shop', application: 'details' } })

describe('a policy that cannot be read', () => {
  test.each<[string, UnreadablePolicy, 'waypoint' | 'ztunnel' | undefined]>([
    ['anywhere in the namespace', odd(), 'waypoint'],
    ['anywhere in the root namespace', odd({ namespace: 'istio-system' }), 'waypoint'],
    ['in another namespace', odd({ namespace: 'bank' }), undefined],
    ['at the Service', odd({ attachment: service('details') }), 'waypoint'],
    ['at another Service', odd({ attachment: service('reviews') }), undefined],
    ['at the pods', odd({ attachment: pods('details') }), 'ztunnel'],
    ['at other pods', odd({ attachment: pods('reviews') }), undefined],
    ['at all pods of the namespace', odd({ attachment: {} }), 'ztunnel'],
  ])('a policy that cannot be read leaves undecided what it may hold for: %s', (_, policy, at) => {
    const { allowed, decided, ...decision } = evaluate(call(), world(managed, { unreadable: [policy] }))
    expect({ allowed, decided }).toEqual({ allowed: at === undefined, decided: at === undefined })
    if (at === undefined) return
    expect(decision.at).toBe(at)
    expect(decision.sentence).toContain('shop/productpage may or may not send GET /details/0')
    expect(decision.sentence).toContain(`a policy that cannot be read: ${policy.unreadable}`)
    expect(decision.steps).toContainEqual({
      at,
      policy: `${policy.namespace}/odd`,
      matches: 'unknown',
      note: `it cannot be read: ${policy.unreadable}`,
    })
  })

  test('a policy that cannot be read may be the one that allows, where no other does', () => {
    expect(evaluate(call(), world(hardened, { unreadable: [odd()] }))).toMatchObject({ allowed: false, decided: false })
  })

  test('a policy that cannot be read does not outweigh a DENY', () => {
    const deny = custom('deny', { ...service('details'), action: 'DENY', rules: [{}] })
    expect(evaluate(call(), world([deny], { unreadable: [odd()] }))).toMatchObject({
      allowed: false,
      decided: true,
      policy: 'shop/deny',
    })
  })

  test('a policy that cannot be read may hold for a waypoint in a namespace of its own', () => {
    const waypoint = { namespace: 'mesh', name: 'w', serviceAccount: 'w' }
    const where = world([], {
      services: [{ namespace: 'shop', name: 'details', waypoint }],
      unreadable: [odd({ namespace: 'mesh' })],
    })
    expect(evaluate(call(), where)).toMatchObject({ decided: false, at: 'waypoint' })
    expect(evaluate(straight, where)).toMatchObject({ decided: true, at: 'ztunnel' })
  })
})

describe('a waypoint that takes no traffic', () => {
  const bypassed = 'the waypoint shop/w does not exist'
  const where = world(managed, { services: [{ namespace: 'shop', name: 'details', bypassed }] })

  test('a waypoint that takes no traffic enforces nothing, and the sentence says so', () => {
    const { allowed, sentence, steps } = evaluate(call({ method: 'POST' }), where)
    expect(allowed).toBe(true)
    expect(sentence).toMatch(/; the waypoint shop\/w does not exist, so no policy of the Service is enforced\.$/)
    expect(steps).toContainEqual({
      at: 'destination',
      note: 'the waypoint shop/w does not exist: no policy of the Service is enforced',
    })
  })

  test.each([
    ['a client outside the mesh', call({ from: { namespace: 'legacy', application: 'old' } })],
    ['a request to a pod', straight],
  ])('a waypoint that takes no traffic is nothing to %s, which passes none', (_, asked) => {
    expect(JSON.stringify(evaluate(asked, where))).not.toContain('does not exist')
  })

  test('a waypoint that takes no traffic says so beside pods that nothing guards', () => {
    const off = { namespace: 'shop', name: 'details', labels: {}, onMesh: false }
    expect(evaluate(call(), { ...where, workloads: [off] }).sentence).toMatch(
      /nothing guards them; the waypoint shop\/w/,
    )
  })
})

test('a client outside the mesh is called by the name of its application where that is known', () => {
  const asked = call({ from: { namespace: 'legacy', application: 'old' } })
  expect(evaluate(asked, world(hardened)).sentence).toMatch(/^legacy\/old, outside the mesh, may not send GET/)
})

describe('a Service that sends on to another port', () => {
  const at = (attachment: object, port: string) =>
    world([custom('p', { ...attachment, rules: [{ to: [{ operation: { ports: [port] } }] }] })], {
      autoAllowWaypoint: false,
    })
  const to = { namespace: 'shop', application: 'details', service: 'details', podPort: 9080 }

  test.each([
    ['the waypoint sees the port of the Service', service('details'), '80', true],
    ['and not that of the pod', service('details'), '9080', false],
    ['the ztunnel sees the port of the pod', pods('details'), '9080', true],
    ['and not that of the Service', pods('details'), '80', false],
  ])('%s', (_, attachment, port, allowed) => {
    const decision = evaluate(call({ to, port: 80 }), at(attachment, port))
    expect(decision.allowed).toBe(allowed)
    expect(decision.steps[0]?.note).toBe('port 80 of the Service is port 9080 of the pods')
  })

  test('a Service that sends on to another port, also for a client that passes no waypoint', () => {
    const asked = call({ to, port: 80, from: { namespace: 'legacy' } })
    expect(evaluate(asked, at(pods('details'), '9080')).allowed).toBe(true)
  })

  test('a Service that sends on to another port is not worth a word where the ports are the same', () => {
    expect(evaluate(call(), world([], { autoAllowWaypoint: false })).steps).toEqual([])
  })
})

test('what depends on the root namespace for some of the pods alone is not decided', () => {
  const deny = custom('deny', { selector: { matchLabels: { tier: 'a' } }, action: 'DENY', rules: [{}] })
  const inRoot = { ...deny, metadata: { ...deny.metadata, namespace: 'mesh-root' } }
  const details = { namespace: 'shop', name: 'details', labels: { tier: 'a' }, onMesh: true }
  const { from, to } = straight
  const snapshot = world([inRoot], { otherRoots: ['mesh-root'], autoAllowWaypoint: false })
  expect(evaluate(straight, snapshot)).toMatchObject({ allowed: true, decided: true })
  const others = [{ from, to, workloads: [details] }]
  expect(evaluate(straight, { ...snapshot, others })).toMatchObject({ allowed: false, decided: false })
})
