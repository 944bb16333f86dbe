import * as z from 'zod'
import type { Databag } from '../state/relation.ts'
import type { EffectiveState } from '../state/state.ts'
import { readValue } from './databags/databag.ts'
import { foreignProblem } from './requestable-labels.ts'
import { relationsWith } from './select.ts'

const Labels = z.record(z.string(), z.string())

/** The key in which a beacon publishes the labels for applications of other namespaces, if its own namespace is on the mesh. */
export const ELSEWHERE_KEY = 'labels_elsewhere'

/** The labels of a mesh: for the pods of an application, and for those of its workers in other namespaces. */
export type MeshLabels = {
  readonly labels: Readonly<Record<string, string>>
  readonly elsewhere: Readonly<Record<string, string>>
}

const labelsIn = (databag: Databag, key: string): Record<string, string> | undefined => {
  const labels = readValue(databag, key, Labels)
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
  // of different values, that of the lower id counts
  const merged = requested.toReversed()
  return requested.length === 0
    ? undefined
    : {
        labels: Object.assign({}, ...merged.map(({ labels }) => labels)),
        elsewhere: Object.assign({}, ...merged.map(({ elsewhere }) => elsewhere)),
      }
}
