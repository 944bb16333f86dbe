import { setImmediate as turn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Handled } from '../../../src/core/reconcile/outcome.ts'
import { startIstio } from '../../../src/embedded/demo/istio.ts'
import type { Event } from '../../../src/platform/cloudevents/cloud-event.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { policiesOf, remove, sourcesOf } from '../../helpers/beacon-world.ts'
import { application, ON_MESH } from '../../helpers/mesh.ts'
import { createWorld, event, NAMESPACE, type World } from '../../helpers/world.ts'

type Data = Record<string, unknown>

/** How one application's events reach another: the process takes them itself, or a broker delivers them once it was answered. */
export const DELIVERIES = ['own sink', 'broker'] as const
export type Delivery = (typeof DELIVERIES)[number]

export type Related = { id: number; requirer: string; provider: string; endpoint: string; interface: string }

/** `details` joins the mesh that `beacon` runs. */
export const MESH: Related = {
  id: 1,
  requirer: 'details',
  provider: 'beacon',
  endpoint: 'service-mesh',
  interface: 'service_mesh',
}

/** `productpage` uses `details`. */
export const USE: Related = {
  id: 2,
  requirer: 'productpage',
  provider: 'details',
  endpoint: 'details',
  interface: 'http',
}

export const BEACON_CONFIG = { mesh: {} }
export const DETAILS_CONFIG = { policies: [{ type: 'app', relation: 'details', endpoints: [{ ports: [9080] }] }] }
export const CONFIGS: Readonly<Record<string, Data>> = { beacon: BEACON_CONFIG, details: DETAILS_CONFIG }

/** `details` and `productpage`, off the mesh, in a namespace where Istio runs. */
export const createPair = (delivery: Delivery = 'broker', others: readonly string[] = []): World => {
  const names = ['details', 'productpage', ...others]
  const objects = names.flatMap((name) => application(name, { labels: {} }))
  const world = createWorld(objects, { isOwnSink: delivery === 'own sink' })
  startIstio(world)
  world.clock.advance(60 * 60 * 1_000) // events of the hour before are in the past
  return world
}

/** Another process of the functions on the same cluster. */
export const joinProcess = (world: World): World => {
  const other = createWorld([])
  other.intercept = (request) => world.api.handle(request)
  return other
}

let count = 0

/** A platform's event with an id of its own. */
export const word = (name: string, data: Data, attributes: Partial<Event> = {}): Event => {
  count += 1
  return event(name, data, { id: `word-${count}`, source: '/platform', ...attributes })
}

/** The `time` of an event that is sent now, later than all that were sent before. */
export const now = (world: World): Partial<Event> => {
  world.clock.advance(1_000)
  return { time: new Date(world.clock.now()).toISOString() }
}

/** Sends a platform's event, and waits until nothing follows from it any more. */
export const say = async (
  world: World,
  name: string,
  data: Data,
  attributes: Partial<Event> = {},
): Promise<Handled> => {
  const { id, source } = word(name, data)
  const handled = await world.send(name, data, { id, source, ...attributes })
  await calm(world)
  return handled
}

export const configure = (world: World, name: string, config: Data, attributes: Partial<Event> = {}) =>
  say(world, 'config-changed', { application: name, config }, attributes)

export const resync = (world: World, name: string | undefined) => say(world, 'resync', { application: name })

/** The data of relation-changed, as a platform tells it to one side. */
export const toldTo = (name: string, { requirer, provider, ...relation }: Related): Data => {
  const [role, remote] = name === requirer ? ['requires', provider] : ['provides', requirer]
  return { application: name, relation: { ...relation, role }, remote: { application: remote, data: {} } }
}

export const tellRelation = (world: World, name: string, relation: Related, attributes: Partial<Event> = {}) =>
  say(world, 'relation-changed', toldTo(name, relation), attributes)

/** The end of a relation is told by its id, and by its interface where `named`. */
export const endRelation = (
  world: World,
  name: string,
  { id, interface: of }: Related,
  { isNamed = false, ...attributes }: Partial<Event> & { isNamed?: boolean } = {},
) =>
  say(world, 'relation-broken', { application: name, relation: { id, ...(isNamed && { interface: of }) } }, attributes)

/** Both configs and both relations; the one of the mesh is told to `sides`, the other to details. */
export const startPair = async (world: World, sides: readonly string[] = ['details']): Promise<World> => {
  for (const [name, config] of Object.entries(CONFIGS)) await configure(world, name, config)
  await tellRelation(world, 'details', USE)
  for (const side of sides) await tellRelation(world, side, MESH)
  return world
}

const made = new Map<string, Promise<World>>()

/** A copy of the cluster of a world that is made once for each name of it, with a process of its own. */
export const createCopy = async (name: string, delivery: Delivery, make: () => Promise<World>): Promise<World> => {
  const making = made.get(name) ?? make()
  made.set(name, making)
  const { api, clock } = await making
  const world = createWorld([], { isOwnSink: delivery === 'own sink', base: api })
  startIstio(world)
  world.clock.advance(clock.now() - world.clock.now())
  return world
}

/** A started pair. */
export const createStarted = (
  delivery: Delivery = 'broker',
  { others = [], sides }: { others?: readonly string[]; sides?: readonly string[] } = {},
): Promise<World> =>
  createCopy(JSON.stringify(['started', delivery, others, sides]), delivery, () =>
    startPair(createPair(delivery, others), sides),
  )

const MOST_EVENTS = 60

/** Delivers what is published, as a broker does, until nothing follows any more; answers how many events that were. */
export const calm = async (world: World): Promise<number> => {
  let delivered = 0
  for (let idle = 0; idle < 4; idle += 1) {
    const { length } = world.calls
    await turn()
    for (const published of world.published.splice(0)) {
      await postUntilTaken(world, published)
      delivered += 1
    }
    if (world.calls.length !== length) idle = 0
    if (delivered > MOST_EVENTS) throw new Error(`more than ${MOST_EVENTS} events follow from one`)
  }
  return delivered
}

/** A broker sends again what was answered 5xx. */
const postUntilTaken = async (world: World, published: Event): Promise<void> => {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const { status } = await world.post(published)
    if (status < 500) return
  }
}

const document = (kind: 'config' | 'relation', name: string, data: Record<string, string>): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: NAMESPACE, labels: { 'meshstep.dev/kind': kind } },
  data,
})

export const configDocument = (name: string, config: Data = CONFIGS[name] ?? {}): KubernetesObject =>
  document('config', `${name}-config`, { application: name, config: JSON.stringify(config) })

export const relationDocument = (name: string, related: Related): KubernetesObject => {
  const { relation, remote } = toldTo(name, related)
  return document('relation', `relation-${related.id}`, {
    application: name,
    relation: JSON.stringify(relation),
    remote: JSON.stringify(remote),
  })
}

const documentEvent = (world: World, verb: 'add' | 'delete', object: KubernetesObject): Event => {
  world.clock.advance(1)
  count += 1
  return {
    id: `document-${count}`,
    source: 'https://10.96.0.1:443',
    type: `dev.knative.apiserver.resource.${verb}`,
    subject: `/apis/v1/namespaces/${NAMESPACE}/configmaps/${object.metadata.name}`,
    time: new Date(world.clock.now()).toISOString(),
    datacontenttype: 'application/json',
    extensions: { apiversion: 'v1', kind: 'ConfigMap', name: object.metadata.name, namespace: NAMESPACE },
    data: object,
  }
}

/** `kubectl apply` of a document that is new; answers with what its source would send. */
export const applyDocument = (world: World, object: KubernetesObject): Event => {
  world.api.seed([object], { manager: 'kubectl' })
  const stored = world.object('ConfigMap', object.metadata.name)
  if (stored === undefined) throw new Error(`${object.metadata.name} was not stored`)
  return documentEvent(world, 'add', stored)
}

/** `kubectl delete` of a document; answers with what its source would send. */
export const deleteDocument = (world: World, { metadata: { name } }: KubernetesObject): Event => {
  const stored = world.object('ConfigMap', name)
  if (stored === undefined) throw new Error(`${name} does not exist`)
  remove(world, `/api/v1/namespaces/${NAMESPACE}/configmaps/${name}`)
  return documentEvent(world, 'delete', stored)
}

/** Delivers events of a source one after another, each with all that follows from it. */
export const deliver = async (world: World, events: readonly Event[]): Promise<void> => {
  for (const one of events) {
    await postUntilTaken(world, one)
    await calm(world)
  }
}

const memoryPath = (name: string) => `/api/v1/namespaces/${NAMESPACE}/configmaps/juju-service-mesh-${name}-labels`

export const isMemoryOf = (name: string, path: string): boolean => path.split('?')[0] === memoryPath(name)

export const loseMemory = (world: World, name: string): void => remove(world, memoryPath(name))

/** Somebody writes something into the memory that cannot be read. */
export const spoilMemory = (world: World, name: string): void => {
  const { status, body } = world.api.handle({
    method: 'PATCH',
    path: `${memoryPath(name)}?fieldManager=somebody`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: '{"data":{"state":"{"}}',
  })
  if (status !== 200) throw new Error(body)
}

/** Who may reach a Service or an application's pods, each as `namespace/account`. */
export const principalsAt = (world: World, target: string): string[] => [
  ...new Set(sourcesOf(policiesOf(world, target))),
]

/** Whether both the pods and the Service hold all labels of the beacon's mesh. */
export const isOnMesh = (world: World, name: string): boolean =>
  Object.values(world.labels(name)).every((labels) =>
    Object.entries(ON_MESH).every(([key, value]) => labels[key] === value),
  )

/** Whether neither the pods nor the Service hold any label of a mesh. */
export const isOffMesh = (world: World, name: string): boolean =>
  Object.values(world.labels(name)).every((labels) => Object.keys(labels).every((key) => !key.startsWith('istio.io/')))

/** Whether new pods are taken into the mesh. */
export const isCaptured = (world: World, name: string): boolean =>
  world.labels(name).template['istio.io/dataplane-mode'] === 'ambient'

/** Who is on the mesh and who is let in, as the cluster has it. */
export const effects = (world: World, name = 'details') => ({
  mesh: isOnMesh(world, name) ? 'on' : isOffMesh(world, name) ? 'off' : 'half',
  principals: principalsAt(world, name),
})

export const WORKING = { mesh: 'on', principals: ['shop/productpage'] }
export const OFF = { mesh: 'off', principals: [] }

/** What `look` answers now and after each write that changes it. */
export const atEveryWrite = <T>(world: World, look: () => T): T[] => {
  const seen = [look()]
  world.api.subscribe(() => {
    const now = look()
    if (!isDeepStrictEqual(now, seen.at(-1))) seen.push(now)
  })
  return seen
}
