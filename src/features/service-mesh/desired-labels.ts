import * as z from 'zod'
import type { DesiredLabels } from '../../core/feature/feature.ts'
import { readValue } from '../../core/relations/databags/databag.ts'
import { type ForeignKey, foreignProblem, MESH_KEYS } from '../../core/relations/mesh-labels.ts'
import { type Relation, relationName, relationsWith } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { labelProblem } from '../../platform/kubernetes/label-syntax.ts'
import { partOfLabels } from '../coordinated-workers/policies.ts'
import { enrolmentLabels } from './beacon.ts'

/** A source of labels. `labels` is undefined if it has none. `unreadable` is the reason why they are unknown. */
type Source = {
  name: string
  labels?: Record<string, unknown> | undefined
  unreadable?: string
  /** The databag key, if the source is another application. */
  from?: ForeignKey
  /** The cluster whose label the other application may set. */
  cluster?: string | undefined
}

/**
 * Merges the labels of the config, the `service_mesh` relations and the `cluster` relations. If they differ in the value of a key, the earlier source in
 * this list wins, and among relations the lower id. Other applications may only set labels of their mesh and their cluster.
 */
export const desiredLabels = (subject: Subject, { relations, config }: EffectiveState): DesiredLabels => {
  const own = config?.mesh && enrolmentLabels(subject, config.mesh)
  const sources: Source[] = [
    { name: CONFIG, labels: config?.labels },
    { name: BEACON, labels: own },
    { name: 'coordinator', labels: config?.coordinator && partOfLabels(subject.application) },
    ...relationsWith(relations, { interface: 'service_mesh', role: 'requires' }).map((relation) =>
      fromRelation(subject, relation, 'labels'),
    ),
    ...relationsWith(relations, { interface: 'cluster', role: 'requires' }).map((relation) =>
      fromRelation(subject, relation, 'worker_labels'),
    ),
  ]
  const said = sources.flatMap(({ name, labels, from, cluster }) =>
    Object.entries(labels ?? {}).map(([key, value]) => ({
      ...{ name, key, value },
      refused: from && foreignProblem(from, key, value, cluster),
    })),
  )
  const asked = said.filter(({ refused }) => refused === undefined)
  const bad = asked.filter(({ key, value }) => labelProblem(key, value) !== undefined)
  const labels: Record<string, string> = {}
  for (const { key, value } of asked)
    if (labelProblem(key, value) === undefined) labels[key] = ownValue(labels, key) ?? (value as string)
  const unreadable = sources.filter((source) => source.unreadable !== undefined)
  const overruled = asked.flatMap(({ name, key, value: wanted }) => {
    const value = ownValue(config?.labels, key)
    const isOverruled = MESH_KEYS.includes(key) && typeof wanted === 'string' && typeof value === 'string'
    return name !== CONFIG && isOverruled && value === ownValue(labels, key) && value !== wanted
      ? [{ key, value, wanted }]
      : []
  })
  const refused = [
    ...unreadable.map(({ name, unreadable: why }) => `${name}: ${why}; its labels stay in effect`),
    ...said.flatMap(({ name, key, value, refused = labelProblem(key, value) }) =>
      refused === undefined ? [] : [notApplied(name, key, refused)],
    ),
  ]
  return {
    labels,
    ...(overruled.length > 0 && { overruled }),
    required: asked.some(({ name }) => name !== BEACON),
    unknown: unreadable.length > 0 ? 'all' : bad.map(({ key }) => key),
    ...(refused.length > 0 && { refused }),
    messages: said.flatMap(({ name, key, value, refused = labelProblem(key, value) }) => {
      const problem = refused === undefined ? contradiction(labels, key, value) : undefined
      return problem === undefined ? [] : [notApplied(name, key, problem)]
    }),
  }
}

const CONFIG = 'config'
const BEACON = 'the beacon itself'

const notApplied = (source: string, key: string, problem: string): string =>
  `${source}: label ${key.slice(0, 80)} is not applied: ${problem}`

const contradiction = (labels: Record<string, string>, key: string, value: unknown): string | undefined => {
  const earlier = ownValue(labels, key)
  return earlier === undefined || earlier === value ? undefined : `${earlier} is requested by a source that precedes it`
}

const MeshType = z.literal('istio')
const Labels = z.record(z.string(), z.unknown())

const fromRelation = ({ namespace }: Subject, relation: Relation, key: ForeignKey): Source => {
  const name = relationName(relation)
  const { data, application, namespace: home = namespace } = relation.remote
  const meshType = readValue(data, 'mesh_type', MeshType)
  if ('unreadable' in meshType) return { name, unreadable: meshType.unreadable }
  const labels = readValue(data, key, Labels)
  if ('unreadable' in labels) return { name, unreadable: labels.unreadable }
  return { name, from: key, labels: labels.value, cluster: home === namespace ? application : undefined }
}
