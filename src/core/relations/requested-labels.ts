import * as z from 'zod'
import type { Relation, RelationEntry } from '../state/relation.ts'
import type { State } from '../state/state.ts'
import { readValue } from './databag.ts'

/** Tells if the relation enrols its requirer, with labels and policies. */
export const isEnrolling = ({ interface: name }: Pick<Relation, 'interface'>): boolean =>
  name === 'service_mesh' || name === 'cluster'

/** Tells if this side is to carry the relation's labels. */
export const takesLabels = (entry: Pick<RelationEntry, 'interface' | 'role'>): boolean =>
  isEnrolling(entry) && entry.role === 'requires'

/** Tells if this side grants the policies that the relation's labels need. */
export const grantsLabels = (entry: Pick<RelationEntry, 'interface' | 'role'>): boolean =>
  isEnrolling(entry) && entry.role === 'provides'

/** Tells if the config makes the application the beacon or the coordinator of the relation. */
export const runsProvider = ({ config }: Pick<State, 'config'>, entry: Pick<RelationEntry, 'interface'>): boolean =>
  Boolean(entry.interface === 'cluster' ? config?.coordinator : config?.mesh)

const Labels = z.record(z.string(), z.unknown())

export const labelsKey = ({ interface: name }: Pick<Relation, 'interface'>): string =>
  name === 'cluster' ? 'worker_labels' : 'labels'

/** Returns the labels that a relation requests of its requirer. */
export const requestedLabels = (relation: Relation): Readonly<Record<string, unknown>> => {
  const labels = readValue(relation.remote.data, labelsKey(relation), Labels)
  return 'value' in labels ? (labels.value ?? {}) : {}
}
