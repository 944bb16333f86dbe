import { type AuthorizeAuthor, refusedDocuments } from '../../core/access/document-authors.ts'
import { lostMemories } from '../../core/events/sweep.ts'
import type { Features } from '../../core/feature/combine.ts'
import type { Environment } from '../../core/feature/feature.ts'
import { type Owner, ownersIn } from '../../core/reconcile/observe/field-owners.ts'
import { describeUnmatchedEndpoint, unmatchedEndpoints } from '../../core/relations/told/unmatched-endpoints.ts'
import { type Memories, memoryName } from '../../core/state/memory.ts'
import type { State } from '../../core/state/state.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { Refused } from '../../platform/base/errors.ts'
import type { Memo } from '../../platform/base/memo.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import { type Kubernetes, readingOnce } from '../../platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { APPLICATION_LABEL, MEMORY_SELECTOR } from '../../platform/kubernetes/ownership-labels.ts'
import { unmetSentences } from '../authorization/check-expectations.ts'
import type { Asker } from '../views/answer-query.ts'
import { accountFindings } from './accounts.ts'
import { type Cluster, readCluster } from './cluster.ts'
import { type Finding, type Found, unallowed, unknownAllowed } from './finding.ts'
import { peerAuthenticationFindings } from './peer-authentications.ts'
import { policyFindings } from './policies.ts'
import { shadowingFindings } from './shadowing.ts'
import { unenforcedFindings, waitFindings } from './waits.ts'
import { refusedWaypointFindings } from './waypoint-refused.ts'
import { waypointFindings } from './waypoints.ts'
import { workloadFindings } from './workloads.ts'

/** The sources of the findings about a namespace. */
export type Dependencies = {
  /** Without it, documents of any author are accepted. */
  readonly authorizeAuthor?: AuthorizeAuthor | undefined
  readonly features: Features
  readonly clock: Clock
  readonly environment: Environment
}

/** Lists probable mistakes in a namespace. Rejects with Refused if the asker may not send events about the whole namespace, or it does not exist. */
export const lintNamespace = async (
  { features, authorizeAuthor, clock, environment }: Dependencies,
  namespace: string,
  asker: Asker,
): Promise<Finding[]> => {
  const { memories } = features
  const kubernetes = readingOnce(asker.kubernetes)
  await asker.sender?.authorize({ namespace })
  const stored = await kubernetes.list('ConfigMap', namespace, MEMORY_SELECTOR)
  const read = stored.flatMap((memory) => stateIn(memories, namespace, memory, kubernetes.memo))
  const states = read.flatMap((one) => ('state' in one ? [one] : []))
  const cluster = await readCluster(kubernetes, namespace)
  if (isMissing(cluster, stored)) throw new Refused(404, `Namespace ${namespace} does not exist`)
  const ofPolicies = policyFindings(cluster)
  const owners = await ownersIn(kubernetes, namespace)
  const found: Found[] = [
    ...meshFindings(cluster),
    ...cluster.unread.map((message) => ({
      ...{ rule: 'partly-read' as const, about: `Namespace ${namespace}`, message },
    })),
    ...read.flatMap((one) => ('rule' in one ? [one] : [])),
    ...lostFindings(owners, namespace, stored),
    ...(await documentFindings(features, kubernetes, namespace, authorizeAuthor)),
    ...states.flatMap(endpointFindings),
    ...(await waitFindings(
      { features, kubernetes, clock, environment, owners: async () => owners },
      states.map(({ subject }) => subject),
    )),
    ...workloadFindings(features, cluster, states),
    ...ofPolicies,
    ...peerAuthenticationFindings(cluster.peerAuthentications ?? []),
    ...(await unenforcedFindings({ features, kubernetes, clock }, cluster.policies, (one) => isTold(one, ofPolicies))),
    ...[...cluster.policies, ...(cluster.peerAuthentications ?? []), ...(cluster.home ? [cluster.home] : [])].flatMap(
      (one) => unknownAllowed(one),
    ),
    ...(await accountFindings(kubernetes, cluster, accountsNamed(states))),
    ...shadowingFindings(cluster),
    ...(await waypointFindings(kubernetes, cluster)),
    ...refusedWaypointFindings(cluster),
    ...(await expectationFindings(memories, kubernetes, states)),
  ]
  return unallowed(found, cluster.home)
}

/** Findings that already give a reason why Istio refuses a policy. */
const REFUSED: readonly Found['rule'][] = [
  'policy-ineffective',
  'policy-refused',
  'policy-unenforced',
  'policy-unmatched',
  'target-outside-namespace',
]

const isTold = ({ metadata }: KubernetesObject, found: readonly Found[]): boolean =>
  found.some((one) => REFUSED.includes(one.rule) && one.in?.metadata.name === metadata.name)

/** Tells if a namespace does not exist. */
const isMissing = ({ home, services, workloads, pods, policies }: Cluster, memories: readonly KubernetesObject[]) =>
  home === undefined && [services, workloads, pods, policies, memories].every(({ length }) => length === 0)

const meshFindings = ({ namespace, istio: { unknown } }: Cluster): Finding[] => {
  const message = `Istio's own config is not known, and findings that depend on its root namespace or its trust domain are missing: ${unknown}`
  return unknown === undefined ? [] : [{ rule: 'mesh-config-unknown', about: `Namespace ${namespace}`, message }]
}

const lostFindings = (owners: readonly Owner[], namespace: string, stored: readonly KubernetesObject[]): Finding[] => {
  const known = new Set(stored.map(({ metadata }) => ownValue(metadata.labels, APPLICATION_LABEL) ?? ''))
  const lost = lostMemories(namespace, owners, known)
  return lost.map((one) => ({ rule: 'memory-lost', ...one }))
}

type Known = { readonly subject: Subject; readonly state: State }

/** Collects the ServiceAccounts that beacons name for applications. */
const accountsNamed = (states: readonly Known[]): Record<string, string> =>
  Object.assign({}, ...states.map(({ state }) => state.config?.serviceAccounts ?? {}))

const stateIn = (memories: Memories, namespace: string, memory: KubernetesObject, memo: Memo): (Known | Found)[] => {
  const application = ownValue(memory.metadata.labels, APPLICATION_LABEL) ?? ''
  if (memory.metadata.name !== memoryName(application)) return []
  const state = memories.read(memory, memo)
  const subject = { namespace, application }
  if (state instanceof Error)
    return [{ rule: 'memory-unreadable', about: subjectName(subject), message: state.message, in: memory }]
  return state === undefined ? [] : [{ subject, state }]
}

/** Reports endpoints that the config names and no relation has, and those that only a relation has. */
const endpointFindings = ({ subject, state }: Known): Found[] =>
  unmatchedEndpoints(state).map((unknown) => ({
    rule: unknown.to === 'relations' ? 'endpoint-unknown' : 'endpoint-unnamed',
    about: subjectName(subject),
    message: describeUnmatchedEndpoint(unknown),
  }))

const documentFindings = async (
  features: Features,
  kubernetes: Kubernetes,
  namespace: string,
  authorizeAuthor: AuthorizeAuthor | undefined,
): Promise<Found[]> => {
  const refused = await refusedDocuments(features, kubernetes, authorizeAuthor, namespace)
  const objects = await Promise.all(refused.map(({ name }) => kubernetes.find({ kind: 'ConfigMap', namespace, name })))
  return refused.map(({ name, problem }, index) => ({
    ...{ rule: 'document-refused', about: `ConfigMap ${namespace}/${name}`, message: problem },
    ...(objects[index] && { in: objects[index] }),
  }))
}

const expectationFindings = async (
  memories: Memories,
  kubernetes: Kubernetes,
  states: readonly Known[],
): Promise<Finding[]> => {
  const findings: Finding[] = []
  for (const { subject, state } of states)
    for (const message of await unmetSentences(memories, kubernetes, subject, state.config))
      findings.push({ rule: 'expectation', about: subjectName(subject), message })
  return findings
}
