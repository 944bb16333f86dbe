import pMap from 'p-map'
import { type Memories, memoryName } from '../../../core/state/memory.ts'
import type { MeshConfig } from '../../../mesh/istio/beacon-config.ts'
import { istiodHomes, meshConfigLookups } from '../../../mesh/istio/mesh-config.ts'
import { ownValue } from '../../../platform/base/own-value.ts'
import { type Subject, subjectName, subjectNamed } from '../../../platform/base/subject.ts'
import { ifPermitted, isForbidden, isNotFound } from '../../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../../platform/kubernetes/client.ts'
import {
  findLookup,
  isUnreadable,
  type Lookups,
  lookupsOf,
  observeLookups,
} from '../../../platform/kubernetes/lookups.ts'
import { type Kind, type KubernetesObject, nameOf } from '../../../platform/kubernetes/objects.ts'
import { APPLICATION_LABEL, MEMORY_SELECTOR } from '../../../platform/kubernetes/ownership-labels.ts'
import { findBeacon } from '../../authorization/memories.ts'
import { needsClass } from '../../authorization/observe.ts'
import { decidingFields } from './deciding-fields.ts'
import { UNSEEN } from './nameless-clients.ts'

/** The part of a memory that results depend on: its mesh config, and its beacon, whose memory may have one. */
export type Said = { readonly mesh?: MeshConfig | undefined; readonly beacon?: Subject | undefined }

/** All readable objects that decide requests. */
export type Cluster = {
  readonly objects: readonly KubernetesObject[]
  /** The relevant parts of memories, by `namespace/application`. */
  readonly said: ReadonlyMap<string, Said>
  /** Kinds that the API server does not serve. */
  readonly absent: ReadonlySet<Kind>
  /**
   * Names of objects that may not be read, such as `Service pz`, by namespace. The key '' has those of all namespaces or of none, and UNSEEN those of
   * unknown namespaces.
   */
  readonly unread: ReadonlyMap<string, readonly string[]>
}

type ReadMemories = Pick<Memories, 'read'>

/** The kinds in namespaces. The first of them is listed first: an account that may not list it in a namespace may probably list none. */
const OF_NAMESPACES = ['Service', 'StatefulSet', 'Deployment', 'Pod'] as const
/** Kinds without which nothing can be compared. */
export const OF_THE_MESH = ['AuthorizationPolicy', 'PeerAuthentication', 'Gateway'] as const

/** The kinds that results depend on. */
export const DECIDING: readonly Kind[] = ['Namespace', ...OF_NAMESPACES, ...OF_THE_MESH, 'GatewayClass', 'ServiceEntry']

/**
 * Reads all objects that decide requests, in all namespaces. If the functions' account may not list a kind everywhere, it is listed in the known
 * namespaces: `near`, and those of policies. Unreadable objects are named.
 */
export const readDecidingObjects = async (
  memories: ReadMemories,
  kubernetes: Kubernetes,
  { near }: { readonly near: ReadonlySet<string> },
): Promise<Cluster> => {
  const objects: KubernetesObject[] = []
  const absent = new Set<Kind>()
  const unread = new Map<string, string[]>()

  /** Lists a kind, and tells if that was permitted. */
  const list = async (kind: Kind, namespace: string | undefined): Promise<boolean> => {
    try {
      await kubernetes.pages(kind, namespace, undefined, (page) => {
        for (const object of page) objects.push(decidingFields({ ...object, kind }))
      })
      return true
    } catch (error) {
      if (isForbidden(error)) return false
      if (!isNotFound(error)) throw error
      absent.add(kind)
      return true
    }
  }
  const miss = (namespace: string, what: string) => unread.set(namespace, [...(unread.get(namespace) ?? []), what])

  const isListed = await Promise.all([
    ...[...OF_THE_MESH, 'ServiceEntry' as const].map(async (kind) => (await list(kind, undefined)) || miss('', kind)),
    list('Namespace', undefined),
  ])
  const everywhere = await Promise.all(OF_NAMESPACES.map(async (kind) => await list(kind, undefined)))
  const homes = new Set([...near, ...objects.flatMap(({ metadata }) => metadata.namespace ?? [])])
  const isNamed = isListed.at(-1) === true
  const names = isNamed ? new Set(objects.flatMap((one) => (one.kind === 'Namespace' ? one.metadata.name : []))) : homes
  if (!isNamed)
    await each(homes, async (name) => {
      const reference = { kind: 'Namespace', name } as const
      const found = await ifPermitted(kubernetes.find(reference).then((object) => [object ?? []].flat()))
      if (found) objects.push(...found.map(decidingFields))
      else miss(name, nameOf(reference))
    })
  const [first, ...others] = OF_NAMESPACES.filter((_, index) => !everywhere[index])
  if (first && !isNamed) for (const kind of ['Namespace', first]) miss(UNSEEN, kind)
  if (first)
    await each(names, async (namespace) => {
      if (!(await list(first, namespace))) return miss(namespace, nameOf({ kind: first, namespace }))
      await Promise.all(
        others.map(async (kind) => (await list(kind, namespace)) || miss(namespace, nameOf({ kind, namespace }))),
      )
    })
  if (objects.some((one) => one.kind === 'Gateway' && needsClass(one)) && !(await list('GatewayClass', undefined)))
    miss('', 'GatewayClass')
  const said = await readSaid(memories, kubernetes, names)
  const { found, refused } = await readMeshConfigs(kubernetes, { objects, said, names })
  for (const name of refused) miss('', name)
  objects.push(...found)
  return { objects, said, absent, unread }
}

/** Reads what leads to the config of the istiods of all namespaces, and of the waypoints that choose another one. */
const readMeshConfigs = async (
  kubernetes: Kubernetes,
  { objects, said, names }: Pick<Cluster, 'objects' | 'said'> & { readonly names: ReadonlySet<string> },
): Promise<{ readonly found: readonly KubernetesObject[]; readonly refused: readonly string[] }> => {
  const roots = [...said.values()].flatMap(({ mesh }) => mesh?.rootNamespace ?? [])
  const homes = [...new Set([...istiodHomes(undefined), ...roots])]
  const gateways = objects.flatMap(({ kind, metadata }) =>
    kind === 'Gateway' ? { namespace: metadata.namespace ?? '', gateway: metadata.name } : [],
  )
  const members = [...[...names].map((namespace) => ({ namespace })), ...gateways]
  const known = objects.filter(({ kind }) => kind === 'Namespace' || kind === 'Gateway')
  const list = (seen: Lookups) => members.flatMap((member) => meshConfigLookups(member, homes, seen))
  const lookups = await observeLookups(kubernetes, list, lookupsOf(known))
  const ofIstiods = [...lookups.keys()].filter((name) => /^(ConfigMap|MutatingWebhookConfiguration) /.test(name))
  return {
    found: ofIstiods.flatMap((name) => findLookup(lookups, name) ?? []).map(decidingFields),
    refused: ofIstiods.filter((name) => isUnreadable(lookups, name)),
  }
}

/** Reads side by side, a few at a time. */
const each = <T>(all: Iterable<T>, read: (one: T) => Promise<unknown>): Promise<unknown> =>
  pMap(all, read, { concurrency: 8 })

/** Reads the relevant parts of memories. Memories may be long, so the rest of each page is dropped at once. */
const readSaid = async (memories: ReadMemories, kubernetes: Kubernetes, names: Iterable<string>) => {
  const said = new Map<string, Said>()
  const add = (object: KubernetesObject) => {
    for (const [subject, one] of saidIn(memories, kubernetes, { ...object, kind: 'ConfigMap' })) said.set(subject, one)
  }
  const list = (namespace?: string) =>
    kubernetes.pages('ConfigMap', namespace, MEMORY_SELECTOR, async (page) => {
      for (const object of page) {
        await kubernetes.yieldTurn()
        add(object)
      }
    })
  if ((await ifPermitted(list())) !== undefined) return said
  await each(names, (namespace) => ifPermitted(list(namespace)))
  const beacons = [...said.values()].flatMap(({ beacon }) => (beacon && !said.has(subjectName(beacon)) ? [beacon] : []))
  await each(new Map(beacons.map((one) => [subjectName(one), one])).values(), async ({ namespace, application }) => {
    const reference = { kind: 'ConfigMap', namespace, name: memoryName(application) } as const
    const found = await ifPermitted(kubernetes.find(reference))
    if (found) add(found)
  })
  return said
}

/** Names the application whose memory a ConfigMap is. Returns undefined for other objects. */
export const memorySubject = ({
  kind,
  metadata: { namespace = '', name, labels },
}: KubernetesObject): string | undefined => {
  const application = ownValue(labels, APPLICATION_LABEL) ?? ''
  return kind === 'ConfigMap' && name === memoryName(application) ? subjectName({ namespace, application }) : undefined
}

/** Reads the relevant part of a memory, by application. Returns an empty list if the memory cannot be read. */
export const saidIn = (
  memories: ReadMemories,
  { memo }: Pick<Kubernetes, 'memo'>,
  object: KubernetesObject,
): [string, Said][] => {
  const subject = memorySubject(object)
  const state = subject === undefined ? undefined : memories.read(object, memo)
  if (subject === undefined || state === undefined || state instanceof Error) return []
  const said = { mesh: state.config?.mesh, beacon: findBeacon(subjectNamed(subject), state) }
  return said.mesh || said.beacon ? [[subject, said]] : []
}
