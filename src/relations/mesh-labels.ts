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

/** Collects the mesh labels for the application's pods; undefined without a mesh. They are empty where the whole namespace is enrolled. */
export const desiredMeshLabels = (state: EffectiveState): { labels: Record<string, string> } | undefined => {
  const requested = relationsWith(state.relations, { interface: 'service_mesh', role: 'requires' })
    .map(({ remote, kept = {} }) => labelsIn(remote.data) ?? labelsIn(kept))
    .filter((labels) => labels !== undefined)
  // of different values the lower id wins
  return requested.length === 0 ? undefined : { labels: Object.assign({}, ...requested.toReversed()) }
}
