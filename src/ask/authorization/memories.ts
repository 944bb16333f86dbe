import { parseRequesters } from '../../core/policies/requested-by.ts'
import { remoteSubject } from '../../core/relations/peer-entry.ts'
import { type Memories, memoryName } from '../../core/state/memory.ts'
import { type RelationEntry, relationName, relationsIn } from '../../core/state/relation.ts'
import { type State, stands } from '../../core/state/state.ts'
import { authorPolicies } from '../../features/service-mesh/consumer.ts'
import type { MeshConfig } from '../../mesh/istio/beacon-config.ts'
import { isSameSubject, type Subject, subjectName } from '../../platform/base/subject.ts'
import { isForbidden } from '../../platform/kubernetes/api-error.ts'
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
  try {
    const stored = await kubernetes.find({ kind: 'ConfigMap', namespace, name: memoryName(application) })
    const state = stored && memories.read(stored, kubernetes.memo)
    return state instanceof Error ? undefined : state
  } catch (error) {
    if (isForbidden(error)) return undefined
    throw error
  }
}

/** The beacon that an application is related to. */
export const findBeacon = (subject: Subject, state: State | undefined): Subject | undefined => {
  const relation = standing(state).find(isMessenger)
  return relation && remoteSubject(subject, relation)
}

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
    const isCarried = (name: string) =>
      relations.some((relation) => isMessenger(relation) && name === requesterTitle(target, relation))
    if (state === undefined || !asked.some(isCarried)) return asked
    const endpoints = authorPolicies(state as Parameters<typeof authorPolicies>[0]).map(({ relation }) => relation)
    const named = relations.filter(({ endpoint }) => endpoints.includes(endpoint))
    const made = named.filter((relation) => source && isSameSubject(remoteSubject(target, relation), source))
    const behind = (made.length > 0 ? made : named).map((relation) => requesterTitle(target, relation))
    return behind.length === 0 ? asked : [...behind, ...asked.filter((name) => !isCarried(name))]
  }

const requesterTitle = (subject: Subject, relation: RelationEntry): string =>
  `${relationName(relation)} of ${subjectName(subject)}`
