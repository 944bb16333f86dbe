import { changed } from '../../platform/base/own-value.ts'
import { isSameNamespace, isSameSubject, type Subject } from '../../platform/base/subject.ts'
import type { Features } from '../feature/combine.ts'
import type { DesiredLabels } from '../feature/feature.ts'
import type { Mesh } from '../feature/mesh.ts'
import {
  isKnownToPeers,
  knownEnrolments,
  wasConsumer,
  withLost,
  withLostEndpoints,
  withLostLabels,
} from '../relations/lost-memory.ts'
import { FOREIGN_KEYS, MESH_KEYS } from '../relations/mesh-labels.ts'
import type { Peers } from '../relations/peers.ts'
import { parseRequester } from '../relations/requester-names.ts'
import { type ResolvedRelations, resolveRelations, withEffective } from '../relations/resolve-relations.ts'
import { isUnwritten, type Memory } from '../state/memory.ts'
import { ownedName } from '../state/owned-kinds.ts'
import type { State } from '../state/state.ts'
import { labelsHeldAt } from '../workload/pod-labels.ts'
import { type Observed, placesOf, workloadLabelsIn } from './observe/cluster.ts'
import type { Surroundings } from './observe/surroundings.ts'

/**
 * Marks a memory as lost that was never written, where the application carries labels: then it was probably lost, or the charm library runs the
 * application so far. Relations that peers know to be over are then learned from them. A memory that does not know the labels is older than they are, and
 * so does not know the policies that came before them.
 */
export const withLostMemory = async (
  memory: Memory,
  subject: Subject,
  early: Promise<Observed>,
  peers: Peers,
): Promise<State> => {
  const { state, labels } = memory
  const isNew = isUnwritten(memory)
  if (!isNew && Object.hasOwn(state.owned ?? {}, POLICIES)) return state
  // a failed observation fails again later, once the event is remembered
  const held = await early.then(
    (seen) => heldFor(subject, state, seen),
    () => [],
  )
  if (isNew && held.length > 0) return withLost(state, { labels: true })
  // on the mesh with its namespace an application has policies, and no labels
  if (isNew ? !wasConsumer(subject, peers) : held.every((key) => Object.hasOwn(labels, key))) return state
  return { ...state, owned: { ...state.owned, [POLICIES]: null } }
}

const POLICIES = ownedName('AuthorizationPolicy')

type Recovered = { readonly state: State; readonly resolved: ResolvedRelations }

/** Recovers the content of a lost memory from labels and peers: labels that may be held, and endpoints whose relations are unknown. */
export const recoverLostMemory = (
  features: Features,
  memory: Memory,
  subject: Subject,
  { state, resolved, observed }: Recovered & { readonly observed: Observed },
  found: Surroundings,
): Recovered & { readonly observed: Observed } => {
  const around = { observed, found }
  const labelled = withObservedLabels(features, memory, subject, state, { seen: resolved, ...around })
  return { ...withEndpoints(memory, subject, labelled, around), observed }
}

/**
 * Recovers held labels. A new memory of an application that carries labels stays without them (`lost.labels`) until something explains them.
 */
const withObservedLabels = (
  features: Features,
  memory: Memory,
  subject: Subject,
  state: State,
  around: { seen: ResolvedRelations; observed: Observed; found: Surroundings },
): Recovered => {
  const { seen, observed, found } = around
  const isLost = isUnwritten(memory) && isCarrying(subject, memory, observed)
  if (!isLost && !state.lost?.labels) return { state, resolved: seen }
  const recovered = withLostLabels(state)
  const resolved = resolveRelations(subject, recovered, found.peers)
  const { labels } = features.labels(subject, resolved)
  const isExplained =
    state.removed !== undefined ||
    MESH_KEYS.some((key) => Object.hasOwn(labels, key)) ||
    areOwn(subject, state, observed, labels) ||
    areToldOf(features.mesh, subject, state, resolved, around)
  if (!isExplained) return { state: recovered, resolved }
  const known = withLost(recovered, { labels: undefined })
  return { state: known, resolved: resolveRelations(subject, known, found.peers) }
}

/** Tells if the application asks for all labels itself. They need no relation. */
const areOwn = (subject: Subject, state: State, observed: Observed, labels: DesiredLabels['labels']): boolean =>
  isObserved(observed) && heldFor(subject, state, observed).every((key) => Object.hasOwn(labels, key))

/**
 * Tells if the relation that requested the labels is known, or known to be over. A relation with another beacon does not explain them, nor the end of
 * one that asked for none of the policies.
 */
const areToldOf = (
  mesh: Mesh,
  subject: Subject,
  state: State,
  resolved: ResolvedRelations,
  { seen, observed }: { seen: ResolvedRelations; observed: Observed },
): boolean => {
  // the labels of a cluster are those of its coordinator's beacon
  if (Object.values(state.tombstones ?? {}).some((one) => one.interface === 'cluster')) return true
  const asking = askingIds(mesh, subject, observed)
  const ended = seen.over
    .filter((one) => one.interface === 'service_mesh' && one.role !== 'provides')
    .filter(
      // another namespace may number the relation otherwise
      ({ id, remote }) =>
        asking.length === 0 || !remote || !isSameNamespace(remote, subject) || asking.includes(id ?? ''),
    )
    .map(({ remote }) => remote)
  const { labels } = workloadLabelsIn(subject, observed.targets)
  return [...ended, ...knownEnrolments(subject, state, resolved)].some(
    (by) => by === undefined || mesh.mayAskFor(by, labels),
  )
}

/** Adds the endpoints whose relations only the lost memory knew. */
const withEndpoints = (
  memory: Memory,
  subject: Subject,
  { state, resolved }: Recovered,
  { observed, found: { peers } }: { observed: Observed; found: Surroundings },
): Recovered => {
  const isLost = isUnwritten(memory) && (isCarrying(subject, memory, observed) || isKnownToPeers(subject, peers))
  const known = withLostEndpoints(state, isLost, resolved.over)
  if (known === state) return { state, resolved }
  return { state: known, resolved: withEffective(resolved, changed(resolved.state, { lost: known.lost })) }
}

/** Lists the ids of the own relations that asked for policies that stand. */
export const askingIds = (
  { requestersOf }: Pick<Mesh, 'requestersOf'>,
  subject: Subject,
  { owned }: Pick<Observed, 'owned'>,
): string[] =>
  owned.kinds
    .flatMap(({ live = [] }) => live.flatMap(requestersOf))
    .flatMap((name) => parseRequester(name) ?? [])
    .filter(({ requester }) => isSameSubject(requester, subject))
    .map(({ id }) => id)

const isCarrying = (subject: Subject, { state }: Memory, observed: Observed): boolean =>
  heldFor(subject, state, observed).length > 0

const isObserved = ({ targets }: Observed): boolean =>
  targets.current.some(({ places }) => places !== undefined) &&
  targets.current.every(({ problem }) => problem === undefined)

/** Lists the keys of held labels that other applications may have requested. */
const heldFor = ({ application }: Subject, { libraryLabels }: State, { targets }: Observed): string[] =>
  placesOf(targets.current)
    .flatMap((place) => Object.keys(labelsHeldAt(application, place, libraryLabels)))
    .filter((key) => FOREIGN_KEYS.includes(key))
