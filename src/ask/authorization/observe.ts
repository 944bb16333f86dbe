import { isPending, type Unenforced } from '../../core/policies/unenforced.ts'
import { ENROLMENT_LABEL } from '../../core/relations/mesh-labels.ts'
import type { Memories } from '../../core/state/memory.ts'
import type { State } from '../../core/state/state.ts'
import { unenforced } from '../../mesh/istio/acceptance.ts'
import { dependsOnMarks, isMarked } from '../../mesh/istio/capture.ts'
import {
  type FoundMeshConfigs,
  findMeshConfigs,
  istiodHomes,
  type MeshMember,
  meshConfigLookups,
} from '../../mesh/istio/mesh-config.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { perObjects } from '../../platform/base/per-object.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { ifServed } from '../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { listReadable } from '../../platform/kubernetes/list-readable.ts'
import { type Lookups, lookupsOf, observeLookups } from '../../platform/kubernetes/lookups.ts'
import { type Kind, type KubernetesObject, nameOf } from '../../platform/kubernetes/objects.ts'
import { podTemplate, serviceAccountName } from '../../platform/kubernetes/pod-like.ts'
import { formatSelector, isLive, isPodOf } from '../../platform/kubernetes/pods.ts'
import type { Typed } from '../../platform/kubernetes/typed.ts'
import { findIngress, gatewayPods } from './ingress.ts'
import { findBeacon, findMesh, findState } from './memories.ts'
import { GATEWAY_NAME, isLonePod, lonePodName, type ObservedPods, saidWorkload } from './pods.ts'
import type { Query } from './query.ts'
import type { Side } from './side.ts'
import { type GatewayClasses, waypointsOf } from './waypoint.ts'

/** The cluster state read for one query. */
export type ObservedCluster = {
  /** The policies of all namespaces. Undefined if the API server does not serve the kind. */
  readonly policies: readonly KubernetesObject[] | undefined
  readonly gateways: readonly KubernetesObject[] | undefined
  readonly peerAuthentications?: readonly KubernetesObject[] | undefined
  readonly gatewayClasses?: GatewayClasses | undefined
  /** Istio's own config: that of the destination's istiod, and of its waypoints' and its client's if theirs is another one. */
  readonly meshConfigs?: FoundMeshConfigs | undefined
  /** The policies and Services that Istio has not taken yet. @default none */
  readonly untaken?: readonly Unenforced[] | undefined
  /** The Services of the destination's namespace. */
  readonly services: readonly KubernetesObject[]
  readonly fromNamespace: KubernetesObject | undefined
  readonly toNamespace: KubernetesObject | undefined
  readonly from: ObservedPods | undefined
  readonly to: ObservedPods | undefined
  /** The state of the destination. `beacon` is that of a beacon. */
  readonly memory?: State | undefined
  readonly beacon?: State | undefined
}

/**
 * Reads the cluster state for one query. It makes twelve calls at once, and two or more for Istio's own config. One more call each reads a beacon, the
 * GatewayClasses of waypoints that do not name their purpose, the pods of either side, the proxies of a Gateway, and the pods of the namespace of a side whose
 * pods should have the mark of Istio's CNI and do not.
 */
export const observeForQuery = async (
  memories: Pick<Memories, 'read'>,
  kubernetes: Kubernetes,
  { from, to, rootNamespace }: Query,
): Promise<ObservedCluster> => {
  const namespaceNamed = async (name: string | undefined) =>
    name === undefined ? undefined : await kubernetes.find({ kind: 'Namespace', name })
  const [policies, gateways, peerAuthentications, services, fromNamespace, toNamespace, client, target, memory, other] =
    await Promise.all([
      listIfKnown(kubernetes, 'AuthorizationPolicy'),
      listIfKnown(kubernetes, 'Gateway'),
      listIfKnown(kubernetes, 'PeerAuthentication'),
      kubernetes.list('Service', to.namespace),
      namespaceNamed(from?.namespace),
      namespaceNamed(to.namespace),
      from && findWorkloadOf(kubernetes, from),
      findWorkloadOf(kubernetes, to),
      findState(memories, kubernetes, to),
      findState(memories, kubernetes, from),
    ])
  const service = services.find(({ metadata }) => metadata.name === to.application)
  const related = findBeacon(to, memory) ?? (from && findBeacon(from, other))
  const [sender, receiver, beacon, gatewayClasses] = await Promise.all([
    client ?? (from && findOtherPods(kubernetes, from, gateways)),
    target ?? findOtherPods(kubernetes, to, gateways, service),
    findState(memories, kubernetes, related),
    gateways?.some(needsClass) ? listClasses(kubernetes) : [],
  ])
  const [marked, markedTo] = await Promise.all([
    withMarks(kubernetes, sender, from?.namespace, fromNamespace),
    withMarks(kubernetes, receiver, to.namespace, toNamespace),
  ])
  const said = rootNamespace ?? findMesh([memory, beacon])?.rootNamespace
  const members = [...meshMembers(to.namespace, toNamespace, service ? [service] : []), ...clientMembers(from, to)]
  const known = lookupsOf([toNamespace, fromNamespace, ...(gateways ?? [])].filter((one) => one !== undefined))
  const meshConfigs = await readMeshConfigs(kubernetes, members, said, known)
  const seen = { policies, gateways, peerAuthentications, services, fromNamespace, toNamespace }
  return {
    ...{ ...seen, from: marked, to: markedTo, memory, beacon, gatewayClasses },
    untaken: untakenOf(policies ?? NONE, services, ...meshConfigs.configs),
    meshConfigs,
  }
}

/** Returns the client's namespace, if it is another one: a pod has one identity, of the trust domain of its own istiod. */
const clientMembers = (from: Side | undefined, to: Side): MeshMember[] =>
  from && from.namespace !== to.namespace ? [{ namespace: from.namespace }] : []

/** Lists of whom the istiod decides about Services of a namespace, and about its pods: of the namespace, and of the waypoints that labels name. */
export const meshMembers = (
  namespace: string,
  home: KubernetesObject | undefined,
  services: readonly KubernetesObject[],
): MeshMember[] => [
  { namespace },
  ...waypointsOf(namespace, home, services).map(({ name, ...one }) => ({ ...one, gateway: name })),
]

/** Reads the config of the members' istiods. `root` is the root namespace that somebody named; objects in `known` are not read again. */
export const readMeshConfigs = async (
  kubernetes: Pick<Kubernetes, 'find'>,
  members: readonly MeshMember[],
  root: string | undefined,
  known: Lookups,
): Promise<FoundMeshConfigs> => {
  const homes = istiodHomes(root)
  const list = (seen: Lookups) => members.flatMap((member) => meshConfigLookups(member, homes, seen))
  return findMeshConfigs(members, homes, await observeLookups(kubernetes, list, known))
}

const NONE: readonly KubernetesObject[] = []

/** Many questions about one cluster share its lists. */
const untakenOf = perObjects(
  (
    policies: readonly KubernetesObject[],
    services: readonly KubernetesObject[],
    ...configs: readonly KubernetesObject[]
  ): readonly Unenforced[] => unenforced([...policies, ...services], configs).filter(isPending),
)

/** Tells if the purpose of a waypoint follows from its GatewayClass, because its own label is missing. */
export const needsClass = ({ metadata: { labels } }: KubernetesObject): boolean =>
  ownValue(labels, 'istio.io/waypoint-for') === undefined

const listClasses = async (kubernetes: Kubernetes): Promise<GatewayClasses> =>
  (await listReadable(kubernetes, 'GatewayClass', undefined)) ?? 'unreadable'

/** Lists a kind. Returns undefined if its CustomResourceDefinition is not installed. */
const listIfKnown = async (kubernetes: Kubernetes, kind: Kind): Promise<KubernetesObject[] | undefined> =>
  await ifServed(kubernetes.list(kind, undefined))

type Reader = Pick<Kubernetes, 'find' | 'list'>

/** Adds whether pods of the namespace carry the mark of Istio's CNI. If an answer depends on others than these, the namespace's pods are listed. */
export const withMarks = async (
  kubernetes: Reader,
  pods: ObservedPods | undefined,
  namespace: string | undefined,
  home: KubernetesObject | undefined,
): Promise<ObservedPods | undefined> => {
  if (pods === undefined || pods.running.some(isMarked)) return pods
  if (!pods.running.some((pod) => dependsOnMarks(pod, { labels: home?.metadata.labels }))) return pods
  return { ...pods, isMarking: await hasMarks(kubernetes, namespace) }
}

/** Tells if pods of a namespace carry the mark of Istio's CNI. */
export const hasMarks = async (kubernetes: Pick<Kubernetes, 'list'>, namespace: string | undefined): Promise<boolean> =>
  (await kubernetes.list('Pod', namespace)).some((pod) => isMarked(pod))

/** Finds the pods of a side by its name: those of a workload, else of a Service, else of a Gateway. A side may also name pods without a workload. */
export const findSide = async (
  kubernetes: Reader,
  side: Side,
  gateways: readonly KubernetesObject[] | undefined,
  service?: KubernetesObject,
): Promise<ObservedPods | undefined> =>
  (await findWorkloadOf(kubernetes, side)) ?? (await findOtherPods(kubernetes, side, gateways, service))

const findWorkloadOf = async (kubernetes: Reader, side: Side): Promise<ObservedPods | undefined> =>
  isApplication(side) ? await findPods(kubernetes, side) : undefined

const isApplication = ({ kind }: Side): boolean => kind === undefined || kind === 'application'

/** Finds the pods of a workload, or of a StatefulSet and a Deployment with the same name. Returns undefined if there is neither. */
const findPods = async (
  kubernetes: Reader,
  { namespace, application: name }: Subject,
): Promise<ObservedPods | undefined> => {
  const [statefulSet, deployment] = await Promise.all([
    kubernetes.find({ kind: 'StatefulSet', namespace, name }),
    kubernetes.find({ kind: 'Deployment', namespace, name }),
  ])
  const [first, second] = await Promise.all(
    [statefulSet ?? deployment, statefulSet && deployment].map((one) => one && findPodsOf(kubernetes, one)),
  )
  if (first === undefined || second === undefined) return first
  // the pods of both workloads count; for a workload without pods its template stands in
  return {
    ...first,
    running: [first, second].flatMap(({ template, running }) => (running.length > 0 ? running : (template ?? []))),
  }
}

const findPodsOf = async (kubernetes: Reader, workload: KubernetesObject): Promise<ObservedPods> => {
  // a rollout that is in progress, paused or OnDelete leaves pods that differ from the template
  const pods = await kubernetes.list('Pod', workload.metadata.namespace, formatSelector(workload))
  return { template: podTemplate(workload), running: pods.filter((pod) => isLive(pod) && isPodOf(workload, pod)) }
}

/** Finds the pods behind a name that no workload has: those of a Service, else of a Gateway. */
const findOtherPods = async (
  kubernetes: Reader,
  side: Side,
  gateways: readonly KubernetesObject[] | undefined,
  service?: KubernetesObject,
): Promise<ObservedPods | undefined> => {
  if (side.kind === 'pod') return await findLonePods(kubernetes, side)
  if (side.kind === 'sa') return await findAccount(kubernetes, side)
  if (service && isApplication(side)) return await listServicePods(kubernetes, service)
  return side.kind === undefined || side.kind === 'gateway' ? await findProxies(kubernetes, side, gateways) : undefined
}

/** Finds the live pods without a workload that have this name. The name is that of their controller, else their own. */
const findLonePods = async (kubernetes: Reader, side: Side): Promise<ObservedPods | undefined> => {
  const running = await listLonePods(kubernetes, side.namespace, (pod) => lonePodName(pod) === side.application)
  return running.length > 0 ? { running } : undefined
}

/** Finds the pods without a workload that run as a ServiceAccount. If there are none, returns a pod on the mesh that would. */
const findAccount = async (kubernetes: Reader, { namespace, application }: Side): Promise<ObservedPods> => {
  const runsAs = (pod: KubernetesObject) => serviceAccountName(pod) === application
  const running = await listLonePods(kubernetes, namespace, runsAs)
  const next = { metadata: { labels: { [ENROLMENT_LABEL]: 'ambient' } }, spec: { serviceAccountName: application } }
  return { running: running.length > 0 ? running : [next] }
}

const listLonePods = async (
  kubernetes: Reader,
  namespace: string,
  isMeant: (pod: KubernetesObject) => boolean,
): Promise<KubernetesObject[]> => {
  const pods = (await kubernetes.list('Pod', namespace)).filter(isMeant)
  const said = new Map(pods.flatMap((pod) => saidWorkload(pod) ?? []).map((one) => [nameOf(one), one]))
  const found = await Promise.all([...said].map(async ([name, one]) => [name, await kubernetes.find(one)] as const))
  const workloads = new Map(found)
  return pods.filter((pod) => {
    const claimed = saidWorkload(pod)
    return isLonePod(pod, claimed && workloads.get(nameOf(claimed)))
  })
}

const listServicePods = async (kubernetes: Reader, { metadata, spec }: Typed<'Service'>): Promise<ObservedPods> => {
  const matchLabels = spec?.selector ?? {}
  if (Object.keys(matchLabels).length === 0) return { running: [] }
  return { running: await listPods(kubernetes, metadata?.namespace ?? '', matchLabels) }
}

/** Lists the pods of a Gateway of that name. Returns undefined if there is no such Gateway. */
const findProxies = async (
  kubernetes: Reader,
  subject: Subject,
  gateways: readonly KubernetesObject[] | undefined,
): Promise<ObservedPods | undefined> => {
  const gateway = findIngress(gateways, subject)
  if (gateway === undefined) return undefined
  const matchLabels = { [GATEWAY_NAME]: subject.application }
  return gatewayPods(gateway, await listPods(kubernetes, subject.namespace, matchLabels))
}

const listPods = async (
  kubernetes: Reader,
  namespace: string,
  matchLabels: Readonly<Record<string, string>>,
): Promise<KubernetesObject[]> => {
  const selector = formatSelector({ spec: { selector: { matchLabels } } })
  return (await kubernetes.list('Pod', namespace, selector)).filter(isLive)
}
