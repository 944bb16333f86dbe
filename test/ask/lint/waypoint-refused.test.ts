import { describe, expect, test } from 'vitest'
import type { Cluster } from '../../../src/ask/lint/cluster.ts'
import { refusedWaypointFindings } from '../../../src/ask/lint/waypoint-refused.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { clusterOf, deployment, pod, serviceAtWaypoint, waypoint } from './cluster.ts'
import { forPods, forService, policy } from './place.ts'

const ISTIO = { rootNamespace: 'istio-system', trustDomains: { own: 'cluster.local', aliases: [] } }
const account = (name: string) => `cluster.local/ns/shop/sa/${name}`
const from = (...principals: string[]) => ({ from: [{ source: { principals } }] })
const ofRoot = (spec: Record<string, unknown>): KubernetesObject => ({
  ...policy('root', spec),
  metadata: { name: 'root', namespace: 'istio-system' },
})
const SERVICE = serviceAtWaypoint(
  'pay',
  { port: 80, targetPort: 8080 },
  { selector: forPods('pay').selector.matchLabels },
)

const found = (objects: readonly KubernetesObject[], changes: Partial<Cluster> = {}) =>
  refusedWaypointFindings(
    clusterOf([waypoint(), SERVICE, pod('pay'), pod('web'), ...objects], { istio: ISTIO, ...changes }),
  ).map(({ rule, about, message }) => [rule, about, message])

const allow = (...rules: object[]) => policy('allow', { ...forPods('pay'), rules })
const deny = (...rules: object[]) => policy('deny', { ...forPods('pay'), action: 'DENY', rules })
const OTHERS = { from: [{ source: { notPrincipals: [account('web')] } }] }

const WEB = serviceAtWaypoint('web', { port: 80 }, { selector: forPods('web').selector.matchLabels })
const SCALED_DOWN = { services: [WEB], pods: [], workloads: [deployment('web')] }

test('an ALLOW of pods that leaves out the waypoint of their Service is told, with why', () => {
  expect(found([allow(from(account('web')))])).toEqual([
    [
      'waypoint-refused',
      'Service shop/pay',
      'no request through its waypoint shop/w is answered, unless istiod runs with PILOT_AUTO_ALLOW_WAYPOINT_POLICY: ' +
        'shop/w may not connect to the pods of shop/pay on port 8080: ' +
        'the ztunnel of shop/pay resets the connection, as no ALLOW policy matches; ' +
        'the nearest is shop/allow: source cluster.local/ns/shop/sa/w is not cluster.local/ns/shop/sa/web.',
    ],
  ])
})

test('a waypoint that some of the pods refuse is told as that', () => {
  const next = {
    ...pod('pay'),
    metadata: {
      ...pod('pay').metadata,
      name: 'pay-2',
      labels: { ...forPods('pay').selector.matchLabels, version: 'v2' },
    },
  }
  const one = policy('allow', { selector: { matchLabels: { version: 'v2' } }, rules: [from(account('web'))] })
  expect(found([next, one])[0]?.[2]).toContain('no request to some of its pods through its waypoint shop/w is answered')
})

describe('a waypoint that is refused at pods is told', () => {
  test.each<[string, KubernetesObject[], Partial<Cluster>?]>([
    ['by an ALLOW of nobody in the namespace', [policy('nothing', {})]],
    ['by an ALLOW of nobody in the root namespace', [], { rootPolicies: [ofRoot({})] }],
    ['by a DENY of all but a client', [deny(OTHERS)]],
    ['by an ALLOW of another port', [allow({ ...from(account('w')), to: [{ operation: { ports: ['80'] } }] })]],
    ['where a workload has no pods', [policy('one', { ...forPods('web'), rules: [from(account('x'))] })], SCALED_DOWN],
  ])('%s', (_, policies, changes = {}) => {
    expect(found(policies, changes).map(([rule]) => rule)).toEqual(['waypoint-refused'])
  })
})

describe('nothing is told of a waypoint', () => {
  const CLOSED = allow(from(account('web')))
  const own = (spec: Record<string, unknown>) => policy('own', { ...forService('pay'), ...spec })

  test.each<[string, KubernetesObject[], Partial<Cluster>?]>([
    ['that is let in', [allow(from(account('web'), account('w')))]],
    ['that is let in by another policy', [CLOSED, policy('more', { rules: [from('*/sa/w')] })]],
    ['that is let in at one of the ports', [deny({ to: [{ operation: { ports: ['9090'] } }] })]],
    ['of pods that no policy guards', []],
    ['that lets in nobody itself', [CLOSED, own({})]],
    ['in front of pods that are closed to everybody', [deny({})]],
    [
      'beside a dry run',
      [{ ...CLOSED, metadata: { ...CLOSED.metadata, annotations: { 'istio.io/dry-run': 'true' } } }],
    ],
    ['where policies of the root namespace may not be listed', [CLOSED], { rootPolicies: undefined }],
    ['where the trust domain is not known', [CLOSED], { istio: { rootNamespace: 'istio-system' } }],
    ['where a policy cannot be read', [CLOSED, policy('odd', { rules: [{ from: [{ sauce: {} }] }] })]],
    [
      'of a Service without an address',
      [CLOSED],
      { services: [{ ...SERVICE, spec: { ...SERVICE.spec, clusterIP: 'None' } }] },
    ],
    ['of pods off the mesh', [CLOSED], { home: undefined }],
    ['of a Service without a selector', [CLOSED], { services: [serviceAtWaypoint('pay', { port: 80 })] }],
  ])('%s', (_, policies, changes = {}) => {
    expect(found(policies, changes)).toEqual([])
  })
})
