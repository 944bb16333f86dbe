import { linesOf } from '../features/coordinated-workers/nginx/nginx-file.ts'
import type { Entry } from './relations.ts'
import { createWorld, NAMESPACE, service, type World, workload } from './world.ts'

export const COORDINATOR = 'tempo'
export const WORKERS = ['querier', 'ingester', 'compactor'] as const
export const PART_OF = { 'app.kubernetes.io/part-of': COORDINATOR }
export const ON_MESH = {
  'istio.io/dataplane-mode': 'ambient',
  'istio.io/use-waypoint': `${NAMESPACE}-beacon-waypoint`,
  'istio.io/use-waypoint-namespace': NAMESPACE,
}

export const COORDINATOR_CONFIG = {
  roles: [...WORKERS],
  minimalDeployment: [...WORKERS],
  telemetryProxy: { httpPort: 3300, httpsPort: 3301 },
  workerConfig: 'target: all\n',
}

type Data = Record<string, unknown>

/** A relation of the cluster, as one of its sides is told of it. */
export const clusterRelation = (role: 'provides' | 'requires', remote: string, id: number, data: Data = {}) => ({
  relation: { id, endpoint: 'cluster', interface: 'cluster', role },
  remote: { application: remote, data },
})

/** A relation with `remote` of another interface. */
export const relationTo = (
  remote: string,
  id: number,
  endpoint: string,
  { role = 'requires', ...told }: { role?: string; data?: Data; units?: Record<string, Data>; namespace?: string } = {},
) => ({
  relation: { id, endpoint, interface: endpoint, role },
  remote: { application: remote, data: {}, ...told },
})

export const meshOf = (id = 99) => ({
  relation: { id, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' },
  remote: { application: 'beacon', data: {} },
})

/** Which of the two sides of a relation is told of it; the other reads that. */
export type Side = 'coordinator' | 'worker' | 'both'

export const relate = async (world: World, worker: string, id: number, side: Side = 'worker') => {
  if (side !== 'coordinator')
    await world.send('relation-changed', {
      application: worker,
      ...clusterRelation('requires', COORDINATOR, id),
    })
  if (side !== 'worker')
    await world.send('relation-changed', {
      application: COORDINATOR,
      ...clusterRelation('provides', worker, id),
    })
}

const application = (name: string) => [workload('StatefulSet', name), service(name)]

/** A coordinator, workers that are not related to it yet, and a beacon, in a process that is its own sink. */
export const createCluster = async ({
  config = {},
  workers = WORKERS,
}: {
  config?: Data
  workers?: readonly string[]
} = {}): Promise<World> => {
  const world = createWorld([COORDINATOR, ...workers].flatMap(application), { isOwnSink: true })
  await world.send('config-changed', { application: 'beacon', config: { mesh: {} } })
  await configure(world, config)
  for (const name of workers)
    await world.send('config-changed', { application: name, config: { worker: { roles: [name] } } })
  return world
}

/** Gives the coordinator its config, but for `changes`. */
export const configure = (world: World, changes: Data = {}) =>
  world.send('config-changed', {
    application: COORDINATOR,
    config: { coordinator: { ...COORDINATOR_CONFIG, ...changes } },
  })

/** The same with all workers related. */
export const startedCluster = async (config: Data = {}): Promise<World> => {
  const world = await createCluster({ config })
  for (const [index, name] of WORKERS.entries()) await relate(world, name, index + 1)
  return world
}

/** Scales a StatefulSet, of which nobody is told. */
export const scale = (world: World, name: string, replicas: number) =>
  world.api.handle({
    method: 'PATCH',
    path: `/apis/apps/v1/namespaces/${NAMESPACE}/statefulsets/${name}?fieldManager=somebody`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify({ spec: { replicas } }),
  })

type Said = { data: Data; units?: Record<string, Data> }

/** The relation with `remote` that stands, as `application` has it. */
export const relationOf = (world: World, application: string, remote: string): Entry | undefined =>
  Object.values((world.memory(application)?.state.relations ?? {}) as Record<string, Entry>).find(
    (relation) => relation.status === 'established' && relation.remote.application === remote,
  )

/** What `application` says in its relation with `remote`. */
export const saidBy = (world: World, application: string, remote: string): Said | undefined => {
  const { published = {} } = (world.memory(application)?.state ?? {}) as { published?: Record<string, Said> }
  return published[relationOf(world, application, remote)?.published?.digest ?? '']
}

/** The flat keys of what `application` says in its relation with `remote`, each value out of its JSON. */
export const toldBy = (world: World, application: string, remote: string): Data =>
  Object.fromEntries(
    Object.entries(saidBy(world, application, remote)?.data ?? {})
      .filter(([key]) => key !== 'data' && !key.startsWith('_'))
      .map(([key, value]) => [key, JSON.parse(String(value))]),
  )

/** The policies that somebody asked for: those of the cluster, or of the coordinator's relation with its beacon. */
export const policies = (world: World, requester: 'cluster' | 'relation' = 'cluster') =>
  world.api
    .objects()
    .filter(
      ({ kind, metadata }) =>
        kind === 'AuthorizationPolicy' && metadata.annotations?.['meshstep.dev/requested-by']?.startsWith(requester),
    )

/** Who may reach something by a policy of the coordinator, by the names of their identities. */
export const granted = (world: World): string[] =>
  [
    ...new Set(
      policies(world).flatMap(({ spec }) =>
        [...JSON.stringify(spec).matchAll(/\/sa\/([-a-z0-9]+)/g)].map(([, name = '']) => name),
      ),
    ),
  ].toSorted()

export const nginxFile = (world: World): string | undefined =>
  world.object('ConfigMap', `${COORDINATOR}-nginx`)?.data?.['nginx.conf']

/** The places of the nginx file, each as `= /path`. */
export const locations = (world: World): string[] =>
  linesOf(nginxFile(world) ?? '')
    .filter((line) => line.startsWith('location '))
    .map((line) => line.slice('location '.length))

/** All that can be seen from outside: labels, policies, the nginx file, and what each application was told. */
export const seen = (world: World) => ({
  labels: Object.fromEntries([COORDINATOR, ...WORKERS].map((name) => [name, world.labels(name)])),
  policies: policies(world).map(({ metadata: { name, annotations }, spec }) => ({ name, annotations, spec })),
  nginx: nginxFile(world),
  told: Object.fromEntries(WORKERS.map((name) => [name, toldBy(world, COORDINATOR, name)])),
})
