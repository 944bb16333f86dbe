import { at, equal, isEmptyValue, type Json, type JsonMap, listOf, mapOf, withAt } from '../kinds/json.ts'
import type { FieldError } from '../kinds/status.ts'
import {
  annotationErrors,
  forbiddenField,
  immutable,
  invalidValue,
  labelErrors,
  required,
  unsupportedText,
} from './errors.ts'
import { podSpecErrors } from './pod-spec.ts'
import {
  atMostAll,
  type Check,
  countOrPercent,
  formatted,
  holds,
  items,
  members,
  nonNegative,
  oneOf,
  optional,
  type Rule,
} from './rules.ts'
import { labelSelector, matches } from './selector-object.ts'

/** Pods of a workload are always restarted, have no deadline, and no containers that somebody adds to running ones. */
const lastingErrors = (spec: JsonMap, field: string, kind: string): FieldError[] => [
  ...(spec.ephemeralContainers === undefined
    ? []
    : [forbiddenField(`${field}.ephemeralContainers`, 'ephemeral containers not allowed in pod template')]),
  ...oneOf('Always')(spec.restartPolicy, `${field}.restartPolicy`),
  ...(spec.activeDeadlineSeconds === undefined
    ? []
    : [forbiddenField(`${field}.activeDeadlineSeconds`, `activeDeadlineSeconds in ${kind} is not Supported`)]),
]

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
  return matches(selector, mapOf(labels)) ? [] : [mismatch]
}

/** The errors of a selector and a template. A template is compared only with a valid selector. */
const podsErrors = (spec: JsonMap, kind: string, template: readonly FieldError[]): FieldError[] => {
  const bad = labelSelector(spec.selector, 'spec.selector')
  if (bad.length > 0) return [...bad, invalidValue('spec.selector', spec.selector, 'invalid label selector')]
  return [...selectorErrors(spec, kind), ...template]
}

const statefulSetMutable = [
  ...['replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit'],
  ...['persistentVolumeClaimRetentionPolicy', 'minReadySeconds'],
]

const fixedPart = (spec: Json | undefined): JsonMap =>
  Object.fromEntries(Object.entries(mapOf(spec)).filter(([key]) => !statefulSetMutable.includes(key)))

const isEither = (value: Json | undefined, ...names: string[]): boolean =>
  value === undefined || names.includes(String(value))

const updateStrategy: Rule = (value, field) => {
  const { type, rollingUpdate } = mapOf(value)
  if (!isEither(type, 'RollingUpdate', 'OnDelete'))
    return [invalidValue(field, value, "must be 'RollingUpdate' or 'OnDelete'")]
  const why = "only allowed for updateStrategy 'RollingUpdate'"
  return type === 'OnDelete' && rollingUpdate !== undefined
    ? [invalidValue(`${field}.rollingUpdate`, rollingUpdate, why)]
    : []
}

/** Adds a volume to the pods for each claim template. */
export const withClaims = (template: JsonMap, { volumeClaimTemplates }: JsonMap): JsonMap => {
  const names = listOf(volumeClaimTemplates).map((claim) => at(claim, 'metadata', 'name'))
  const others = listOf(at(template, 'spec', 'volumes')).filter((volume) => !names.includes(at(volume, 'name')))
  const claims = names.map((name) => ({ name, emptyDir: {} }))
  return names.length === 0 ? template : withAt(template, ['spec', 'volumes'], [...claims, ...others])
}

const claims: Rule = items((claim, field) => [
  ...(listOf(at(claim, 'spec', 'accessModes')).length === 0
    ? [required(`${field}.spec.accessModes`, 'at least 1 access mode is required')]
    : []),
  ...(at(claim, 'spec', 'resources', 'requests', 'storage') === undefined
    ? [required(`${field}.spec.resources[storage]`)]
    : []),
])

const statefulSet = members({
  podManagementPolicy: holds(
    (policy) => isEither(policy, 'OrderedReady', 'Parallel'),
    "must be 'OrderedReady' or 'Parallel'",
  ),
  updateStrategy,
  volumeClaimTemplates: claims,
  replicas: nonNegative,
  minReadySeconds: nonNegative,
  serviceName: optional(formatted('label')),
})

export const statefulSetErrors: Check = (object, previous) => {
  const spec = mapOf(object.spec)
  const template = mapOf(spec.template)
  const fixed = previous === undefined || equal(fixedPart(spec), fixedPart(previous.spec))
  const allowed = `'${statefulSetMutable.slice(0, -1).join("', '")}' and '${statefulSetMutable.at(-1)}'`
  return [
    ...statefulSet(spec, 'spec'),
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

const rolling: Rule = (value, field) => {
  const { maxUnavailable, maxSurge } = mapOf(value)
  const place = `${field}.maxUnavailable`
  const both = isZero(maxUnavailable) && isZero(maxSurge)
  return [
    ...members({ maxUnavailable: countOrPercent, maxSurge: countOrPercent })(value, field),
    ...(both ? [invalidValue(place, maxUnavailable, 'may not be 0 when `maxSurge` is 0')] : []),
    ...atMostAll(maxUnavailable, place),
  ]
}

const strategy: Rule = (value, field) => {
  const { type, rollingUpdate = null } = mapOf(value)
  const printed = JSON.stringify({ Type: type, RollingUpdate: rollingUpdate })
  if (!isEither(type, 'Recreate', 'RollingUpdate'))
    return [unsupportedText(field, printed, ['Recreate', 'RollingUpdate'])]
  if (type !== 'Recreate') return rolling(rollingUpdate, `${field}.rollingUpdate`)
  const why = "may not be specified when strategy `type` is 'Recreate'"
  return rollingUpdate === null ? [] : [forbiddenField(`${field}.rollingUpdate`, why)]
}

const rollout = members<[spec: JsonMap]>({
  strategy,
  minReadySeconds: nonNegative,
  revisionHistoryLimit: nonNegative,
  progressDeadlineSeconds: optional((deadline, field, { minReadySeconds: least }) => [
    ...nonNegative(deadline, field),
    ...holds((value) => Number(value) > Number(least ?? 0), 'must be greater than minReadySeconds')(deadline, field),
  ]),
})

export const deploymentErrors: Check = (object, previous) => {
  const spec = mapOf(object.spec)
  return [
    ...nonNegative(spec.replicas, 'spec.replicas'),
    ...podsErrors(spec, 'deployment', templateErrors(mapOf(spec.template), 'ReplicaSet')),
    ...rollout(spec, 'spec', spec),
    ...immutable('spec.selector', spec.selector, previous && at(previous, 'spec', 'selector')),
  ]
}
