import type { State } from '../../../core/state/state.ts'
import { undiscovered } from '../../../mesh/istio/acceptance.ts'
import {
  type FoundMeshConfigs,
  findMeshConfigs,
  istiodHomes,
  type MeshMember,
} from '../../../mesh/istio/mesh-config.ts'
import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import type { Kubernetes } from '../../../platform/kubernetes/client.ts'
import { LabelSelector, parseSelector, selects } from '../../../platform/kubernetes/label-selector.ts'
import type { Lookup, Lookups } from '../../../platform/kubernetes/lookups.ts'
import {
  type Kind,
  type KubernetesObject,
  nameOf,
  objectKey,
  type Reference,
} from '../../../platform/kubernetes/objects.ts'
import { podLabels } from '../../../platform/kubernetes/pod-like.ts'
import { formatSelector } from '../../../platform/kubernetes/pods.ts'
import { resolveMesh } from '../../authorization/evaluation-input.ts'
import { findSide, meshMembers, type ObservedCluster, withMarks } from '../../authorization/observe.ts'
import { allPods } from '../../authorization/pods.ts'
import type { Side } from '../../authorization/side.ts'
import type { Cluster, Said } from './cluster.ts'
import { distinctPods, selectedKeys } from './distinct-pods.ts'
import { indexOf } from './index-of.ts'
import { type LonePods, lonePods } from './lone-pods.ts'
import { createRelevance } from './relevant.ts'

/** The part of a cluster that concerns the target of a request. */
export type ObservedTarget = Omit<ObservedCluster, 'from' | 'fromNamespace' | 'meshConfigs' | 'beacon' | 'memory'> & {
  /** Of whom the istiod decides. */
  readonly members: readonly MeshMember[]
  /** Absent if the target has no known mesh. Then the client's is used. */
  readonly said?: Said | undefined
}

/** The part of a cluster that concerns the client of a request. The mesh config is that of its beacon. */
export type ObservedClient = Pick<ObservedCluster, 'from' | 'fromNamespace'> & Pick<Said, 'mesh'>

/** A cluster in memory, indexed by application. */
export type World = {
  readonly objects: readonly KubernetesObject[]
  /** Namespaces that are or may be Istio's root namespace. */
  readonly roots: readonly string[]
  /** The trust domains of the mesh, and their aliases. */
  readonly trustDomains: readonly string[]
  /** The Gateway of a name, or an empty list. */
  gateway(subject: Subject): readonly KubernetesObject[]
  /** Reads everything that decides requests to a target, independent of the client. */
  observe(to: Side): Promise<ObservedTarget>
  observeClient(from: Side): Promise<ObservedClient>
  readonly lone: LonePods
  /** A namespace, if it can be read. */
  namespace(name: string): KubernetesObject | undefined
  /** The reasons for doubt about applications on the mesh in a namespace. */
  doubtsAbout(namespace: string): readonly string[]
  /** Joins both parts to the result that `observeForQuery` would have for one question. */
  join(target: ObservedTarget, client: ObservedClient): ObservedCluster
}

/** A cluster before and after a change. */
export type Worlds = readonly [World, World]

/** Builds a world from a cluster that was read. */
export const createWorld = ({ objects, said, absent, unread }: Cluster): World => {
  const named = new Map(objects.map((one) => [objectKey(one), one]))
  const find = ({ kind, namespace, name }: Reference) => named.get(nameOf({ kind, namespace, name }))
  const refused = [...unread.values()].flat()
  const lookups: Lookups = new Map<string, Lookup>([
    ...refused.map((name) => [name, { problem: 'it may not be read' }] as const),
    ...named,
  ])
  const configsFor = (members: readonly MeshMember[], mesh: Said['mesh']) =>
    findMeshConfigs(members, istiodHomes(mesh?.rootNamespace), lookups)
  const homes = [...new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []))]
  const everyone = homes.map((namespace): MeshMember => ({ namespace }))
  const observedMesh = (meshConfigs: FoundMeshConfigs, mesh: Said['mesh']) => ({
    ...{ meshConfigs, ...(mesh && { beacon: { config: { mesh } } as State }) },
  })
  const byRoot = decidingByRoot(objects)
  const meshes = [undefined, ...[...said.values()].flatMap(({ mesh }) => mesh ?? [])].map((mesh) =>
    resolveMesh({}, { ...byRoot, ...observedMesh(configsFor(everyone, mesh), mesh) }),
  )
  const roots = [...new Set(meshes.flatMap(({ rootNamespace, otherRoots = [] }) => [rootNamespace, ...otherRoots]))]
  const trustDomains = new Set(
    meshes.flatMap(({ trustDomain, otherTrustDomains = [], trustDomainAliases: aliases = [] }) => [
      ...[trustDomain, ...otherTrustDomains],
      ...(aliases === 'unknown' ? [] : aliases),
    ]),
  )
  const relevant = createRelevance(objects, roots)
  const reader = createReader(objects, find)
  const keys = selectedKeys(objects)
  const lone = lonePods(objects)
  const ofKind = (kind: Kind, some: readonly KubernetesObject[]) => (absent.has(kind) ? undefined : some)
  const classes = objects.filter(({ kind }) => kind === 'GatewayClass')
  const gatewayClasses = unread.get('')?.includes('GatewayClass') ? 'unreadable' : classes
  const meshOf = (subject: Subject | undefined) => subject && said.get(subjectName(subject))?.mesh

  const world: World = {
    ...{ objects, roots, trustDomains: [...trustDomains], lone },
    namespace: (name) => find({ kind: 'Namespace', name }),
    gateway: ({ namespace, application: name }) => [find({ kind: 'Gateway', namespace, name }) ?? []].flat(),
    observe: async (to) => {
      const { namespace, application: name } = to
      const toNamespace = world.namespace(namespace)
      const service = find({ kind: 'Service', namespace, name })
      const running = to.kind === 'pod' ? lone.named(to) : undefined
      const side = running ? { running } : await findSide(reader, to, world.gateway(to), service)
      const all = await withMarks(reader, side, namespace, toNamespace)
      const pods = all && distinctPods(all, keys)
      const labels = (pods ? allPods(pods) : []).map(podLabels)
      const found = relevant({ namespace, name, labels, namespaceLabels: toNamespace?.metadata.labels ?? {} })
      const own = said.get(subjectName(to))
      return {
        ...{ toNamespace, to: pods, services: found.services, gatewayClasses },
        members: meshMembers(namespace, toNamespace, service ? [service] : []),
        policies: ofKind('AuthorizationPolicy', found.policies),
        gateways: ofKind('Gateway', found.gateways),
        peerAuthentications: ofKind('PeerAuthentication', found.peerAuthentications),
        ...(own && { said: { mesh: own.mesh ?? meshOf(own.beacon) } }),
      }
    },
    observeClient: async (from) => {
      const fromNamespace = world.namespace(from.namespace)
      const side = await findSide(reader, from, world.gateway(from))
      const pods = await withMarks(reader, side, from.namespace, fromNamespace)
      return {
        from: pods && distinctPods(pods, keys),
        fromNamespace,
        mesh: meshOf(said.get(subjectName(from))?.beacon),
      }
    },
    doubtsAbout: (namespace) => {
      const found = world.namespace(namespace)
      const { configs } = configsFor([{ namespace }], undefined)
      return found ? configs.flatMap((config) => undiscovered(config, found) ?? []) : []
    },
    join: ({ said: own, members, ...target }, { mesh: other, ...client }) => {
      const mesh = own ? own.mesh : other
      return {
        ...target,
        ...client,
        ...observedMesh(configsFor(members, mesh), mesh),
      }
    },
  }
  return world
}

const decidingByRoot = (objects: readonly KubernetesObject[]) => ({
  policies: objects.filter(({ kind }) => kind === 'AuthorizationPolicy'),
  peerAuthentications: objects.filter(({ kind }) => kind === 'PeerAuthentication'),
})

/** Finds objects and pods in memory as the API server does. */
const createReader = (
  objects: readonly KubernetesObject[],
  find: (reference: Reference) => KubernetesObject | undefined,
): Pick<Kubernetes, 'find' | 'list'> => {
  const pods = objects.filter(({ kind }) => kind === 'Pod')
  const byLabel = indexOf(pods, ({ metadata: { namespace, labels = {} } }) => [
    `${namespace}`,
    ...Object.entries(labels).map(([key, value]) => `${namespace} ${key}=${value}`),
  ])
  const selectors = new Map(
    objects
      .filter(({ kind }) => kind === 'StatefulSet' || kind === 'Deployment')
      .map((one) => [formatSelector(one), LabelSelector.parse(one.spec?.selector ?? {})]),
  )
  return {
    find: async (reference) => find(reference),
    list: async (_, namespace, text = '') => {
      const selector = selectors.get(text) ?? parseSelector(text)
      const [first] = Object.entries(selector.matchLabels)
      const some = byLabel.get(first ? `${namespace} ${first[0]}=${first[1]}` : `${namespace}`) ?? []
      return some.filter(({ metadata }) => selects(selector, metadata.labels ?? {}))
    },
  }
}
