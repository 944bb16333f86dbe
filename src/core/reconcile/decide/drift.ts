import { ownValue } from '../../../platform/base/own-value.ts'
import { readLabels } from '../../../platform/kubernetes/apply-labels.ts'
import { fieldDifferences } from '../../../platform/kubernetes/field-differences.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import type { Operation } from './operation.ts'

/** A difference between the found and the desired object, which a write repaired. `was` and `is` are absent if there is no value. */
export type Drift = {
  /** The object's name. */
  readonly object: string
  /** The key of the label, or the path of the field. Absent for a whole object. */
  readonly label?: string
  readonly field?: string
  readonly was?: string
  readonly is?: string
}

/** Lists the changes of an operation, label by label or field by field. */
export const driftOf = (operation: Operation): Drift[] => {
  const { object } = operation
  // secret values are never shown
  if (operation.verb === 'touch' || operation.verb === 'forget') return []
  if (operation.verb === 'remove') return [{ object, was: 'there' }]
  if (operation.verb !== 'apply') return labelDrift(operation)
  const { desired, found } = operation
  if (found === undefined) return [{ object, is: 'there' }]
  const { metadata, apiVersion: _a, kind: _k, ...content } = desired
  const { labels, annotations } = metadata
  return fieldDifferences(found, { metadata: { labels, annotations }, ...content }).map(({ path, was, is }) => ({
    ...{ object, field: path.join('.') },
    ...shownOf(desired, was, is),
  }))
}

type Labelling = Extract<Operation, { readonly verb: 'label' | 'release' | 'annotate' }>

const labelDrift = ({ object, place, difference: { apply = {}, remove }, manager }: Labelling): Drift[] => {
  const { labels, holders } = readLabels(place, manager)
  const held = [...holders.own].filter((key) => ownValue(apply, key) === undefined)
  return [...new Set([...Object.keys(apply), ...Object.keys(remove), ...held])].flatMap((label) => {
    const [was, is] = [ownValue(labels, label), ownValue(apply, label)]
    return was === is ? [] : [{ object, label, ...(was !== undefined && { was }), ...(is !== undefined && { is }) }]
  })
}

/** Kinds whose values may appear in logs. Of workloads only short values are shown, and of other kinds none. */
const OPEN: readonly string[] = [
  'AuthorizationPolicy',
  'Gateway',
  'HorizontalPodAutoscaler',
  'PodDisruptionBudget',
  'Service',
  'ServiceAccount',
]
const WORKLOADS: readonly string[] = ['StatefulSet', 'Deployment']

const LONGEST = 200

const shownOf = ({ kind }: KubernetesObject, was: unknown, is: unknown): Pick<Drift, 'was' | 'is'> => {
  const isPlain = [was, is].every((value) => typeof value !== 'object' && isShort(value))
  const isShown = OPEN.includes(kind) || (WORKLOADS.includes(kind) && isPlain)
  const text = (value: unknown, instead: string) => (isShown ? shortened(value) : instead)
  return {
    ...(was !== undefined && { was: text(was, 'another value') }),
    ...(is !== undefined && { is: text(is, 'the desired one') }),
  }
}

const isShort = (value: unknown): boolean => value === undefined || String(value).length <= SHORT
const SHORT = 63

const shortened = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}
