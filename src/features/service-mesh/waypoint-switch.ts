import type { ClusterView } from '../../core/feature/feature.ts'
import { areEnrolling, ENROLMENT_LABEL, USE_WAYPOINT_LABEL } from '../../core/relations/mesh-labels.ts'
import { remoteSubject } from '../../core/relations/peer-entry.ts'
import type { Relation } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import type { MeshConfig } from '../../mesh/istio/beacon-config.ts'
import { hardenedMode } from '../../mesh/istio/beacon-policies.ts'
import { isDryRun } from '../../mesh/istio/dry-run.ts'
import { meshLabels, waypointName } from '../../mesh/istio/names.ts'
import { isOfOthers } from '../../mesh/istio/namespace-labels.ts'
import { isServing, runsWaypoint } from '../../mesh/istio/waypoint.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import { readLabels } from '../../platform/kubernetes/apply-labels.ts'
import type { SeenLabels } from '../../platform/kubernetes/label-difference.ts'
import { findLookup, type Lookups } from '../../platform/kubernetes/lookups.ts'
import { type KubernetesObject, nameOf, type Reference } from '../../platform/kubernetes/objects.ts'
import { fieldManager } from '../../platform/kubernetes/ownership-labels.ts'
import { consumersOf } from './consumers.ts'
import { policiesIn } from './owned-policies.ts'

type Labels = Readonly<Record<string, string>>

/** Names the beacon's namespace. Its labels may lead all of its Services to the waypoint. */
export const ownNamespace = ({ namespace }: Subject): Reference => ({ kind: 'Namespace', name: namespace })

/** The mesh config in effect. `leading` lists the users for which the waypoint stays, although the config no longer has one. */
export type MeshInEffect = {
  readonly mesh: MeshConfig
  readonly leading: readonly string[]
  /** Tells if a consumer on the mesh is about to be led to the waypoint, or away from it. */
  isSwitching(relation: Relation): boolean
  /** The policies that deny everything else are there. */
  readonly isDenying: boolean
}

/**
 * Keeps the waypoint, the policies that admit it, and those that deny everything else there, until nothing leads to it any more. So a switch refuses no
 * client that is admitted both at the Service and at the pods. It admits no client that neither admits.
 */
export const meshInEffect = (
  subject: Subject,
  { relations }: EffectiveState,
  mesh: MeshConfig,
  { lookups, owned }: Pick<ClusterView, 'lookups' | 'owned'>,
): MeshInEffect => {
  const name = waypointName(subject.namespace, subject.application)
  const isThere = owned.some(
    ({ kind, live = [] }) => kind === 'Gateway' && live.some((one) => one.metadata.name === name),
  )
  const isSwitching = (relation: Relation) => runsWaypoint(mesh) && isPastWaypoints(subject, relation, lookups)
  const before = hardenedBefore(subject, owned)
  const isDenying = before !== undefined
  if (runsWaypoint(mesh) || !isThere) return { mesh, leading: [], isSwitching, isDenying }
  const leading = [
    ...(isNamespaceLed(subject, lookups) ? [nameOf(ownNamespace(subject))] : []),
    ...consumersOf(relations)
      .filter(
        ({ source, standing, peerLabels: labels = {} }) =>
          source === 'unknown' || standing === 'leaving' || isLed(subject, labels),
      )
      .map((relation) => subjectName(remoteSubject(subject, relation))),
  ]
  if (leading.length === 0) return { mesh, leading, isSwitching, isDenying }
  const led = { ...mesh, waypoint: true, units: mesh.units || 1 }
  return { mesh: { ...led, ...(mesh.hardened ? {} : before) }, leading, isSwitching: () => true, isDenying }
}

/** Finds hardened mode as it is enforced now, by the namespace of the policies that deny everything. */
const hardenedBefore = (
  subject: Subject,
  owned: ClusterView['owned'],
): Pick<MeshConfig, 'hardened' | 'rootNamespace'> | undefined => {
  const names = hardenedMode({ ...subject, labels: {} }, '').map(({ metadata }) => metadata.name)
  const found = policiesIn(owned).find((policy) => names.includes(policy.metadata.name) && !isDryRun(policy))
  return found && { hardened: true, rootNamespace: found.metadata.namespace }
}

/** Tells if the namespace's own labels lead to the waypoint. */
const isNamespaceLed = (subject: Subject, lookups: Lookups): boolean => {
  const labels = namespaceLabels(subject, lookups)
  return isLed(subject, { 'istio.io/use-waypoint-namespace': subject.namespace, ...labels })
}

const namespaceLabels = (subject: Subject, lookups: Lookups): Labels =>
  findLookup(lookups, nameOf(ownNamespace(subject)))?.metadata.labels ?? {}

const ledLabels = ({ namespace, application }: Subject): Labels => meshLabels({ model: namespace, application })

const isLed = (subject: Subject, labels: Labels): boolean =>
  Object.entries(ledLabels(subject))
    .filter(([key]) => key !== ENROLMENT_LABEL)
    .every(([key, value]) => ownValue(labels, key) === value)

/**
 * Tells if a consumer needs no labels of its own, because the beacon enrols its whole namespace. It keeps them while the labels of the namespace do not
 * have the same effect, because they are refused or belong to another owner. A consumer in another namespace always needs its own.
 */
export const isOnMeshWithNamespace = (
  subject: Subject,
  mesh: MeshConfig,
  { refused }: Pick<EffectiveState, 'refused'>,
  relation: Relation,
  lookups: Lookups,
): boolean => {
  if (mesh.modelOnMesh !== true || remoteSubject(subject, relation).namespace !== subject.namespace) return false
  const name = nameOf(ownNamespace(subject))
  const namespace = findLookup(lookups, name)
  if (namespace === undefined || isOfOthers(subject, mesh, readNamespaceLabels(subject, namespace))) return false
  // an unknown consumer may carry all of them
  const labels = relation.source === 'unknown' ? ledLabels(subject) : (relation.peerLabels ?? {})
  const isOnMesh = areEnrolling(namespace.metadata.labels)
  // the namespace gets its labels in this step
  if (ownValue(labels, ENROLMENT_LABEL) === undefined) return isOnMesh || !Object.hasOwn(refused ?? {}, name)
  const isLedOnly = runsWaypoint(mesh) && isLed(subject, labels) && !isNamespaceLed(subject, lookups)
  return !isLedOnly && isOnMesh
}

const readNamespaceLabels = ({ application }: Subject, object: KubernetesObject): SeenLabels =>
  readLabels({ object, path: ['metadata', 'labels'] }, fieldManager(application))

/** Lists the consumers that keep their own labels, although the whole namespace is to be on the mesh. */
export const keepingOwnLabels = (
  subject: Subject,
  mesh: MeshConfig,
  state: EffectiveState,
  lookups: Lookups,
): string[] => {
  if (mesh.modelOnMesh !== true) return []
  return consumersOf(state.relations)
    .filter((relation) => !isOnMeshWithNamespace(subject, mesh, state, relation, lookups))
    .map((relation) => remoteSubject(subject, relation))
    .filter(({ namespace }) => namespace === subject.namespace)
    .map(subjectName)
}

/**
 * Tells if a consumer gets the waypoint's labels only when the waypoint serves. It is on the mesh without a waypoint, and until then its clients would be
 * refused.
 */
export const awaitsWaypoint = (
  subject: Subject,
  mesh: MeshConfig,
  { peerLabels: labels = {} }: Pick<Relation, 'peerLabels'>,
  lookups: Lookups,
): boolean =>
  isOnMesh(subject, labels, lookups) &&
  !isLed(subject, labels) &&
  !isNamespaceLed(subject, lookups) &&
  !isServing(subject, mesh, lookups)

/** Tells if the namespace is on the mesh by labels of its own. */
export const isOnMeshNow = (subject: Subject, lookups: Lookups): boolean =>
  areEnrolling(namespaceLabels(subject, lookups))

const isOnMesh = (subject: Subject, labels: Labels, lookups: Lookups): boolean =>
  [labels, namespaceLabels(subject, lookups)].some((one) => ownValue(one, ENROLMENT_LABEL) !== undefined)

/**
 * Tells if a consumer is on the mesh, and neither its labels nor those of the namespace name a waypoint. It saves its labels before it writes them, so
 * they count only once it is done.
 */
const isPastWaypoints = (
  subject: Subject,
  { peerLabels: labels = {}, requirer }: Pick<Relation, 'peerLabels' | 'requirer'>,
  lookups: Lookups,
): boolean =>
  isOnMesh(subject, labels, lookups) &&
  ![requirer === 'claiming' ? {} : labels, namespaceLabels(subject, lookups)].some(
    (one) => ownValue(one, USE_WAYPOINT_LABEL) !== undefined,
  )
