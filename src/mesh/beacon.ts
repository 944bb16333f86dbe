import type { Facts } from '../facts.ts'
import { type KubernetesObject, nameOf, type Reference } from '../kubernetes/objects.ts'
import type { PolicyRequest } from '../policies/grant.ts'
import { groups } from '../policies/groups.ts'
import {
  type Backend,
  externalAuthorizer,
  externalTraffic,
  hardenedMode,
  ingressToBackend,
  modeloperatorAllow,
  type StaticOwner,
} from '../policies/static.ts'
import { type EffectiveState, relationName, type Subject } from '../state.ts'
import type { MeshConfig } from './config.ts'
import { authorPolicies, consumerPolicies } from './consumer.ts'
import { grantsFor, servicesAsked } from './grants.ts'
import type { Policy } from './models.ts'
import { meshLabels } from './names.ts'
import { waypointDeployment, waypointObjects, waypointProblem } from './waypoint.ts'

/** The labels of the applications that a beacon serves; none while all of its namespace is on the mesh. */
export const beaconLabels = (subject: Subject, mesh: MeshConfig): Record<string, string> =>
  mesh.modelOnMesh === true ? {} : enrolmentLabels(subject, mesh)

/** The labels that put pods and Services on the mesh, behind the beacon's waypoint where it runs one. */
export const enrolmentLabels = (
  { namespace, application }: Subject,
  { waypoint }: MeshConfig,
): Record<string, string> => {
  const { 'istio.io/dataplane-mode': mode = 'ambient', ...behindWaypoint } = meshLabels({
    model: namespace,
    application,
  })
  return { 'istio.io/dataplane-mode': mode, ...(waypoint !== false && behindWaypoint) }
}

/** The objects of others that a beacon has to see. */
export const beaconLookups = (subject: Subject, state: EffectiveState, mesh: MeshConfig): Reference[] => [
  ...waypointDeployment(subject, mesh),
  ...(isManaging(mesh) ? servicesAsked(subject, state) : []),
]

/** What a beacon holds: who asked for what, the objects besides, and what there is to say of them. */
export type BeaconDesire = {
  requests: PolicyRequest[]
  /** The relations of which it cannot be known what they ask for. */
  unknown: string[]
  objects: KubernetesObject[]
  waiting: string[]
  messages: string[]
}

/** A beacon's own waypoint answers who scrapes it, on this port. */
const OWN_POLICIES: Policy[] = [{ type: 'unit', relation: 'metrics-endpoint', ports: [15_090] }]

/** What the beacon grants, runs and denies. */
export const beaconDesire = (
  subject: Subject,
  state: EffectiveState,
  mesh: MeshConfig,
  owner: StaticOwner,
  facts: Facts,
): BeaconDesire => {
  const managed = isManaging(mesh) ? managedPolicies(subject, state, facts) : NOTHING
  const waypoint = waypointDeployment(subject, mesh)
    .map(nameOf)
    .map((name) => waypointProblem(name, mesh, facts.get(name)))
  return {
    ...managed,
    objects: [...waypointObjects(subject, mesh, owner.labels), ...staticPolicies(subject, mesh, owner)],
    waiting: [...managed.waiting, ...waypoint.filter((problem) => problem !== undefined)],
  }
}

/** Whether the beacon grants what its relations ask for. */
export const isManaging = ({ manageAuthorizationPolicies }: MeshConfig): boolean =>
  manageAuthorizationPolicies !== false

type Managed = Omit<BeaconDesire, 'objects'>

const NOTHING: Managed = { requests: [], unknown: [], waiting: [], messages: [] }

const managedPolicies = (subject: Subject, state: EffectiveState, facts: Facts): Managed => {
  const grants = grantsFor(subject, state, facts)
  const own = consumerPolicies(subject, state, [...OWN_POLICIES, ...authorPolicies(state)])
  const { namespace, application } = subject
  return {
    requests: [
      ...grants.requests,
      ...own.requested.map(({ policy, relation }) => ({
        policy,
        relation: `${relationName(relation)} of ${namespace}/${application}`,
      })),
    ],
    unknown: grants.unknown,
    waiting: [...grants.waiting, ...own.waiting],
    messages: [...grants.messages, ...own.messages],
  }
}

const staticPolicies = (subject: Subject, mesh: MeshConfig, owner: StaticOwner): KubernetesObject[] => {
  const { hardened = false, modelOnMesh = false, rootNamespace = 'istio-system', trustDomain = 'cluster.local' } = mesh
  const { externalTraffic: cidrs, backends = [], externalAuthorizer: provider } = mesh
  const gateway = subject.application
  return [
    // without it hardened mode would lock the controller out
    ...(modelOnMesh && (isManaging(mesh) || hardened) ? [modeloperatorAllow(owner)] : []),
    ...(cidrs ? [externalTraffic(owner, { gateway, cidrs })] : []),
    ...backendsOf(subject, backends).flatMap((backend) => ingressToBackend(owner, backend, trustDomain)),
    ...(provider === undefined ? [] : [externalAuthorizer(owner, { gateway, provider })]),
    ...(hardened ? hardenedMode(owner, rootNamespace) : []),
  ]
}

/** Each application once, with all of its ports. */
const backendsOf = (subject: Subject, backends: NonNullable<MeshConfig['backends']>): Backend[] =>
  groups(
    backends.map(({ namespace = subject.namespace, ...backend }) => ({ namespace, ...backend })),
    ({ namespace, application }) => `${namespace}/${application}`,
  ).flatMap(([, same]) => same.slice(0, 1).map((one) => ({ ...one, ports: same.flatMap(({ ports }) => ports) })))
