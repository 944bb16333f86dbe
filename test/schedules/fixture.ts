import type { KubernetesObject } from './process.ts'

export const NAMESPACE = 'shop'

/** The namespace of `orders`. */
const OTHER_NAMESPACE = 'front'

export const NAMESPACES = [NAMESPACE, OTHER_NAMESPACE] as const

export const namespaceOf = (application: string): string =>
  ['orders', ALIAS.of].includes(application) ? OTHER_NAMESPACE : NAMESPACE

/** A name under which details knows an application of another model; nobody is told of a relation under it but details. */
export const ALIAS = { name: 'remote-cart', of: 'cart' } as const

/** The applications that race, and what they are configured to be. `mesh` stands for details, productpage and reviews; `chain` for a cluster. */
export type Variant = 'mesh' | 'chain'

/** One side of a relation. */
type End = { application: string; endpoint: string }

export type Relation = {
  id: number
  interface: string
  provider: End
  requirer: End
  /** What the platform says that the requirer said. */
  data?: Record<string, unknown>
  /** By events the platform tells both sides, and each of them its own endpoint alone. */
  isTerse?: true
}

/** A consumer's relation with a beacon. */
export const meshRelation = (id: number, consumer: string, beacon = 'beacon'): Relation => ({
  id,
  interface: 'service_mesh',
  provider: { application: beacon, endpoint: 'service-mesh' },
  requirer: { application: consumer, endpoint: 'service-mesh' },
})

/** A relation in which `client` uses details. */
export const clientRelation = (id: number, client: string): Relation => ({
  id,
  interface: 'http',
  provider: { application: 'details', endpoint: 'details' },
  requirer: { application: client, endpoint: 'details' },
})

/** The relation by which a client of another model says who it is: an alias by the platform's word, whoever has a memory by its own. */
export const namingRelation = (id: number, client: string): Relation => ({
  id,
  interface: 'cross_model_mesh',
  provider: { application: 'details', endpoint: 'provide-cmr-mesh' },
  requirer: { application: client, endpoint: 'require-cmr-mesh' },
  ...(client === ALIAS.name && {
    data: { cmr_data: JSON.stringify({ app_name: ALIAS.of, juju_model_name: OTHER_NAMESPACE }) },
  }),
})

/** The relation of a coordinator with a worker. */
export const clusterRelation = (id: number, worker = 'querier', coordinator = 'tempo'): Relation => ({
  id,
  interface: 'cluster',
  provider: { application: coordinator, endpoint: 'cluster' },
  requirer: { application: worker, endpoint: 'cluster' },
})

/** The relation with another name of its endpoint at the requirer, or at a beacon; a policy names that of details. */
export const apart = (relation: Relation): Relation => {
  const { interface: name, provider, requirer } = relation
  return name === 'service_mesh'
    ? { ...relation, provider: { ...provider, endpoint: 'mesh' } }
    : { ...relation, requirer: { ...requirer, endpoint: 'backend' } }
}

/** The relation with endpoints of two names, of which each side is told its own. */
export const terse = (relation: Relation): Relation => ({ ...apart(relation), isTerse: true })

/** The sides that are told of a relation: an alias is nobody. */
export const sidesOf = ({ provider, requirer }: Relation): string[] =>
  [provider.application, requirer.application].filter((side) => side !== ALIAS.name)

export const otherSide = ({ provider, requirer }: Relation, side: string): string =>
  provider.application === side ? requirer.application : provider.application

/** The data of a relation-changed event as `side` is told of it. */
export const relationData = (
  { id, interface: name, provider, requirer, data = {}, isTerse }: Relation,
  side: string,
  isByEvent: boolean,
) => {
  const isProvider = provider.application === side
  const [own, other] = isProvider ? [provider, requirer] : [requirer, provider]
  return {
    relation: { id, endpoint: own.endpoint, interface: name, role: isProvider ? 'provides' : 'requires' },
    remote: {
      application: other.application,
      ...namespaceUnlessSame(other.application, own.application),
      // a platform that tells one side alone says by what name the other one knows it
      ...(own.endpoint !== other.endpoint && !(isTerse && isByEvent) && { endpoint: other.endpoint }),
      data: isProvider ? data : {},
    },
  }
}

/** The namespace of a remote side, where it is another one; that of an alias is not known. */
export const namespaceUnlessSame = (remote: string, own: string) =>
  remote !== ALIAS.name && namespaceOf(remote) !== namespaceOf(own) ? { namespace: namespaceOf(remote) } : {}

const COORDINATOR = {
  coordinator: {
    roles: ['querier', 'ingester'],
    minimalDeployment: ['querier'],
    telemetryProxy: { httpPort: 3300, httpsPort: 3301 },
    workerConfig: 'target: all\n',
  },
}

/** Those that lead a cluster; the second one in some histories. */
export const COORDINATORS = ['tempo', 'mimir'] as const

/** The config that each application has whenever it has one. */
export const CONFIGS: Readonly<Record<string, Record<string, unknown>>> = {
  // without looks for a workload that is not there
  beacon: { mesh: {}, workload: null, service: null },
  lantern: { mesh: {}, workload: null, service: null },
  details: { policies: [{ type: 'app', relation: 'details', endpoints: [{ ports: [9080], methods: ['GET'] }] }] },
  tempo: COORDINATOR,
  mimir: COORDINATOR,
  querier: { worker: { roles: ['querier'] } },
  ingester: { worker: { roles: ['ingester'] } },
}

/** A worker has two units. */
const UNITS: Readonly<Record<string, number>> = { querier: 2 }

/** Without pods, which would cost time, or with those that keep their template until somebody deletes them. */
const application = (name: string, isRolling: boolean): KubernetesObject[] => {
  const labels = { 'app.kubernetes.io/name': name }
  const metadata = { name, namespace: NAMESPACE, labels }
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata,
      spec: {
        replicas: isRolling ? (UNITS[name] ?? 1) : 0,
        ...(isRolling && { updateStrategy: { type: 'OnDelete' } }),
        serviceName: name,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'x:1' }] } },
      },
    },
    ...servicesOf(name).map((service) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { ...metadata, name: service },
      spec: { selector: labels, ports: [{ port: 9080 }] },
    })),
  ]
}

/** Details has another Service, which its policies may name. */
const servicesOf = (name: string): readonly string[] => (name === 'details' ? [name, OTHER_SERVICE] : [name])

export const OTHER_SERVICE = 'details-rw'

const WORKLOADS = { mesh: ['details', 'productpage'], chain: ['tempo', 'querier', 'mimir', 'ingester'] } as const

export const workloadsOf = (variant: Variant): readonly string[] => WORKLOADS[variant]

/** Those that may run a mesh; the second one in some histories. */
export const BEACONS = ['beacon', 'lantern'] as const

/** What Istio runs for a beacon's Gateway, always ready. */
const waypointOf = (beacon: string): KubernetesObject => {
  const [name, labels] = [`${NAMESPACE}-${beacon}-waypoint`, { app: 'waypoint' }]
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'x:1' }] } }
  const spec = { replicas: 1, selector: { matchLabels: labels }, template }
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace: NAMESPACE }, spec }
}

export const objectsOf = (variant: Variant, isRolling = false): KubernetesObject[] => [
  // Istio's, where a mesh is hardened
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'istio-system' } },
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: OTHER_NAMESPACE } },
  ...BEACONS.map(waypointOf),
  ...workloadsOf(variant).flatMap((name) => application(name, isRolling)),
]

export const memoryName = (application: string): string => `juju-service-mesh-${application}-labels`

export const memoryPath = (application: string): string =>
  `/api/v1/namespaces/${namespaceOf(application)}/configmaps/${memoryName(application)}`
