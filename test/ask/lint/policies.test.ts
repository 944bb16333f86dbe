import { describe, expect, test } from 'vitest'
import type { Cluster } from '../../../src/ask/lint/cluster.ts'
import { policyFindings } from '../../../src/ask/lint/policies.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { clusterOf, deployment, pod, serviceAtWaypoint, waypoint } from './cluster.ts'
import { forPods, forService, policy } from './place.ts'

const found = (objects: readonly KubernetesObject[], changes: Partial<Cluster> = {}) =>
  policyFindings(clusterOf([waypoint(), ...objects], changes)).map(({ rule, message }) => [rule, message])

test('a policy selects what is made of the template of a workload that is scaled to nothing', () => {
  expect(found([policy('one', { ...forPods('db'), rules: [{}] }), deployment('db')])).toEqual([])
  expect(found([policy('one', { ...forPods('db'), rules: [{}] }), deployment('web'), pod('web')])).toMatchObject([
    ['policy-unmatched', expect.stringContaining('it selects no pod of shop')],
  ])
})

const HTTP = { name: 'http', port: 80 }

describe('a port', () => {
  const forBoth = {
    targetRefs: ['db', 'web'].map((name) => ({ group: '', kind: 'Service', name })),
  }
  const services = [serviceAtWaypoint('db', HTTP), serviceAtWaypoint('web', { name: 'http', port: 443 })]
  const named = (...ports: string[]) => policy('one', { ...forBoth, rules: [{ to: [{ operation: { ports } }] }] })

  test('a port that one of several Services has is known', () => {
    expect(found([...services, named('80', '443')])).toEqual([])
  })

  test('of a target that is no Service is not looked at', () => {
    const forGateway = { targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'w' }] }
    expect(found([policy('one', { ...forGateway, rules: [{ to: [{ operation: { ports: ['81'] } }] }] })])).toEqual([])
  })

  test('a port may be written with zeros before it', () => {
    expect(found([...services, named('0080')])).toEqual([])
  })

  test('a port that none of them has is told once', () => {
    expect(found([...services, named('80', '81')])).toEqual([
      ['port-unknown', 'the Service shop/db has no port 81, but 80; the Service shop/web has no port 81, but 443'],
    ])
  })
})

test('nothing enforces a policy of a Service without an address, whatever waypoint its label names', () => {
  const headless = serviceAtWaypoint('db', HTTP, { clusterIP: 'None' })
  expect(found([headless, policy('one', { ...forService('db'), rules: [{}] })])).toEqual([
    [
      'policy-unenforced',
      'nothing enforces it: the Service shop/db has no address of its own: requests go straight to the pods',
    ],
  ])
})

describe('a rule with HTTP fields', () => {
  const http = { name: 'http', port: 80 }
  const tcp = { name: 'tcp-sql', port: 5432 }
  const declared = { name: 'sql', appProtocol: 'tcp', port: 5432 }
  const inspected = { name: 'web', port: 8080 }
  const service = (...ports: object[]) => serviceAtWaypoint('db', {}, { ports })
  const rule = (operation: Record<string, unknown>, source?: Record<string, unknown>) => [
    { ...(source && { from: [{ source }] }), to: [{ operation }] },
  ]
  const get = { methods: ['GET'] }
  const of = (action: string, rules: unknown[]) => policy('one', { ...forService('db'), action, rules })

  test.each<[string, object[], unknown[], string | RegExp]>([
    [
      'where no port carries HTTP',
      [tcp],
      rule(get),
      'it lets in nobody by rules[0] on port 5432: its methods cannot be',
    ],
    ['on a port that it names', [http, declared], rule({ ...get, ports: ['80', '5432'] }), 'rules[0] on port 5432:'],
    [
      'of tokens',
      [tcp],
      [{ from: [{ source: { requestPrincipals: ['*'] } }] }],
      'its requestPrincipals cannot be seen on a port that carries TCP',
    ],
    [
      'on a port that a condition names',
      [http, tcp],
      [{ ...rule(get)[0], when: [{ key: 'destination.port', values: ['5432'] }] }],
      'on port 5432:',
    ],
  ])('of an ALLOW lets in nobody %s', (_, ports, rules, message) => {
    expect(found([service(...ports), of('ALLOW', rules)])).toEqual([
      ['allow-on-tcp', expect.stringContaining(`${message}`)],
    ])
  })

  test.each<[string, object[], unknown[]]>([
    ['on another port', [http, tcp], rule(get)],
    ['on a port that it names', [http, tcp], rule({ ...get, ports: ['80'] })],
    ['on a port that Istio inspects', [inspected], rule(get)],
    ['on a port that it does not exclude', [http, tcp], rule({ ...get, notPorts: ['5432'] })],
    ['without HTTP fields', [tcp], rule({ ports: ['5432'] })],
  ])('of an ALLOW is no finding where it lets in somebody %s', (_, ports, rules) => {
    expect(found([service(...ports), of('ALLOW', rules)])).toEqual([])
  })

  test('of an ALLOW is no finding where one of two Services has HTTP on that port', () => {
    const other = serviceAtWaypoint('web', { name: 'http', port: 5432 })
    const targetRefs = ['db', 'web'].map((name) => ({ group: '', kind: 'Service', name }))
    expect(
      found([service(tcp), other, policy('one', { targetRefs, rules: rule({ ...get, ports: ['5432'] }) })]),
    ).toEqual([])
  })

  test.each<[string, object[], unknown[], string]>([
    ['denies all of a port that is TCP', [http, tcp], rule(get), 'denies everything by rules[0] on port 5432'],
    [
      'denies more than it says on a port that it names and that is TCP',
      [http, tcp],
      rule({ ...get, ports: ['5432'] }),
      'denies more by rules[0] than it says on port 5432',
    ],
    [
      'denies a client more than it says on a port that is TCP',
      [http, tcp],
      rule(get, { namespaces: ['bank'] }),
      'denies more by rules[0] than it says on port 5432',
    ],
    ['denies TCP on a port that Istio inspects', [inspected], rule(get), 'on port 8080 where a connection is not HTTP'],
  ])('of a DENY %s', (_, ports, rules, message) => {
    expect(found([service(...ports), of('DENY', rules)])).toEqual([['deny-on-tcp', expect.stringContaining(message)]])
  })

  test.each<[string, object[], unknown[]]>([
    ['where all ports are HTTP', [http, { name: 'a', appProtocol: 'grpc', port: 81 }], rule(get)],
    ['where it names those that are HTTP', [http, tcp], rule({ ...get, ports: ['80'] })],
    ['where the other port is UDP', [http, { name: 'dns', port: 53, protocol: 'UDP' }], rule(get)],
    [
      'where what is denied on TCP has no HTTP fields',
      [http, tcp],
      [{ to: [{ operation: { ports: ['5432'] } }, { operation: { ...get, ports: ['80'] } }] }],
    ],
    [
      'where all of TCP is denied as well without HTTP fields',
      [http, tcp],
      [{ to: [{ operation: { ports: ['5432'] } }, { operation: get }] }],
    ],
  ])('of a DENY is no finding %s', (_, ports, rules) => {
    expect(found([service(...ports), of('DENY', rules)])).toEqual([])
  })

  test.each<[string, unknown[]]>([
    ['a source', [{ from: [{ source: { requestPrincipals: ['*'] } }], to: [{ operation: { ports: ['5432'] } }] }]],
    [
      'a condition',
      [{ to: [{ operation: { ports: ['5432'] } }], when: [{ key: 'request.headers[a]', values: ['b'] }] }],
    ],
  ])('of a DENY denies more wherever %s has one', (_, rules) => {
    expect(found([service(http, tcp), of('DENY', rules)])).toEqual([
      ['deny-on-tcp', expect.stringContaining('denies more by rules[0] than it says on port 5432')],
    ])
  })

  test('of a DENY may be on TCP where the ports of its target are not known', () => {
    const forGateway = { targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'w' }] }
    expect(found([policy('one', { ...forGateway, action: 'DENY', rules: rule(get) })])).toEqual([
      ['deny-on-tcp', expect.stringContaining('on ports that carry TCP')],
    ])
  })
})

test('a source without a field is refused by Istio, and told also where it is there all the same', () => {
  const empty = (spec: Record<string, unknown>) => policy('one', { ...spec, rules: [{ from: [{ source: {} }] }] })
  const refused = [
    'policy-refused',
    'spec.rules.0.from.0.source: expected a source with at least one field; to match everybody, leave `from` out',
  ]
  expect(found([serviceAtWaypoint('db', HTTP), empty(forService('db'))])).toEqual([refused])
  expect(found([pod('db'), empty(forPods('db'))])).toEqual([refused])
})

describe('a policy of an Envoy', () => {
  const get = [{ to: [{ operation: { methods: ['GET'] } }] }]
  const labelled = (name: string, labels: Record<string, string>, spec = {}): KubernetesObject => {
    const made = pod(name)
    return { ...made, metadata: { ...made.metadata, labels: { ...made.metadata.labels, ...labels } }, spec }
  }
  const GATEWAY_NAME = 'gateway.networking.k8s.io/gateway-name'

  test.each([
    ['of a Gateway', labelled('edge', { [GATEWAY_NAME]: 'edge' })],
    ['beside a container', labelled('edge', {}, { containers: [{ name: 'app' }, { name: 'istio-proxy' }] })],
  ])('%s that its selector selects may have HTTP fields, and ask others', (_, selected) => {
    const custom = { ...forPods('edge'), action: 'CUSTOM', provider: { name: 'oidc' }, rules: get }
    expect(found([selected, policy('one', { ...forPods('edge'), rules: get }), policy('two', custom)])).toEqual([])
  })

  test('a policy of an Envoy has none at waypoints, which no selector reaches, nor where pods on the mesh are selected as well', () => {
    const proxy = labelled('w', { [GATEWAY_NAME]: 'w', 'gateway.istio.io/managed': 'istio.io-mesh-controller' })
    const all = policy('one', { rules: get })
    expect(found([proxy, all]).map(([rule]) => rule)).toEqual(['http-without-waypoint'])
    expect(found([labelled('edge', { [GATEWAY_NAME]: 'edge' }), pod('db'), all]).map(([rule]) => rule)).toEqual([
      'http-without-waypoint',
    ])
  })

  test.each<[string, string, string[]]>([
    ['HTTP', 'ALLOW', []],
    ['HTTP', 'DENY', []],
    ['HTTPS', 'DENY', []],
    ['TCP', 'ALLOW', ['allow-on-tcp']],
    ['TLS', 'DENY', ['deny-on-tcp']],
  ])('of a Gateway is judged by its listeners: %s and %s', (protocol, action, told) => {
    const edge: KubernetesObject = {
      ...waypoint('edge'),
      spec: { gatewayClassName: 'istio', listeners: [{ name: 'a', port: 443, protocol }] },
    }
    const targetRefs = [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'edge' }]
    expect(found([edge, policy('one', { targetRefs, action, rules: get })]).map(([rule]) => rule)).toEqual(told)
  })
})
