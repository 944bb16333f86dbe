import { describe, expect, test } from 'vitest'
import { findWaypoint } from '../../../src/ask/authorization/waypoint.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'

type Labels = Record<string, string>

const service = (labels: Labels = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'details', namespace: 'shop', labels },
})

const listener = (namespaces: object) => ({
  name: 'mesh',
  port: 15008,
  protocol: 'HBONE',
  allowedRoutes: { namespaces },
})

const ready = { addresses: [{ value: 'w.shop.svc.cluster.local' }] }

const gateway = (
  { namespace = 'shop', name = 'w', ...metadata }: Partial<KubernetesObject['metadata']> = {},
  {
    listeners = [listener({ from: 'All' })],
    status = ready,
  }: { listeners?: unknown; status?: Record<string, unknown> } = {},
): KubernetesObject => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name, namespace, ...metadata },
  spec: { gatewayClassName: 'istio-waypoint', listeners },
  status,
})

const USE = { 'istio.io/use-waypoint': 'w' }
const ELSEWHERE = { ...USE, 'istio.io/use-waypoint-namespace': 'mesh' }
const W = { namespace: 'shop', name: 'w', serviceAccount: 'w' }

describe('a Service has no waypoint', () => {
  test.each<[string, Labels, Labels]>([
    ['when no label names one', {}, {}],
    ['when its own label says none', { 'istio.io/use-waypoint': 'none' }, USE],
    ['when its namespace says none', {}, { 'istio.io/use-waypoint': 'none' }],
    ['when it is one', { 'gateway.istio.io/managed': 'istio.io-mesh-controller' }, USE],
  ])('%s', (_, labels, namespaceLabels) => {
    expect(findWaypoint(service(labels), { labels: namespaceLabels }, [gateway()])).toEqual({})
  })
})

describe('a waypoint that labels name is bypassed', () => {
  const for_ = (purpose: string) => gateway({ labels: { 'istio.io/waypoint-for': purpose } })
  const condition = (status: string) => ({ conditions: [{ type: 'Programmed', status }] })

  test.each<[string, Labels, KubernetesObject[], string]>([
    ['when there is none of that name', USE, [], 'the waypoint shop/w does not exist'],
    ['when it is elsewhere', USE, [gateway({ namespace: 'mesh' })], 'the waypoint shop/w does not exist'],
    ['when it is here, and another is named', ELSEWHERE, [gateway()], 'the waypoint mesh/w does not exist'],
    ['when it is for pods', USE, [for_('workload')], 'the waypoint shop/w is for workload, not for Services'],
    ['when it is for nothing', USE, [for_('none')], 'the waypoint shop/w is for none, not for Services'],
    ...(
      [
        ['is not programmed', condition('False')],
        ['has not been looked at', condition('Unknown')],
        ['has no status', undefined],
        ['has a status that cannot be read', { addresses: 'all' }],
      ] as const
    ).map(([what, status]): [string, Labels, KubernetesObject[], string] => [
      `when it ${what}`,
      USE,
      [{ ...gateway(), status }],
      'the waypoint shop/w is not ready: Istio has given it no address',
    ]),
    [
      'when it takes those of its own namespace alone',
      ELSEWHERE,
      [gateway({ namespace: 'mesh' }, { listeners: [listener({ from: 'Same' })] })],
      'the waypoint mesh/w takes no Services of the namespace shop',
    ],
    [
      'when it does not say whose it takes',
      ELSEWHERE,
      [gateway({ namespace: 'mesh' }, { listeners: [{ name: 'mesh', port: 15008, protocol: 'HBONE' }] })],
      'the waypoint mesh/w takes no Services of the namespace shop',
    ],
    [
      'when it says so where waypoints do not look',
      ELSEWHERE,
      [gateway({ namespace: 'mesh' }, { listeners: [{ ...listener({ from: 'All' }), protocol: 'HTTP' }] })],
      'the waypoint mesh/w takes no Services of the namespace shop',
    ],
    [
      'when it says so on a port where waypoints do not listen',
      ELSEWHERE,
      [gateway({ namespace: 'mesh' }, { listeners: [{ ...listener({ from: 'All' }), port: 15009 }] })],
      'the waypoint mesh/w takes no Services of the namespace shop',
    ],
    [
      'when it selects other namespaces',
      ELSEWHERE,
      [
        gateway(
          { namespace: 'mesh' },
          { listeners: [listener({ from: 'Selector', selector: { matchLabels: { team: 'blue' } } })] },
        ),
      ],
      'the waypoint mesh/w takes no Services of the namespace shop',
    ],
    [
      'when its listeners cannot be read',
      ELSEWHERE,
      [gateway({ namespace: 'mesh' }, { listeners: 'all' })],
      'the waypoint mesh/w takes no Services of the namespace shop',
    ],
  ])('%s', (_, labels, gateways, bypassed) => {
    expect(findWaypoint(service(labels), {}, gateways)).toEqual({ bypassed })
  })
})

describe('a Service has the waypoint', () => {
  test.each<[string, Labels, Labels, KubernetesObject[], object]>([
    ['that its own label names', USE, {}, [gateway()], W],
    ['that its namespace names', {}, USE, [gateway()], W],
    ['that its own label names, rather than its namespace', USE, { 'istio.io/use-waypoint': 'v' }, [gateway()], W],
    [
      'of another namespace that it names',
      ELSEWHERE,
      {},
      [gateway(), gateway({ namespace: 'mesh' })],
      { ...W, namespace: 'mesh' },
    ],
    [
      'of another namespace that selects its own by name',
      ELSEWHERE,
      { 'kubernetes.io/metadata.name': 'shop' },
      [
        gateway(
          { namespace: 'mesh' },
          {
            listeners: [
              listener({ from: 'Selector', selector: { matchLabels: { 'kubernetes.io/metadata.name': 'shop' } } }),
            ],
          },
        ),
      ],
      { ...W, namespace: 'mesh' },
    ],
    ['that is for all', USE, {}, [gateway({ labels: { 'istio.io/waypoint-for': 'all' } })], W],
    ['of its own namespace, which need not say so', USE, {}, [gateway({}, { listeners: [] })], W],
    [
      'with the ServiceAccount that is given to it',
      USE,
      {},
      [gateway({ annotations: { 'gateway.istio.io/service-account': 'proxy' } })],
      { ...W, serviceAccount: 'proxy' },
    ],
  ])('%s', (_, labels, namespaceLabels, gateways, waypoint) => {
    expect(findWaypoint(service(labels), { labels: namespaceLabels }, gateways)).toEqual({ waypoint })
  })
})

describe('a pod has the waypoint', () => {
  const purposes = (purpose: string) => [gateway({ labels: { 'istio.io/waypoint-for': purpose } })]

  test.each<[string, Labels, Labels, string, object]>([
    ['that its own label names', USE, {}, 'workload', { waypoint: W }],
    ['that its namespace names', {}, USE, 'all', { waypoint: W }],
    [
      'not where that is for Services',
      USE,
      {},
      'service',
      { bypassed: 'the waypoint shop/w is for service, not for pods' },
    ],
    ['not where no label names one', {}, {}, 'all', {}],
  ])('%s', (_, labels, namespaceLabels, purpose, attached) => {
    expect(findWaypoint(service(labels), { labels: namespaceLabels }, purposes(purpose), 'workload')).toEqual(attached)
  })
})

describe('a waypoint selects namespaces by expressions', () => {
  test.each<[object, Labels, boolean]>([
    [{ operator: 'Exists' }, {}, false],
    [{ operator: 'Exists' }, { team: 'red' }, true],
    [{ operator: 'DoesNotExist' }, { team: 'red' }, false],
    [{ operator: 'DoesNotExist' }, {}, true],
    [{ operator: 'In', values: ['blue'] }, {}, false],
    [{ operator: 'In', values: ['blue'] }, { team: 'red' }, false],
    [{ operator: 'In', values: ['blue', 'red'] }, { team: 'red' }, true],
    [{ operator: 'NotIn', values: ['red'] }, { team: 'red' }, false],
    [{ operator: 'NotIn', values: ['red'] }, { team: 'blue' }, true],
    [{ operator: 'NotIn', values: ['red'] }, {}, true],
  ])('%j of %j', (expression, labels, isTaken) => {
    const selector = { matchLabels: {}, matchExpressions: [{ key: 'team', ...expression }] }
    const there = gateway({ namespace: 'mesh' }, { listeners: [listener({ from: 'Selector', selector })] })
    expect(findWaypoint(service(ELSEWHERE), { labels }, [there]).waypoint !== undefined).toBe(isTaken)
  })
})

describe('a Service has a canary', () => {
  const CANARY = { ...USE, 'istio.io/use-waypoint-canary': 'c' }
  const weight = (text: string) => ({ 'istio.io/use-waypoint-canary-weight': text })
  const there = [gateway(), gateway({ name: 'c' }), gateway({ name: 'c', namespace: 'mesh' })]
  const canaryOf = (own: Parents, home: Parents, gateways = there) => {
    const { canary } = findWaypoint({ metadata: { name: 'details', namespace: 'shop', ...own } }, home, gateways)
    return canary && `${canary.namespace}/${canary.name} ${canary.weight} %`
  }
  type Parents = { labels?: Labels; annotations?: Labels }

  test.each<[string, Parents, Parents, string | undefined]>([
    ['of the weight that it says', { labels: CANARY, annotations: weight('20') }, {}, 'shop/c 20 %'],
    [
      'of another namespace',
      { labels: { ...CANARY, 'istio.io/use-waypoint-canary-namespace': 'mesh' }, annotations: weight('100') },
      {},
      'mesh/c 100 %',
    ],
    ['by its namespace', {}, { labels: CANARY, annotations: weight('20') }, 'shop/c 20 %'],
    [
      'of a weight of its own',
      { annotations: weight('30') },
      { labels: CANARY, annotations: weight('20') },
      'shop/c 30 %',
    ],
    ['not where it names a waypoint itself', { labels: USE }, { labels: CANARY, annotations: weight('20') }, undefined],
    ['not without a weight', { labels: CANARY }, {}, undefined],
    ['not of a weight that is none', { labels: CANARY, annotations: weight('much') }, {}, undefined],
    ['not beyond all', { labels: CANARY, annotations: weight('101') }, {}, undefined],
    [
      'not where it is the waypoint itself',
      { labels: { ...CANARY, 'istio.io/use-waypoint-canary': 'w' }, annotations: weight('20') },
      {},
      undefined,
    ],
    [
      'not where it says none',
      { labels: { ...CANARY, 'istio.io/use-waypoint-canary': 'none' }, annotations: weight('20') },
      {},
      undefined,
    ],
  ])('%s', (_, own, home, canary) => {
    expect(canaryOf(own, home)).toBe(canary)
  })

  test('a Service has no canary where that takes no Services, or is not there', () => {
    const own = { labels: CANARY, annotations: weight('20') }
    const forPods = gateway({ name: 'c', labels: { 'istio.io/waypoint-for': 'workload' } })
    expect(canaryOf(own, {}, [gateway(), forPods])).toBe(undefined)
    expect(canaryOf(own, {}, [gateway()])).toBe(undefined)
  })
})
