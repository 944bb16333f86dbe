import { problems } from './formats.ts'
import { at, equal, isEmpty, type Json, type JsonMap, listOf, mapOf, withAt } from './json.ts'
import { matches } from './selector-object.ts'
import type { FieldError } from './status.ts'
import { annotationErrors, forbidden, invalidValue, labelErrors, required } from './validate.ts'

/** What is wrong with an object; `previous` is the stored one it replaces. */
export type Check = (object: JsonMap, previous: JsonMap | undefined) => FieldError[]

const containerErrors = (spec: JsonMap, field: string): FieldError[] => {
  const containers = listOf(spec.containers)
  if (containers.length === 0) return [required(`${field}.containers`)]
  const names = containers.map((container) => at(container, 'name'))
  return containers.flatMap((container, index) => {
    const path = `${field}.containers[${index}]`
    const name = names[index]
    return [
      ...(isEmpty(name ?? null) || name === '' ? [required(`${path}.name`)] : nameErrors(String(name), `${path}.name`)),
      ...(names.indexOf(name) < index ? [duplicate(`${path}.name`, name)] : []),
      ...(at(container, 'image') === undefined ? [required(`${path}.image`)] : []),
    ]
  })
}

const nameErrors = (name: string, field: string): FieldError[] =>
  problems('label', name).map((why) => invalidValue(field, name, why))

const duplicate = (field: string, value: Json | undefined): FieldError => ({
  field,
  reason: 'FieldValueDuplicate',
  message: `Duplicate value: ${JSON.stringify(value)}`,
})

const templateErrors = (template: JsonMap): FieldError[] => [
  ...labelErrors(at(template, 'metadata', 'labels'), 'spec.template.labels'),
  ...annotationErrors(at(template, 'metadata', 'annotations'), 'spec.template.annotations'),
  ...containerErrors(mapOf(template.spec), 'spec.template.spec'),
]

const selectorErrors = (spec: JsonMap, kind: string): FieldError[] => {
  const selector = mapOf(spec.selector)
  const labels = at(spec, 'template', 'metadata', 'labels')
  const empty = Object.values(selector).every((part) => isEmpty(part ?? null))
  const mismatch = invalidValue('spec.template.metadata.labels', labels, '`selector` does not match template `labels`')
  if (spec.selector === undefined) return [required('spec.selector'), mismatch]
  if (empty) return [invalidValue('spec.selector', selector, `empty selector is invalid for ${kind}`)]
  return matches(selector, mapOf(labels)) ? [] : [mismatch]
}

const negative = (spec: JsonMap): FieldError[] =>
  Number(spec.replicas) < 0 ? [invalidValue('spec.replicas', spec.replicas, 'must be greater than or equal to 0')] : []

const statefulSetMutable = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
]

const fixedPart = (spec: Json | undefined): JsonMap =>
  Object.fromEntries(Object.entries(mapOf(spec)).filter(([key]) => !statefulSetMutable.includes(key)))

export const statefulSetErrors: Check = (object, previous) => {
  const spec = mapOf(object.spec)
  const template = mapOf(spec.template)
  const fixed = previous === undefined || equal(fixedPart(spec), fixedPart(previous.spec))
  const allowed = `'${statefulSetMutable.slice(0, -1).join("', '")}' and '${statefulSetMutable.at(-1)}'`
  return [
    ...negative(spec),
    ...selectorErrors(spec, 'statefulset'),
    // The API server checks a StatefulSet's template labels twice, and lists each error twice.
    ...labelErrors(at(template, 'metadata', 'labels'), 'spec.template.labels'),
    ...templateErrors(template),
    ...(fixed ? [] : [forbidden('spec', `updates to statefulset spec for fields other than ${allowed} are forbidden`)]),
  ]
}

export const deploymentErrors: Check = (object, previous) => {
  const spec = mapOf(object.spec)
  const moved = previous !== undefined && !equal(spec.selector, at(previous, 'spec', 'selector'))
  return [
    ...negative(spec),
    ...selectorErrors(spec, 'deployment'),
    ...templateErrors(mapOf(spec.template)),
    ...(moved ? [invalidValue('spec.selector', spec.selector, 'field is immutable')] : []),
  ]
}

const podMutable = [
  'containers',
  'initContainers',
  'tolerations',
  'activeDeadlineSeconds',
  'terminationGracePeriodSeconds',
]

export const podErrors: Check = (object, previous) => {
  const fixed = (pod: JsonMap): JsonMap =>
    podMutable.reduce((spec, key) => withAt(spec, [key], undefined), mapOf(pod.spec))
  const why =
    'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)'
  return [
    ...containerErrors(mapOf(object.spec), 'spec'),
    ...(previous === undefined || equal(fixed(object), fixed(previous)) ? [] : [forbidden('spec', why)]),
  ]
}
