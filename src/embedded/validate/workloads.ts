import { at, equal, isEmptyValue, type Json, type JsonMap, listOf, mapOf, withAt } from '../kinds/json.ts'
import type { FieldError } from '../kinds/status.ts'
import { annotationErrors, forbiddenField, invalidValue, labelErrors, required, unsupportedText } from './errors.ts'
import { problems } from './formats.ts'
import { lastingErrors, podSpecErrors, selectorLabelErrors } from './pods.ts'
import { atMostAll, countOrPercent, nonNegative } from './rules.ts'
import { matches } from './selector-object.ts'

/** The errors of an object; `previous` is the stored one it replaces. */
export type Check = (object: JsonMap, previous: JsonMap | undefined) => FieldError[]

const templateErrors = (template: JsonMap, kind: string): FieldError[] => [
  ...labelErrors(at(template, 'metadata', 'labels'), 'spec.template.labels'),
  ...annotationErrors(at(template, 'metadata', 'annotations'), 'spec.template.annotations'),
  ...podSpecErrors(mapOf(template.spec), 'spec.template.spec'),
  ...lastingErrors(mapOf(template.spec), 'spec.template.spec', kind),
]

const selectorErrors = (spec: JsonMap, kind: string): FieldError[] => {
  const selector = mapOf(spec.selector)
  const labels = at(spec, 'template', 'metadata', 'labels')
  const empty = Object.values(selector).every((part) => isEmptyValue(part ?? null))
  const mismatch = invalidValue('spec.template.metadata.labels', labels, '`selector` does not match template `labels`')
  if (spec.selector === undefined) return [required('spec.selector'), mismatch]
  if (empty) return [invalidValue('spec.selector', selector, `empty selector is invalid for ${kind}`)]
  return [...selectorLabelErrors(selector, 'spec.selector'), ...(matches(selector, mapOf(labels)) ? [] : [mismatch])]
}

/** The errors of a selector and a template. A template is compared only with a valid selector. */
const podsErrors = (spec: JsonMap, kind: string, template: readonly FieldError[]): FieldError[] => {
  const bad = selectorLabelErrors(mapOf(spec.selector), 'spec.selector')
  if (bad.length > 0) return [...bad, invalidValue('spec.selector', spec.selector, 'invalid label selector')]
  return [...selectorErrors(spec, kind), ...template]
}

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

/** A value must be one of two. */
const eitherOf = (value: Json | undefined, field: string, sent: Json | undefined, ...names: string[]): FieldError[] =>
  value === undefined || names.includes(String(value))
    ? []
    : [invalidValue(field, sent, `must be '${names.join("' or '")}'`)]

const policyErrors = ({ podManagementPolicy: policy, updateStrategy: strategy }: JsonMap): FieldError[] => {
  const type = at(strategy, 'type')
  const rolling = at(strategy, 'rollingUpdate')
  return [
    ...eitherOf(policy, 'spec.podManagementPolicy', policy, 'OrderedReady', 'Parallel'),
    ...eitherOf(type, 'spec.updateStrategy', strategy, 'RollingUpdate', 'OnDelete'),
    ...(type === 'OnDelete' && rolling !== undefined
      ? [invalidValue('spec.updateStrategy.rollingUpdate', rolling, "only allowed for updateStrategy 'RollingUpdate'")]
      : []),
  ]
}

/** Adds a volume to the pods for each claim template. */
const withClaims = (template: JsonMap, { volumeClaimTemplates }: JsonMap): JsonMap => {
  const names = listOf(volumeClaimTemplates).map((claim) => at(claim, 'metadata', 'name'))
  const others = listOf(at(template, 'spec', 'volumes')).filter((volume) => !names.includes(at(volume, 'name')))
  const claims = names.map((name) => ({ name, emptyDir: {} }))
  return names.length === 0 ? template : withAt(template, ['spec', 'volumes'], [...claims, ...others])
}

const claimErrors = ({ volumeClaimTemplates }: JsonMap): FieldError[] =>
  listOf(volumeClaimTemplates).flatMap((claim, index) => {
    const field = `spec.volumeClaimTemplates[${index}].spec`
    const modes = listOf(at(claim, 'spec', 'accessModes'))
    const storage = at(claim, 'spec', 'resources', 'requests', 'storage')
    return [
      ...(modes.length === 0 ? [required(`${field}.accessModes`, 'at least 1 access mode is required')] : []),
      ...(storage === undefined ? [required(`${field}.resources[storage]`)] : []),
    ]
  })

const serviceNameErrors = (name: Json | undefined): FieldError[] =>
  name === undefined || name === ''
    ? []
    : problems('label', String(name)).map((why) => invalidValue('spec.serviceName', name, why))

export const statefulSetErrors: Check = (object, previous) => {
  const spec = mapOf(object.spec)
  const template = mapOf(spec.template)
  const fixed = previous === undefined || equal(fixedPart(spec), fixedPart(previous.spec))
  const allowed = `'${statefulSetMutable.slice(0, -1).join("', '")}' and '${statefulSetMutable.at(-1)}'`
  return [
    ...policyErrors(spec),
    ...claimErrors(spec),
    ...nonNegative(spec.replicas, 'spec.replicas'),
    ...nonNegative(spec.minReadySeconds, 'spec.minReadySeconds'),
    ...serviceNameErrors(spec.serviceName),
    ...podsErrors(spec, 'statefulset', [
      // The API server checks a StatefulSet's template labels twice, and lists each error twice.
      ...labelErrors(at(template, 'metadata', 'labels'), 'spec.template.labels'),
      ...templateErrors(withClaims(template, spec), 'StatefulSet'),
    ]),
    ...(fixed
      ? []
      : [forbiddenField('spec', `updates to statefulset spec for fields other than ${allowed} are forbidden`)]),
  ]
}

const isZero = (value: Json | undefined): boolean => value === 0 || value === '0%'

const rollingErrors = (rolling: JsonMap): FieldError[] => {
  const { maxUnavailable, maxSurge } = rolling
  const field = 'spec.strategy.rollingUpdate.maxUnavailable'
  const both = isZero(maxUnavailable) && isZero(maxSurge)
  return [
    ...countOrPercent(maxUnavailable, field),
    ...countOrPercent(maxSurge, 'spec.strategy.rollingUpdate.maxSurge'),
    ...(both ? [invalidValue(field, maxUnavailable, 'may not be 0 when `maxSurge` is 0')] : []),
    ...atMostAll(maxUnavailable, field),
  ]
}

const strategyErrors = ({ type, rollingUpdate }: JsonMap): FieldError[] => {
  const known = ['Recreate', 'RollingUpdate']
  if (type !== undefined && !known.includes(String(type)))
    return [
      unsupportedText(
        'spec.strategy',
        `{"Type":${JSON.stringify(type)},"RollingUpdate":${JSON.stringify(rollingUpdate ?? null)}}`,
        known,
      ),
    ]
  if (type === 'Recreate' && rollingUpdate !== undefined)
    return [forbiddenField('spec.strategy.rollingUpdate', "may not be specified when strategy `type` is 'Recreate'")]
  return rollingErrors(mapOf(rollingUpdate))
}

const deadlineErrors = ({ progressDeadlineSeconds: deadline, minReadySeconds: least }: JsonMap): FieldError[] => [
  ...nonNegative(deadline, 'spec.progressDeadlineSeconds'),
  ...(deadline !== undefined && Number(deadline) <= Number(least ?? 0)
    ? [invalidValue('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds')]
    : []),
]

export const deploymentErrors: Check = (object, previous) => {
  const spec = mapOf(object.spec)
  const moved = previous !== undefined && !equal(spec.selector, at(previous, 'spec', 'selector'))
  return [
    ...nonNegative(spec.replicas, 'spec.replicas'),
    ...podsErrors(spec, 'deployment', templateErrors(mapOf(spec.template), 'ReplicaSet')),
    ...strategyErrors(mapOf(spec.strategy)),
    ...nonNegative(spec.minReadySeconds, 'spec.minReadySeconds'),
    ...nonNegative(spec.revisionHistoryLimit, 'spec.revisionHistoryLimit'),
    ...deadlineErrors(spec),
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
    ...podSpecErrors(mapOf(object.spec), 'spec'),
    ...(previous === undefined && at(object.spec, 'ephemeralContainers') !== undefined
      ? [forbiddenField('spec.ephemeralContainers', 'cannot be set on create')]
      : []),
    ...(previous === undefined || equal(fixed(object), fixed(previous)) ? [] : [forbiddenField('spec', why)]),
  ]
}
