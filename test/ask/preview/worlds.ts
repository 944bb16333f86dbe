import fc from 'fast-check'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { application } from '../../helpers/mesh.ts'

/** Two namespaces with two applications each, a waypoint, entrances and a job, which may have the names of applications, and the policies of an Istio: all that a change may be about. */
export type Spec = {
  readonly apps: readonly App[]
  readonly namespaces: Readonly<Record<'pa' | 'pb', Readonly<Record<string, string>>>>
  readonly policies: readonly Policy[]
  readonly peers: readonly KubernetesObject[]
  readonly waypoints: readonly KubernetesObject[]
  /** What has the name of an application, and is none. */
  readonly namesakes: readonly KubernetesObject[]
  readonly mesh: string
}

type App = {
  readonly namespace: 'pa' | 'pb'
  readonly name: string
  readonly isThere: boolean
  readonly account: string
  readonly labels: Readonly<Record<string, string>>
  readonly serviceLabels: Readonly<Record<string, string>>
  readonly ports: readonly object[]
  /** One of its two pods is not as its template says. */
  readonly odd?: Readonly<Record<string, string>> | undefined
}

type Policy = Pick<KubernetesObject, 'metadata' | 'spec'>

export const NAMES = [
  ['pa', 'shop'],
  ['pa', 'db'],
  ['pb', 'shop'],
  ['pb', 'pay'],
] as const

type Labels = Readonly<Record<string, string>>

const ON_MESH: Labels = { 'istio.io/dataplane-mode': 'ambient' }
const LED: Labels = { 'istio.io/use-waypoint': 'w' }

const some = <T>(...values: T[]) => fc.constantFrom(...values)
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

const ports = some<readonly object[]>(
  [{ port: 80 }],
  [{ port: 80, targetPort: 8080, appProtocol: 'http' }],
  [
    { port: 80, name: 'tcp-x' },
    { port: 81, targetPort: 8080 },
  ],
)

const app = ([namespace, name]: (typeof NAMES)[number]): fc.Arbitrary<App> =>
  fc.record({
    namespace: fc.constant(namespace),
    name: fc.constant(name),
    isThere: fc.integer({ min: 0, max: 9 }).map((one) => one > 0),
    account: some(name, name, name, 'default', 'shop'),
    labels: some<Labels>(ON_MESH, ON_MESH, ON_MESH, {}, { ...ON_MESH, ...LED }),
    serviceLabels: some<Labels>({}, LED, LED, { ...LED, 'istio.io/use-waypoint-namespace': 'pa' }),
    ports,
    odd: some<Labels | undefined>(
      undefined,
      undefined,
      undefined,
      undefined,
      { 'istio.io/dataplane-mode': 'none' },
      { role: 'odd' },
    ),
  })

const source = fc.oneof(
  some(
    { principals: ['cluster.local/ns/pa/sa/shop'] },
    { principals: ['cluster.local/ns/pb/sa/pay', 'cluster.local/ns/pb/sa/default'] },
    { principals: ['cluster.local/ns/pa/*'] },
    { principals: ['*/sa/shop'] },
    { principals: ['*'] },
    { notPrincipals: ['cluster.local/ns/pb/sa/shop'] },
    { namespaces: ['pa'] },
    { namespaces: ['p*'] },
    { notNamespaces: ['pb'] },
    { serviceAccounts: ['shop'] },
    { serviceAccounts: ['pb/pay'] },
    { ipBlocks: ['10.0.0.0/8'] },
    { notIpBlocks: ['10.1.0.0/16'] },
  ),
)
const operation = some(
  { ports: ['80'] },
  { ports: ['8080'] },
  { notPorts: ['80'] },
  { methods: ['GET'] },
  { notMethods: ['GET', 'HEAD'] },
  { paths: ['/a/*'] },
  { paths: ['/a/b', '*.html'] },
  { notPaths: ['/a/b*'] },
  { hosts: ['shop.example', '*.example'] },
  { methods: ['GET'], paths: ['/a/{*}/c'] },
  { paths: ['/a/{*}'] },
  { notPaths: ['{**}/c', '/{*}/x.html'] },
)
const condition = some(
  { key: 'source.namespace', values: ['pa'] },
  { key: 'source.principal', notValues: ['cluster.local/ns/pa/sa/db'] },
  { key: 'request.headers[:method]', values: ['POST'] },
  { key: 'request.headers[x-team]', values: ['a'] },
  { key: 'destination.port', values: ['8080'] },
)
const rule = fc.record(
  {
    from: fc.array(
      source.map((one) => ({ source: one })),
      { minLength: 1, maxLength: 2 },
    ),
    to: fc.array(
      operation.map((one) => ({ operation: one })),
      { minLength: 1, maxLength: 2 },
    ),
    when: fc.array(condition, { minLength: 1, maxLength: 1 }),
  },
  { requiredKeys: [] },
)

const service = (name: string) => ({ targetRefs: [{ group: '', kind: 'Service', name }] })
const gateway = (name: string) => ({ targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name }] })
const ALL_WAYPOINTS = {
  targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'GatewayClass', name: 'istio-waypoint' }],
}

const policy: fc.Arbitrary<Policy> = fc
  .record({
    namespace: some('pa', 'pb', 'pa', 'pb', 'istio-system', 'mesh-root'),
    name: some('one', 'two', 'three', 'four'),
    annotations: some(undefined, undefined, undefined, { 'istio.io/dry-run': 'true' }),
    action: some('ALLOW', 'ALLOW', 'ALLOW', 'DENY', 'DENY', 'CUSTOM'),
    target: fc.oneof(
      some<object>(
        {},
        ALL_WAYPOINTS,
        gateway('w'),
        gateway('entrance'),
        gateway('shop'),
        service('shop'),
        service('db'),
        service('pay'),
      ),
      some('shop', 'db', 'pay').map((name): object => ({
        selector: { matchLabels: { 'app.kubernetes.io/name': name } },
      })),
      some<object>({ selector: { matchLabels: { role: 'odd' } } }, { selector: { matchLabels: { job: 'pay' } } }),
    ),
    rules: fc.array(rule, { maxLength: 2 }),
  })
  .map(({ namespace, name, annotations, action, target, rules }) => ({
    metadata: { namespace, name, ...(annotations && { annotations }) },
    spec: { ...target, action, rules, ...(action === 'CUSTOM' && { provider: { name: 'x' } }) },
  }))

const peer = fc
  .record({
    namespace: some('pa', 'pb', 'istio-system', 'mesh-root'),
    selector: maybe(some('shop', 'db').map((name) => ({ matchLabels: { 'app.kubernetes.io/name': name } }))),
    mode: some('STRICT', 'PERMISSIVE', 'UNSET'),
    isOpenAt: maybe(some('8080')),
  })
  .map(({ namespace, selector, mode, isOpenAt }) => ({
    apiVersion: 'security.istio.io/v1',
    kind: 'PeerAuthentication',
    metadata: { name: 'peers', namespace },
    spec: {
      ...(selector && { selector }),
      mtls: { mode },
      ...(isOpenAt && selector && { portLevelMtls: { [isOpenAt]: { mode: 'DISABLE' } } }),
    },
  }))

const waypointIn = (namespace: string, purpose: string, isReady: boolean): KubernetesObject => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name: 'w', namespace, labels: { 'istio.io/waypoint-for': purpose } },
  spec: {
    gatewayClassName: 'istio-waypoint',
    listeners: [{ name: 'mesh', port: 15_008, protocol: 'HBONE', allowedRoutes: { namespaces: { from: 'All' } } }],
  },
  ...(isReady && { status: { addresses: [{ type: 'IPAddress', value: '10.9.9.9' }] } }),
})

const waypoints = fc
  .record({
    pa: some('service', 'service', 'all', 'workload', undefined),
    pb: some('service', 'service', 'all', undefined),
    isReady: some(true, true, true, false),
  })
  .map(({ pa, pb, isReady }) => [
    ...(pa ? [waypointIn('pa', pa, true)] : []),
    ...(pb ? [waypointIn('pb', pb, isReady)] : []),
  ])

const entrance = (name: string): KubernetesObject => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name, namespace: 'pa' },
  spec: { gatewayClassName: 'istio', listeners: [{ name: 'web', port: 80, protocol: 'HTTP' }] },
})

/** A pod of the job `pay`. */
const podOfJob = (given: Labels): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'pay-job',
    namespace: 'pb',
    labels: { job: 'pay', ...given },
    ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'pay', uid: 'pay-job', controller: true }],
  },
  spec: { serviceAccountName: 'job', containers: [{ name: 'c', image: 'x:1', ports: [{ containerPort: 8080 }] }] },
  status: { phase: 'Running' },
})

const namesakes = fc
  .tuple(
    some<KubernetesObject[]>([], [], [entrance('shop')]),
    some<KubernetesObject[]>([], [], [podOfJob(ON_MESH)], [podOfJob({ ...ON_MESH, role: 'odd' })], [podOfJob({})]),
  )
  .map((lists) => lists.flat())

const labels = some<Readonly<Record<string, string>>>({}, {}, ON_MESH, LED, { 'istio-injection': 'enabled' })

export const spec: fc.Arbitrary<Spec> = fc.record({
  apps: fc.tuple(...NAMES.map(app)),
  namespaces: fc.record({ pa: labels, pb: labels }),
  policies: fc.uniqueArray(policy, { maxLength: 5, selector: keyOf }),
  peers: fc.uniqueArray(peer, { maxLength: 2, selector: keyOf }),
  waypoints,
  namesakes,
  mesh: some('', '', 'rootNamespace: mesh-root', 'trustDomain: other.example\ntrustDomainAliases: [old.example]'),
})

function keyOf({ metadata }: Policy): string {
  return `${metadata.namespace}/${metadata.name}`
}

/** A world, and what becomes of it: a part of it, or a few, are those of another one. */
export const change: fc.Arbitrary<readonly [Spec, Spec]> = fc
  .tuple(
    spec,
    spec,
    fc.subarray<keyof Spec>(['apps', 'namespaces', 'policies', 'peers', 'waypoints', 'namesakes', 'mesh'], {
      minLength: 1,
      maxLength: 2,
    }),
    fc.nat({ max: 4 }),
  )
  .map(([before, other, keys, kept]) => [
    before,
    {
      ...before,
      ...Object.fromEntries(keys.map((key) => [key, other[key]])),
      // mostly of all policies but one stays as it is
      ...(keys.includes('policies') && {
        policies: distinct([
          ...before.policies.slice(0, kept),
          ...other.policies.slice(0, 1),
          ...before.policies.slice(kept + 1),
        ]),
      }),
    },
  ])

const distinct = (policies: readonly Policy[]): Policy[] => [
  ...new Map(policies.map((one) => [keyOf(one), one])).values(),
]

/** The objects of a world, as a cluster has them. */
export const objectsOf = ({
  apps,
  namespaces,
  policies,
  peers,
  waypoints: gateways,
  namesakes: others,
  mesh,
}: Spec): KubernetesObject[] => [
  ...Object.entries({ ...namespaces, 'istio-system': {}, 'mesh-root': {} }).map(([name, given]) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { ...given } },
  })),
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'istio', namespace: 'istio-system' }, data: { mesh } },
  ...apps.flatMap(objectsOfApp),
  ...policies.map((one) => ({ apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy', ...one })),
  ...peers,
  ...gateways,
  entrance('entrance'),
  ...others,
]

const objectsOfApp = (one: App): KubernetesObject[] => {
  if (!one.isThere) return []
  const { namespace, name, account, labels: given, serviceLabels, ports: own, odd } = one
  const kind = name === 'db' ? 'StatefulSet' : 'Deployment'
  const podSpec = {
    serviceAccountName: account,
    containers: [{ name: 'c', image: 'x:1', ports: [{ containerPort: 8080 }] }],
  }
  const [workload, exposed] = application(name, {
    kind,
    namespace,
    labels: { ...given },
    podSpec,
    serviceSpec: { ports: own },
  })
  if (!workload || !exposed) return []
  const uid = `${namespace}-${name}`
  const hash = 'abc'
  const pod = (index: number, more: Readonly<Record<string, string>>): KubernetesObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${name}-${index}`,
      namespace,
      labels: { 'app.kubernetes.io/name': name, 'pod-template-hash': hash, ...given, ...more },
      ownerReferences: [
        kind === 'StatefulSet'
          ? { apiVersion: 'apps/v1', kind, name, uid, controller: true }
          : { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${name}-${hash}`, uid: `${uid}-r`, controller: true },
      ],
    },
    spec: podSpec,
    status: { phase: 'Running' },
  })
  return [
    { ...workload, metadata: { ...workload.metadata, uid } },
    { ...exposed, metadata: { ...exposed.metadata, labels: { ...serviceLabels } } },
    pod(0, {}),
    ...(odd ? [pod(1, odd)] : []),
  ]
}
