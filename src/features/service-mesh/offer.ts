import * as z from 'zod'
import type { ClusterView } from '../../core/feature/feature.ts'
import { MeshPolicy } from '../../core/policies/models.ts'
import { applicationPods, findTarget, type PolicyTarget } from '../../core/policies/target.ts'
import { type DatabagValue, readValue } from '../../core/relations/databags/databag.ts'
import { remoteSubject } from '../../core/relations/peer-entry.ts'
import type { Databag, Relation } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import { MeshConfig } from '../../mesh/istio/beacon-config.ts'
import { ingressPolicyName } from '../../mesh/istio/beacon-policies.ts'
import { resolveMeshConfig } from '../../mesh/istio/identities.ts'
import { runsWaypoint } from '../../mesh/istio/waypoint.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { Lookups } from '../../platform/kubernetes/lookups.ts'
import { NAME_LABEL } from '../../platform/kubernetes/services.ts'
import { isServiceOfConsumer } from './grants.ts'
import { policiesIn } from './owned-policies.ts'

/** The entry of a beacon's databag with its offer. */
export const OFFER_KEY = 'offer'

/**
 * All that a consumer has to know of its beacon to write the policies that guard it. All consumers share it, but for what only some of them
 * have: `policies` of the beacon's own config at their targets, that they are a `backend` of the ingress, and that they are `switching` to
 * the waypoint or away from it.
 */
export const Offer = z.object({
  version: z.literal(1),
  // what a newer program adds is left out
  mesh: z.object(
    MeshConfig.pick({
      waypoint: true,
      manageAuthorizationPolicies: true,
      hardened: true,
      enforcement: true,
      trustDomain: true,
      trustDomainAliases: true,
      trustDomains: true,
      guard: true,
      adopt: true,
    }).shape,
  ),
  serviceAccounts: z.record(z.string(), z.string()).optional(),
  policies: z.array(MeshPolicy).optional(),
  backend: z.literal(true).optional(),
  switching: z.literal(true).optional(),
})

export type Offer = z.infer<typeof Offer>

/** Reads the offer of a beacon. Undefined for one that meshstep does not run. */
export const readOffer = (databag: Databag): DatabagValue<Offer> => readValue(databag, OFFER_KEY, Offer)

/** A consumer as its beacon sees it. */
export type Addressee = {
  readonly relation: Relation
  readonly isSwitching: boolean
  readonly seen: Pick<ClusterView, 'owned' | 'lookups'>
}

/** Builds the offer of a beacon with this mesh in effect to one of its consumers. */
export const offerTo = (
  beacon: Subject,
  { config = {} }: Pick<EffectiveState, 'config'>,
  mesh: MeshConfig,
  { relation, isSwitching, seen }: Addressee,
): Offer => {
  const consumer = remoteSubject(beacon, relation)
  const { trustDomain, trustDomainAliases, trustDomains } = resolveMeshConfig({ ...config, mesh })
  const { manageAuthorizationPolicies, hardened, guard, adopt } = mesh
  const enforcement = mesh.enforcement ?? config.enforcement
  const policies = (config.meshPolicies ?? []).filter((policy) => {
    const target = findTarget(policy)
    return target !== undefined && isAt(beacon, target, relation, seen.lookups)
  })
  return {
    version: 1,
    mesh: {
      waypoint: runsWaypoint(mesh),
      ...{
        manageAuthorizationPolicies,
        hardened,
        enforcement,
        trustDomain,
        trustDomainAliases,
        trustDomains,
        guard,
        adopt,
      },
    },
    ...(config.serviceAccounts && { serviceAccounts: config.serviceAccounts }),
    ...(policies.length > 0 && { policies }),
    // what lets in the ingress alone goes before the policy that lets in the waypoint
    ...((isBackend(beacon, mesh, consumer) || isOpenToIngress(beacon, seen, consumer)) && { backend: true as const }),
    ...(isSwitching && { switching: true as const }),
  }
}

/** Tells if a target is the pods of a consumer, or a Service of it. */
export const isAt = (beacon: Subject, target: PolicyTarget, relation: Relation, lookups: Lookups): boolean => {
  const { namespace, application } = remoteSubject(beacon, relation)
  if (target.namespace !== namespace) return false
  return 'targetRefs' in target.spec
    ? target.spec.targetRefs.some(({ name }) => isServiceOfConsumer(beacon, relation, name, lookups))
    : Object.keys(target.spec.selector.matchLabels).length === 1 &&
        ownValue(target.spec.selector.matchLabels, NAME_LABEL) === application
}

/** Tells if the ingress of a beacon leads to the application. */
const isBackend = (beacon: Subject, { backends = [] }: MeshConfig, consumer: Subject): boolean =>
  backends.some(
    ({ namespace = beacon.namespace, application, ports }) =>
      namespace === consumer.namespace && application === consumer.application && ports.length > 0,
  )

/** Tells if the policy stands that lets the ingress of a beacon reach the pods of an application. */
export const isOpenToIngress = (
  beacon: Subject,
  { owned }: Pick<ClusterView, 'owned'>,
  { namespace, application }: Subject,
): boolean => {
  const name = ingressPolicyName(beacon, { namespace, application })
  return policiesIn(owned).some(({ metadata }) => metadata.name === name && metadata.namespace === namespace)
}

/** The pods of an application. */
export const podsOf = ({ namespace, application }: Subject) => applicationPods(namespace, application)
