import * as z from 'zod'
import type { Databag } from '../state/relation.ts'
import type { EffectiveState } from '../state/state.ts'
import { readValue } from './databag.ts'
import { foreignProblem } from './foreign-labels.ts'
import { relationsWith } from './select.ts'

const Labels = z.record(z.string(), z.string())

const labelsIn = (databag: Databag): Record<string, string> | undefined => {
  const labels = readValue(databag, 'labels', Labels)
  if ('unreadable' in labels || labels.value === undefined) return undefined
  return Object.fromEntries(
    Object.entries(labels.value).filter(([key, value]) => !foreignProblem('labels', key, value)),
  )
}

/** The labels that a mesh wants on the application's pods, none where all of its namespace is on it; undefined while it is on no mesh. */
export const desiredMeshLabels = (state: EffectiveState): { labels: Record<string, string> } | undefined => {
  const told = relationsWith(state.relations, { interface: 'service_mesh', role: 'requires' })
    .map(({ remote, kept = {} }) => labelsIn(remote.data) ?? labelsIn(kept))
    .filter((labels) => labels !== undefined)
  // where two want different values the lower id wins
  return told.length === 0 ? undefined : { labels: Object.assign({}, ...told.toReversed()) }
}
