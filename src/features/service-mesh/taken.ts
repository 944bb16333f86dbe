import type { ClusterView, TakenPolicies } from '../../core/feature/feature.ts'
import { remoteSubject } from '../../core/relations/peer-entry.ts'
import { configRequester, parseRequester, requesterAtProvider } from '../../core/relations/requester-names.ts'
import type { ResolvedRelations } from '../../core/relations/resolve-relations.ts'
import { type Provider, type Relation, relationName, relationsIn, relationsWith } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import { isManaging } from '../../mesh/istio/beacon-config.ts'
import { policyPrefix } from '../../mesh/istio/object-name.ts'
import { waypointPrincipals } from '../../mesh/istio/waypoint.ts'
import { isSameSubject, type Subject } from '../../platform/base/subject.ts'
import type { Lookups } from '../../platform/kubernetes/lookups.ts'
import type { Reference } from '../../platform/kubernetes/objects.ts'
import { declaredTargets } from './consumer.ts'
import type { Guarded } from './declared-targets.ts'
import { type Grants, grantsTo, NO_GRANTS, servicesOf } from './grants.ts'
import { type Offer, podsOf, readOffer } from './offer.ts'
import { requestersOn } from './owned-policies.ts'
import { arePodsGuarded } from './unselected-pods.ts'

/** The offer of a beacon, and this application as the beacon knows it. */
type Taken = {
  readonly beacon: Subject
  readonly offer: Offer
  readonly relation: Relation
  readonly isPartial: boolean
}

/** Lists the offers of beacons that the application takes. */
const offersTaken = (subject: Subject, { relations }: Pick<EffectiveState, 'relations'>): Taken[] =>
  relationsWith(relations, { interface: 'service_mesh', role: 'requires' }).flatMap((relation) => {
    const { provider, source } = relation
    if (source === 'unknown' || provider?.version === undefined) return []
    const offer = offerOf(relation)
    const beacon = remoteSubject(subject, relation)
    const { self } = provider
    const isPartial = self.isPartial === true
    return offer ? [{ beacon, offer, relation: asSeen(subject, relation, self), isPartial }] : []
  })

/** Tells if a relation's data are known, and its offer, if there is one, can be read. */
const isReadable = ({ source, remote: { data } }: Relation): boolean =>
  source !== 'unknown' && !('unreadable' in readOffer(data))

const offerOf = ({ remote }: Relation): Offer | undefined => {
  const read = readOffer(remote.data)
  return 'value' in read ? read.value : undefined
}

/** The application as its beacon sees it. */
const asSeen = (
  subject: Subject,
  { interface: name }: Relation,
  { id, endpoint, data }: Provider['self'],
): Relation => ({
  ...{ id, endpoint, interface: name, role: 'provides', standing: 'established', source: 'peer' },
  remote: { ...subject, data },
})

/** Lists the Services to read: those that the own request names besides the application's own. */
export const servicesTaken = (subject: Subject, state: EffectiveState): Reference[] =>
  offersTaken(subject, state).flatMap(({ beacon, relation }) =>
    servicesOf(beacon, relation, declaredTargets(subject, state)),
  )

/** The beacons whose objects of the charm library the application takes over. */
export const adoptedBeacons = (subject: Subject, state: Pick<EffectiveState, 'relations'>): Subject[] =>
  offersTaken(subject, state).flatMap(({ beacon, offer }) => (offer.mesh.adopt ? [beacon] : []))

/** The policies that guard the application by the offers of its beacons. */
export type GuardsTaken = {
  readonly taken: readonly TakenPolicies[]
  /** The same for relations that are over, as long as labels of them may be carried. */
  readonly carried: readonly TakenPolicies[]
  readonly audited: readonly string[]
} & Pick<Grants, 'unknown' | 'waiting' | 'unserved' | 'messages'>

export const guardsTaken = (subject: Subject, resolved: ResolvedRelations, seen: ClusterView): GuardsTaken => {
  const { state } = resolved
  // nobody must be said to be kept out of pods for which no policy holds
  const isGuarded = arePodsGuarded(subject, state, seen)
  const declared = declaredTargets(subject, state).map(({ unrelated, ...guard }) => ({
    ...guard,
    ...(isGuarded && unrelated && { unrelated }),
  }))
  const granted = (one: Taken) => ({ ...one, grants: grantsOf(subject, one, declared, seen.lookups) })
  const each = offersTaken(subject, state).map(granted)
  return {
    taken: each.map(policiesOf),
    carried: offersTaken(subject, { relations: resolved.carried }).map(granted).map(policiesOf),
    audited: each.flatMap(({ beacon, offer, relation }) =>
      offer.mesh.enforcement === 'audit' ? [requesterAtProvider(subject, relation), configRequester(beacon)] : [],
    ),
    unknown: [
      ...each.flatMap(({ isPartial, relation, grants }) => [
        ...(isPartial ? [requesterAtProvider(subject, relation)] : []),
        ...grants.unknown,
      ]),
      ...unknownRequests(subject, resolved, seen),
    ],
    waiting: each.flatMap(({ grants }) => grants.waiting),
    unserved: [...each.flatMap(({ grants }) => grants.unserved), ...unreadableOffers(state)],
    messages: each.flatMap(({ grants }) => grants.messages),
  }
}

const unreadableOffers = ({ relations }: Pick<EffectiveState, 'relations'>): string[] =>
  relationsWith(relations, { interface: 'service_mesh', role: 'requires' }).flatMap((relation) => {
    const read = readOffer(relation.remote.data)
    return 'unreadable' in read ? [`${relationName(relation)}: ${read.unreadable}; its policies stay`] : []
  })

const policiesOf = ({
  beacon,
  offer,
  grants: { requests, guards },
}: Taken & { readonly grants: Grants }): TakenPolicies => ({
  ...{ beacon, requests, guards },
  identities: { mesh: offer.mesh, serviceAccounts: offer.serviceAccounts },
})

const grantsOf = (
  subject: Subject,
  { beacon, offer, relation }: Taken,
  declared: readonly Guarded[],
  lookups: Lookups,
): Grants => {
  const { mesh, policies = [], backend, switching } = offer
  const own = isManaging(mesh)
    ? grantsTo(beacon, relation, lookups, mesh, () => switching === true, declared)
    : NO_GRANTS
  const of = configRequester(beacon)
  const principals = waypointPrincipals(beacon, mesh)
  return {
    ...own,
    requests: [...own.requests, ...policies.map((policy) => ({ policy, relation: of }))],
    guards: [
      ...own.guards,
      ...(backend && principals.length > 0 ? [{ target: podsOf(subject), relation: of, principals }] : []),
    ],
  }
}

/**
 * Lists the requests of the application on its own policies whose relation is unknown: its beacon's data cannot be read, or only a lost
 * memory knew it. They stay.
 */
const unknownRequests = (
  subject: Subject,
  { state, over }: Pick<ResolvedRelations, 'state' | 'over'>,
  { owned }: ClusterView,
): string[] => {
  // a relation of another interface asks in its own name
  const { true: read = [], false: unread = [] } = Object.groupBy(relationsIn(state), (one) =>
    String(one.interface !== 'service_mesh' || isReadable(one)),
  )
  const known = new Set([...read.map(({ id, provider }) => `${provider?.self.id ?? id}`), ...over.map(({ id }) => id)])
  const configs = unread.map((one) => configRequester(remoteSubject(subject, one)))
  // what a coordinator asks for itself has its own name
  return requestersOn(owned, ({ metadata }) => !metadata.name.startsWith(policyPrefix(subject))).filter((name) => {
    if (state.removed !== undefined) return false
    const parsed = parseRequester(name)
    if (parsed === undefined) return configs.includes(name)
    const isOwn = isSameSubject(parsed.requester, subject)
    return isOwn && !known.has(parsed.id)
  })
}
