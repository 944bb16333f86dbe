import * as z from 'zod'
import type { Relation, RelationEntry } from '../state/relation.ts'
import type { State } from '../state/state.ts'
import { readValue } from './databag.ts'

/** Tells if the relation enrols its requirer: it carries labels, and policies for them. */
export const isEnrolling = ({ interface: name }: Pick<Relation, 'interface'>): boolean =>
  name === 'service_mesh' || name === 'cluster'

/** Tells if the relation asks this side for labels. */
export const takesLabels = (entry: Pick<RelationEntry, 'interface' | 'role'>): boolean =>
  isEnrolling(entry) && entry.role === 'requires'

/** Tells if the relation has this side grant what the labels need. */
export const grantsLabels = (entry: Pick<RelationEntry, 'interface' | 'role'>): boolean =>
  isEnrolling(entry) && entry.role === 'provides'

/** Tells if the config has the application run the beacon or the coordinator that the relation needs here. */
export const runsProvider = ({ config }: Pick<State, 'config'>, entry: Pick<RelationEntry, 'interface'>): boolean =>
  Boolean(entry.interface === 'cluster' ? config?.coordinator : config?.mesh)

const Labels = z.record(z.string(), z.unknown())

export const labelsKey = ({ interface: name }: Pick<Relation, 'interface'>): string =>
  name === 'cluster' ? 'worker_labels' : 'labels'

/** The labels that a relation asks its requirer for. */
export const requestedLabels = (relation: Relation): Readonly<Record<string, unknown>> => {
  const labels = readValue(relation.remote.data, labelsKey(relation), Labels)
  return 'value' in labels ? (labels.value ?? {}) : {}
}
