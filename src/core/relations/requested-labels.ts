import * as z from 'zod'
import { ownValue } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { protocolOf } from '../state/interfaces.ts'
import { Databag, type Relation, type RelationEntry, relationsWith } from '../state/relation.ts'
import type { EffectiveState, State } from '../state/state.ts'
import { readValue } from './databags/databag.ts'
import { ENROLMENT_LABEL, foreignProblem, MESH_KEYS } from './mesh-labels.ts'
import { remoteSubject } from './peer-entry.ts'

const labelsOf = ({ interface: name }: Pick<Relation, 'interface'>) => protocolOf(name)?.labels

/** Tells if the relation enrols its requirer, with labels and policies. */
export const isEnrolling = (relation: Pick<Relation, 'interface'>): boolean => labelsOf(relation) !== undefined

/** Tells if this side is to carry the relation's labels. */
export const takesLabels = (entry: Pick<RelationEntry, 'interface' | 'role'>): boolean =>
  isEnrolling(entry) && entry.role === 'requires'

/** Tells if this side offers the labels of the relation. */
export const offersLabels = (entry: Pick<RelationEntry, 'interface' | 'role'>): boolean =>
  isEnrolling(entry) && entry.role === 'provides'

/** Tells if the config makes the application the beacon or the coordinator of the relation. */
export const runsProvider = ({ config }: Pick<State, 'config'>, entry: Pick<RelationEntry, 'interface'>): boolean =>
  Boolean(config?.[labelsOf(entry)?.by ?? 'mesh'])

export const labelsKey = (relation: Pick<Relation, 'interface'>): string => labelsOf(relation)?.key ?? 'labels'

/** Returns the labels that a relation requests of its requirer. */
export const requestedLabels = (
  relation: Pick<Relation, 'interface'> & { readonly remote: Pick<Relation['remote'], 'data'> },
): Readonly<Record<string, unknown>> => {
  const labels = readValue(relation.remote.data, labelsKey(relation), Databag)
  return 'value' in labels ? (labels.value ?? {}) : {}
}

/** The key in which a beacon publishes the labels for applications of other namespaces, if its own namespace is on the mesh. */
export const ELSEWHERE_KEY = 'labels_elsewhere'

/** The labels of a mesh: for the pods of an application, and for those of its workers in other namespaces. */
export type MeshLabels = {
  readonly labels: Readonly<Record<string, string>>
  readonly elsewhere: Readonly<Record<string, string>>
}

const Texts = z.record(z.string(), z.string())

const labelsIn = (databag: Databag, key: string): Record<string, string> | undefined => {
  const labels = readValue(databag, key, Texts)
  if ('unreadable' in labels || labels.value === undefined) return undefined
  return Object.fromEntries(
    Object.entries(labels.value).filter(([key, value]) => !foreignProblem('labels', key, value)),
  )
}

/** Collects the mesh labels. Undefined without a mesh. `labels` is empty if the whole namespace is enrolled. */
export const desiredMeshLabels = (state: Pick<EffectiveState, 'relations'>): MeshLabels | undefined => {
  const requested = relationsWith(state.relations, { interface: 'service_mesh', role: 'requires' }).flatMap(
    ({ remote, lastReadable = {} }) => {
      const read = (key: string) => labelsIn(remote.data, key) ?? labelsIn(lastReadable, key)
      const labels = read('labels')
      return labels === undefined ? [] : [{ labels, elsewhere: read(ELSEWHERE_KEY) ?? labels }]
    },
  )
  if (requested.length === 0) return undefined
  // of different values, that of the lower id counts
  const merged = requested.toReversed()
  return {
    labels: Object.assign({}, ...merged.map(({ labels }) => labels)),
    elsewhere: Object.assign({}, ...merged.map(({ elsewhere }) => elsewhere)),
  }
}

/**
 * Selects the labels in `held` by which a coordinator still leads a worker to a waypoint. The beacon knows the workers only through their
 * coordinator, so the coordinator's memory lists these labels.
 */
export const labelsHandedOn = (
  held: Readonly<Record<string, string>>,
  { relations }: Pick<EffectiveState, 'relations'>,
): Record<string, string> => {
  const workers = workersIn(relations)
  const isWorn = ([key, value]: [string, string]): boolean =>
    workers.some(({ source, peerLabels: labels = {} }) => source === 'unknown' || ownValue(labels, key) === value)
  return Object.fromEntries(Object.entries(held).filter((label) => isLeading(label) && isWorn(label)))
}

/**
 * Selects the labels that lead workers of other namespaces to a waypoint. A coordinator that is on the mesh with its whole namespace does
 * not carry them itself.
 */
export const labelsHandedElsewhere = (
  subject: Subject,
  { relations }: Pick<EffectiveState, 'relations'>,
): Record<string, string> => {
  const isElsewhere = workersIn(relations).some(
    (worker) => remoteSubject(subject, worker).namespace !== subject.namespace,
  )
  const { elsewhere = {} } = (isElsewhere && desiredMeshLabels({ relations })) || {}
  return Object.fromEntries(Object.entries(elsewhere).filter(isLeading))
}

const workersIn = (relations: EffectiveState['relations']) =>
  relationsWith(relations, { interface: 'cluster', role: 'provides' })

const isLeading = ([key]: [string, string]): boolean => MESH_KEYS.includes(key) && key !== ENROLMENT_LABEL
