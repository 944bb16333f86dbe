import { at, equal, type Json, type JsonMap, mapOf } from '../../platform/base/json.ts'
import { LabelSelector, selects } from '../../platform/kubernetes/label-selector.ts'
import type { FieldError } from '../kinds/status.ts'
import { annotationErrors, forbiddenField, immutable, invalidValue, labelErrors, required } from './errors.ts'

/** The errors of what leads a workload to its pods. */
const podsErrors = ({ spec }: JsonMap): FieldError[] => {
  const selector = at(spec, 'selector')
  const { labels, annotations } = mapOf(at(spec, 'template', 'metadata'))
  if (selector === undefined) return [required('spec.selector', 'a workload selects its pods')]
  const { data } = LabelSelector.safeParse(selector)
  const isSelected = data !== undefined && selects(data, mapOf(labels) as Record<string, string>)
  const why = '`selector` does not match template `labels`'
  return [
    ...(isSelected ? [] : [invalidValue('spec.template.metadata.labels', labels, why)]),
    ...labelErrors(labels, 'spec.template.labels'),
    ...annotationErrors(annotations, 'spec.template.annotations'),
  ]
}

const mutable = [
  ...['replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit'],
  ...['persistentVolumeClaimRetentionPolicy', 'minReadySeconds'],
]

const fixedPart = (spec: Json | undefined): JsonMap =>
  Object.fromEntries(Object.entries(mapOf(spec)).filter(([key]) => !mutable.includes(key)))

export const statefulSetErrors = (object: JsonMap, previous: JsonMap | undefined): FieldError[] => {
  const isFixed = previous === undefined || equal(fixedPart(object.spec), fixedPart(previous.spec))
  const allowed = `'${mutable.slice(0, -1).join("', '")}' and '${mutable.at(-1)}'`
  const why = `updates to statefulset spec for fields other than ${allowed} are forbidden`
  return [...podsErrors(object), ...(isFixed ? [] : [forbiddenField('spec', why)])]
}

export const deploymentErrors = (object: JsonMap, previous: JsonMap | undefined): FieldError[] => [
  ...podsErrors(object),
  ...immutable('spec.selector', at(object.spec, 'selector'), at(previous?.spec, 'selector')),
]
