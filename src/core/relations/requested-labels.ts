import * as z from 'zod'
import { protocolOf } from '../state/interfaces.ts'
import type { Relation, RelationEntry } from '../state/relation.ts'
import type { State } from '../state/state.ts'
import { readValue } from './databags/databag.ts'

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

const Labels = z.record(z.string(), z.unknown())

export const labelsKey = (relation: Pick<Relation, 'interface'>): string => labelsOf(relation)?.key ?? 'labels'

/** Returns the labels that a relation requests of its requirer. */
export const requestedLabels = (
  relation: Pick<Relation, 'interface'> & { readonly remote: Pick<Relation['remote'], 'data'> },
): Readonly<Record<string, unknown>> => {
  const labels = readValue(relation.remote.data, labelsKey(relation), Labels)
  return 'value' in labels ? (labels.value ?? {}) : {}
}
