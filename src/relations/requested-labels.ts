import * as z from 'zod'
import type { Relation } from '../state/relation.ts'
import { readValue } from './databag.ts'

/** Tells if the relation enrols its requirer: it carries labels, and policies for them. */
export const isEnrolling = ({ interface: name }: Pick<Relation, 'interface'>): boolean =>
  name === 'service_mesh' || name === 'cluster'

const Labels = z.record(z.string(), z.unknown())

export const labelsKey = ({ interface: name }: Pick<Relation, 'interface'>): string =>
  name === 'cluster' ? 'worker_labels' : 'labels'

/** The labels that a relation asks its requirer for. */
export const requestedLabels = (relation: Relation): Readonly<Record<string, unknown>> => {
  const labels = readValue(relation.remote.data, labelsKey(relation), Labels)
  return 'value' in labels ? (labels.value ?? {}) : {}
}
