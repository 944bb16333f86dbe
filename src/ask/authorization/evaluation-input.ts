import { undiscovered } from '../../mesh/istio/acceptance.ts'
import { readAuthorizationPolicy, targetsOf, type UnreadablePolicy } from '../../mesh/istio/authorization-policy.ts'
import type { MeshConfig } from '../../mesh/istio/beacon-config.ts'
import {
  type FoundMeshConfigs,
  type IstioMeshConfig,
  ROOT_NAMESPACE,
  readMeshConfig,
} from '../../mesh/istio/mesh-config.ts'
import { trustDomainsIn } from '../../mesh/istio/rule-values.ts'
import { describeCondition } from '../../platform/base/condition.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { perObject, perObjects } from '../../platform/base/per-object.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { MANAGED_BY } from '../../platform/kubernetes/ownership-labels.ts'
import { type Client, resolveClient } from './client.ts'
import { type Destination, resolveDestination } from './destination.ts'
import type { AccessRequest, ClusterSnapshot, TraceStep } from './evaluate.ts'
import { type Aspects, CLIENT_ASPECTS, describeKinds, destinationAspects, kindsOfPods } from './kinds-of-pods.ts'
import { findMesh } from './memories.ts'
import type { ObservedCluster } from './observe.ts'
import { readPeerAuthentications } from './peer-authentications.ts'
import { type ObservedPods, uncertainCaptures } from './pods.ts'
import type { Query } from './query.ts'

/** The input of an evaluation: the request, and a snapshot of the cluster. */
export type EvaluationInput = {
  readonly request: AccessRequest
  readonly snapshot: ClusterSnapshot
  readonly steps: readonly TraceStep[]
}

/** Builds the input from a query and the observed cluster. Throws Refused for an unknown client or destination. */
export const buildInput = (query: Query, observed: ObservedCluster): EvaluationInput => {
  const { port, method, path, host, autoAllowWaypoint } = query
  const ends = resolveEnds(query, observed)
  const { client, destination } = ends
  const { notes: meshNotes, ...mesh } = resolveMesh(query, observed)
  const { peerAuthentications, notes: odd } = readPeerAuthentications(observed)
  const snapshot: ClusterSnapshot = {
    ...readPolicies(observed.policies ?? NONE, observed.untaken ?? NONE),
    ...mesh,
    doubts: [...doubtsOf(ends), ...discoveryDoubts(ends, observed)],
    unknownPods: destination.unknownPods,
    services: destination.services,
    workloads: destination.workloads,
    autoAllowWaypoint,
    peerAuthentications,
  }
  return {
    request: { from: client.from, to: destination.to, port, method, path, host },
    snapshot: { ...snapshot, ...resolveOthers(query, observed, ends, snapshot) },
    steps: [
      ...client.steps,
      ...[...missingKinds(observed), ...destination.notes, ...odd, ...meshNotes].map(
        (note): TraceStep => ({ at: 'destination', note }),
      ),
    ],
  }
}

type Labels = Readonly<Record<string, string>>

type Ends = { readonly client: Client; readonly destination: Destination }

const resolveEnds = (query: Query, observed: ObservedCluster): Ends => {
  const client = resolveClient(query, observed)
  return { client, destination: resolveDestination(query, observed, client.isGateway) }
}

const doubtsOf = ({ client, destination }: Ends): string[] => [...client.doubts, ...destination.doubts]

/** Lists doubts about namespaces that Istio does not discover, for the ends that are on the mesh. */
const discoveryDoubts = (
  { client, destination }: Ends,
  { fromNamespace, toNamespace, meshConfigs: { configs } = UNREAD }: ObservedCluster,
): string[] => {
  const { to, services, workloads } = destination
  const isGuarded =
    to.gateway !== undefined || workloads.some(({ onMesh }) => onMesh) || services.some(({ waypoint }) => waypoint)
  const namespaces = [
    ...(client.from.serviceAccount !== undefined && fromNamespace ? [fromNamespace] : []),
    ...(isGuarded && toNamespace ? [toNamespace] : []),
  ]
  return configs.flatMap((config) => namespaces.flatMap((namespace) => undiscovered(config, namespace) ?? []))
}

/** Resolves the ends for each pair of kinds of pods, if either side has more than one kind. */
const resolveOthers = (
  query: Query,
  observed: ObservedCluster,
  ends: Ends,
  snapshot: ClusterSnapshot,
): Pick<ClusterSnapshot, 'doubts' | 'unknownPods' | 'others' | 'differing'> => {
  const { from, to, fromNamespace, toNamespace } = observed
  const client = [fromNamespace?.metadata.labels ?? {}, CLIENT_ASPECTS] as const
  const destination = [toNamespace?.metadata.labels ?? {}, destinationAspects(snapshot)] as const
  const [clients, destinations] = [from && kindsOfPods(from, ...client), to && kindsOfPods(to, ...destination)]
  const pairs = (clients ?? [from]).flatMap((one) =>
    (destinations ?? [to]).map((other) => ({ ...observed, from: one, to: other })),
  )
  if (pairs.length === 1) return {}
  if (pairs.length > MOST_PAIRS) return { doubts: [...(snapshot.doubts ?? []), TOO_MANY] }
  const others = pairs.map((pair) => resolveEnds(query, pair))
  return {
    doubts: [...new Set([...(snapshot.doubts ?? []), ...others.flatMap(doubtsOf)])],
    unknownPods:
      snapshot.unknownPods ?? others.find(({ destination }) => destination.unknownPods)?.destination.unknownPods,
    others: others.map((other) => ({
      from: other.client.from,
      to: other.destination.to,
      workloads: other.destination.workloads,
    })),
    differing: {
      client: joined(ends.client.partly, ...(from ? differencesOf(from, ...client) : [])),
      destination: joined(ends.destination.partly, ...(to ? differencesOf(to, ...destination) : [])),
    },
  }
}

/** Lists the ways in which the pods of a side differ, or may differ, in words. */
const differencesOf = (pods: ObservedPods, namespace: Labels, aspects: Aspects): (string | undefined)[] => [
  describeKinds(pods, namespace, aspects),
  ...uncertainCaptures(pods, namespace).map((why) => `it is not known if the mesh captures its pods: ${why}`),
]

/** More than any rollout produces. Each pair is decided on its own. */
const MOST_PAIRS = 32

const TOO_MANY = 'the pods of either side differ in more ways than are looked at'

const joined = (...texts: readonly (string | undefined)[]): string | undefined =>
  texts.filter((text) => text !== undefined).join(', and ') || undefined

type Mesh = Pick<
  ClusterSnapshot,
  | 'rootNamespace'
  | 'otherRoots'
  | 'istioVersion'
  | 'trustDomain'
  | 'trustDomainAliases'
  | 'otherTrustDomains'
  | 'unknownMesh'
> & {
  readonly notes: readonly string[]
}

type Deciding = Pick<ObservedCluster, 'meshConfigs' | 'policies' | 'peerAuthentications'>

/**
 * Resolves the mesh. The query wins over Istio's own config, that over the beacon's config, which may be wrong, and that over Istio's defaults. If Istio's
 * own config is not found, any namespace with policies may be the root namespace, and the trust domain may be any, unless somebody says it.
 */
export const resolveMesh = (
  query: Pick<Query, 'rootNamespace' | 'trustDomain'>,
  observed: Deciding & Pick<ObservedCluster, 'memory' | 'beacon'>,
): Mesh => {
  const { configs, unknown } = observed.meshConfigs ?? UNREAD
  const said = findMesh([observed.memory, observed.beacon])
  const found = configs.flatMap((object) => readMeshConfig(object) ?? [])
  const roots = query.rootNamespace === undefined ? rootsOf(found, said, observed) : [query.rootNamespace]
  const [rootNamespace = ROOT_NAMESPACE, ...otherRoots] = roots
  const known = found.find((one) => one.rootNamespace === rootNamespace)
  const [trustDomain, ...otherTrustDomains] = domainsOf({ ...query, known }, found, said, observed)
  return {
    ...{ rootNamespace, otherRoots, trustDomain, otherTrustDomains, unknownMesh: unknown },
    istioVersion: known?.version,
    trustDomainAliases: known?.trustDomainAliases ?? said?.trustDomainAliases ?? 'unknown',
    notes: [
      ...(unknown === undefined ? [] : [`Istio's own config is not known: ${unknown}`]),
      ...(said?.rootNamespace !== undefined && known !== undefined && said.rootNamespace !== rootNamespace
        ? [
            `the beacon's config says that ${said.rootNamespace} is Istio's root namespace, and Istio's own that ${rootNamespace} is`,
          ]
        : []),
    ],
  }
}

type Configs = readonly IstioMeshConfig[]

/** Lists the namespaces that may be the root namespace, the most probable one first. */
const rootsOf = (found: Configs, said: MeshConfig | undefined, observed: Deciding): string[] => {
  const guessed = [said?.rootNamespace ?? ROOT_NAMESPACE, ROOT_NAMESPACE]
  const isOpen = observed.meshConfigs?.unknown !== undefined && said?.rootNamespace === undefined
  return [
    ...new Set([
      ...(found.length > 0 ? found.map((one) => one.rootNamespace) : guessed),
      ...(isOpen ? possibleRoots(observed) : []),
    ]),
  ]
}

/** Lists the trust domains that the mesh may have, the most probable one first. */
const domainsOf = (
  { trustDomain, known }: Pick<Query, 'trustDomain'> & { readonly known: IstioMeshConfig | undefined },
  found: Configs,
  said: MeshConfig | undefined,
  { policies = NONE, meshConfigs }: Deciding,
): [string, ...string[]] => {
  const first = trustDomain ?? known?.trustDomain ?? said?.trustDomain ?? 'cluster.local'
  if (trustDomain !== undefined || (found.length === 0 && said?.trustDomain !== undefined)) return [first]
  const others = [
    ...found.map((one) => one.trustDomain),
    ...(meshConfigs?.unknown === undefined ? [] : possibleDomains(policies)),
  ]
  return [first, ...new Set(others.filter((one) => one !== first))]
}

/** Nobody looked for Istio's own config. */
const UNREAD: FoundMeshConfigs = { configs: [] }

/** Lists the namespaces whose policies would apply everywhere if they were the root namespace: those that do not refer to a target in it. */
const possibleRoots = ({
  policies,
  peerAuthentications,
}: Pick<ObservedCluster, 'policies' | 'peerAuthentications'>) => {
  const wide = (policies ?? NONE).filter(isForRoot)
  return [...wide, ...(peerAuthentications ?? NONE)].flatMap(({ metadata }) => metadata.namespace ?? [])
}

const isForRoot = perObject((object: KubernetesObject): boolean => {
  const read = readAuthorizationPolicy(object)
  const attachment = 'policy' in read ? read.policy.spec : read.attachment
  return attachment === undefined || targetsOf(attachment).every(({ kind }) => kind === 'GatewayClass')
})

/** Lists the trust domains that policies tell apart, and one that they do not name. */
const possibleDomains = (policies: readonly KubernetesObject[]): readonly string[] => [
  ...new Set(policies.flatMap(domainsNamed)),
  'named.by.nobody',
]

const domainsNamed = (object: KubernetesObject): readonly string[] => {
  const read = readAuthorizationPolicy(object)
  const rules = 'policy' in read ? (read.policy.spec.rules ?? []) : []
  // a pattern has at least this match
  return rules.flatMap(trustDomainsIn).flatMap((one) => one.replaceAll('*', '') || [])
}

const NONE: readonly never[] = []

/** Many questions about one cluster share its policies. */
const readPolicies = perObjects(
  (
    policies: NonNullable<ObservedCluster['policies']>,
    untaken: NonNullable<ObservedCluster['untaken']>,
  ): Pick<ClusterSnapshot, 'policies' | 'unreadable'> => {
    const pending = new Map(untaken.map(({ live, condition }) => [live, describeCondition(condition)]))
    const read = policies.map((object) => asUntaken(readAuthorizationPolicy(object), pending.get(object)))
    return {
      policies: read.flatMap((one) => ('policy' in one ? [one.policy] : [])),
      unreadable: read.flatMap((one) => ('policy' in one ? [] : [one])),
    }
  },
)

/**
 * Marks a policy that Istio has not taken as unreadable, because proxies may not enforce it yet. The target is kept where it cannot have changed: in a
 * first generation, and in policies of meshstep.
 */
const asUntaken = (
  read: ReturnType<typeof readAuthorizationPolicy>,
  why: string | undefined,
): ReturnType<typeof readAuthorizationPolicy> => {
  if (why === undefined || !('policy' in read)) return read
  const { metadata, spec } = read.policy
  const { namespace, name, labels, generation } = metadata
  const keepsTarget = generation === 1 || ownValue(labels, MANAGED_BY) === 'meshstep'
  const untaken: UnreadablePolicy = { unreadable: why, isUntaken: true, namespace, name }
  return keepsTarget ? { ...untaken, attachment: spec } : untaken
}

const missingKinds = ({ policies, gateways }: ObservedCluster): string[] => [
  ...(policies === undefined ? ['the cluster has no AuthorizationPolicies: Istio is not installed'] : []),
  ...(gateways === undefined ? ['the cluster has no Gateways, and so no waypoints'] : []),
]
