import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { APPLICATION, createWorld, isWrite, NAMESPACE, type World } from './world.ts'

export type View = {
  status: { status: string; message: string }
  leader?: { unit: string; epoch?: number }
  settings: Record<string, string>
  units: { unit: string; pod: string; uid: string }[]
  labels: Record<string, string>
  services: { relation: number; host: string; port: number; application: string }[]
}

export const podSpec = (image = 'web:1', container: Record<string, unknown> = {}) => ({
  containers: [{ name: 'web', image, ports: [{ containerPort: 80, name: 'http' }], ...container }],
})

/** A config whose workload is the application's own. */
export const deployed = (workload: Record<string, unknown> = {}, config: Record<string, unknown> = {}) => ({
  config: { workload: { podSpec: podSpec(), ...workload }, ...config },
})

export const STATEFUL = { deployment: { type: 'stateful' } }

/** The functions on a cluster where the namespace is empty. */
export const createEmptyWorld = (options: { isOwnSink?: boolean } = {}): World =>
  createWorld([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }], options)

/** What `GET /applications/{namespace}/{application}` answers. */
export const view = async (world: World, application = APPLICATION): Promise<View> =>
  (await (await world.app.request(`/applications/${NAMESPACE}/${application}`)).json()) as View

export const unitsOf = async (world: World, application = APPLICATION): Promise<string[]> =>
  (await view(world, application)).units.map(({ unit }) => unit)

export const pods = (world: World): KubernetesObject[] =>
  world.api.objects().filter(({ kind, metadata }) => kind === 'Pod' && metadata.namespace === NAMESPACE)

/** The pod as an event tells of it. */
export const podOf = ({ metadata }: KubernetesObject) => ({
  name: metadata.name,
  uid: metadata.uid ?? '',
  created: String(metadata.creationTimestamp),
})

const PATHS: Readonly<Record<string, string>> = {
  ConfigMap: '/api/v1',
  Pod: '/api/v1',
  Secret: '/api/v1',
  Service: '/api/v1',
  Deployment: '/apis/apps/v1',
  StatefulSet: '/apis/apps/v1',
}

const pathOf = (kind: string, name: string): string =>
  `${PATHS[kind]}/namespaces/${NAMESPACE}/${kind.toLowerCase()}s/${name}`

/** Deletes as somebody else: a pod's workload makes a new one at once. */
export const remove = (world: World, kind: string, name: string) =>
  world.api.handle({ method: 'DELETE', path: pathOf(kind, name), headers: {} })

/** Changes an object as somebody else would, by a merge patch. */
export const patch = (world: World, kind: string, change: Record<string, unknown>, name = APPLICATION) =>
  world.api.handle({
    method: 'PATCH',
    path: `${pathOf(kind, name)}?fieldManager=somebody`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify(change),
  })

export const scale = (world: World, replicas: number, kind = 'Deployment') => patch(world, kind, { spec: { replicas } })

export const forget = (world: World, application = APPLICATION) =>
  remove(world, 'ConfigMap', `juju-service-mesh-${application}-labels`)

/** The calls of `action` that write. */
export const writesOf = async (world: World, action: () => Promise<unknown>): Promise<string[]> => {
  world.calls.length = 0
  await action()
  return world.calls.filter(isWrite)
}

/** `{kind} {name}` of all that is deployed. */
export const deployedObjects = (world: World): string[] =>
  world.api
    .objects()
    .filter(({ kind, metadata }) => metadata.namespace === NAMESPACE && DEPLOYED.includes(kind))
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    .toSorted()

const DEPLOYED = ['Deployment', 'Service', 'ServiceAccount', 'StatefulSet']

export const templateOf = (world: World, name = APPLICATION) =>
  (world.object('StatefulSet', name) ?? world.object('Deployment', name))?.spec?.template as
    | { metadata: { labels: Record<string, string> }; spec: { containers: { image: string }[] } }
    | undefined

export const imageOf = (world: World, name = APPLICATION): string | undefined =>
  templateOf(world, name)?.spec.containers[0]?.image
