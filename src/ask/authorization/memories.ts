import { RELATED } from '../../core/policies/models.ts'
import { parseRequesters } from '../../core/policies/requested-by.ts'
import { remoteSubject } from '../../core/relations/peer-entry.ts'
import { type Memories, memoryName } from '../../core/state/memory.ts'
import { type RelationEntry, relationName, relationsIn } from '../../core/state/relation.ts'
import { type State, stands } from '../../core/state/state.ts'
import { authorPolicies } from '../../features/service-mesh/consumer.ts'
import { relatedPolicies } from '../../features/service-mesh/related.ts'
import type { MeshConfig } from '../../mesh/istio/beacon-config.ts'
import { isSameSubject, type Subject, subjectName } from '../../platform/base/subject.ts'
import { ifPermitted } from '../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import type { Requesters } from './evaluate.ts'

/** Reads the state of an application. Returns undefined without a readable memory. */
export const findState = async (
  memories: Pick<Memories, 'read'>,
  kubernetes: Kubernetes,
  subject: Subject | undefined,
): Promise<State | undefined> => {
  if (subject === undefined) return undefined
  const { namespace, application } = subject
  const stored = await ifPermitted(kubernetes.find({ kind: 'ConfigMap', namespace, name: memoryName(application) }))
  const state = stored && memories.read(stored, kubernetes.memo)
  return state instanceof Error ? undefined : state
}

/** The beacon that an application is related to. */
export const findBeacon = (subject: Subject, state: State | undefined): Subject | undefined => {
  const relation = standing(state).find(isMessenger)
  return relation && remoteSubject(subject, relation)
}

/** Selects the part of an application's memory that decides on requests. */
export const decidingPart = (subject: Subject, state: State | undefined): object => ({
  beacon: findBeacon(subject, state),
  mesh: findMesh([state]),
})

/** Finds the mesh config: the application's own, or that of its beacon. */
export const findMesh = (states: readonly (State | undefined)[]): MeshConfig | undefined =>
  states.map((state) => state?.config?.mesh).find((mesh) => mesh !== undefined)

const standing = (state: State | undefined): RelationEntry[] =>
  state === undefined ? [] : relationsIn(state).filter((entry) => stands(state, entry))

/** Tells if the application sends its requests to a beacon over this relation. */
const isMessenger = ({ interface: name, role }: RelationEntry): boolean =>
  name === 'service_mesh' && role === 'requires'

/**
 * Names the relations behind a policy as a person made them. The relation of `target` with its beacon only carries a request. It is replaced by the
 * relations that the policies of `target` name: those with `source`, if there are any.
 */
export const humanRequesters =
  (target: Subject, state: State | undefined, source: Subject | undefined): Requesters =>
  (policy) => {
    const asked = parseRequesters(policy)
    const relations = standing(state)
    const carried = new Set(relations.filter(isMessenger).flatMap((relation) => titlesOfBothEnds(target, relation)))
    const isCarried = (name: string) => carried.has(name)
    if (state === undefined || !asked.some(isCarried)) return asked
    const endpoints = endpointsOf(target, state)
    const named = relations.filter(({ endpoint }) => endpoints.includes(endpoint))
    const made = named.filter((relation) => source && isSameSubject(remoteSubject(target, relation), source))
    const behind = (made.length > 0 ? made : named).map((relation) => requesterTitle(target, relation))
    return behind.length === 0 ? asked : [...behind, ...asked.filter((name) => !isCarried(name))]
  }

/** Lists the endpoints that policies name. Those that follow from relations have no list: by the config, or by the beacon if the config has none. */
const endpointsOf = (target: Subject, state: State): string[] => {
  const listed = authorPolicies(target, { ...state, relations: {} })
  const related = listed.length === 0 || state.config?.policies === RELATED ? relatedPolicies(target, state) : []
  return [...listed, ...related].map(({ relation }) => relation)
}

/** A beacon names the relation by its own endpoint. */
const titlesOfBothEnds = (target: Subject, relation: RelationEntry): string[] => [
  requesterTitle(target, relation),
  requesterTitle(target, { ...relation, endpoint: relation.remote.endpoint ?? relation.endpoint }),
]

const requesterTitle = (subject: Subject, relation: RelationEntry): string =>
  `${relationName(relation)} of ${subjectName(subject)}`
