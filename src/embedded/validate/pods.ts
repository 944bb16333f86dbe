import { at, equal, type Json, type JsonMap, listOf, mapOf } from '../kinds/json.ts'
import type { FieldError } from '../kinds/status.ts'
import { forbiddenField, invalidValue } from './errors.ts'
import { podSpecErrors } from './pod-spec.ts'
import { type Check, holds, items, optional } from './rules.ts'

const lists = ['containers', 'initContainers'] as const

/** Templates may have such images. */
const paddedImages = (spec: JsonMap): FieldError[] =>
  lists.flatMap((list) =>
    items(({ image }, field) =>
      optional(holds(() => String(image).trim() === image, 'must not have leading or trailing whitespace'))(
        image,
        `${field}.image`,
      ),
    )(spec[list], `spec.${list}`),
  )

const without = (map: JsonMap, ...keys: string[]): JsonMap =>
  Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)))

const isGated = ({ schedulingGates }: JsonMap): boolean => listOf(schedulingGates).length > 0

/** The members with rules of their own; while gates keep a pod from a node, it may still say which one. */
const looseKeys = (before: JsonMap): string[] => [
  ...['activeDeadlineSeconds', 'schedulingGates', 'tolerations'],
  ...(isGated(before) ? ['nodeSelector'] : []),
  // the scheduler's part is played here
  ...(before.nodeName === undefined ? ['nodeName'] : []),
]

/** The parts of a pod that do not change. */
const fixedPart = (spec: JsonMap, before: JsonMap): JsonMap => ({
  ...without(spec, ...looseKeys(before)),
  ...(isGated(before) && { affinity: without(mapOf(spec.affinity), 'nodeAffinity') }),
  ...Object.fromEntries(
    lists.map((list) => [list, listOf(spec[list]).map((container) => without(mapOf(container), 'image'))]),
  ),
})

const addedGates = (spec: JsonMap, before: JsonMap): FieldError[] =>
  items(({ name }, field) =>
    listOf(before.schedulingGates).some((gate) => at(gate, 'name') === name)
      ? []
      : [forbiddenField(`${field}.name`, `only deletion is allowed, but found new scheduling gate '${name}'`)],
  )(spec.schedulingGates, 'spec.schedulingGates')

const lostTolerations = (spec: JsonMap, before: JsonMap): FieldError[] => {
  const plain = (toleration: Json) => without(mapOf(toleration), 'tolerationSeconds')
  const kept = listOf(spec.tolerations).map(plain)
  const isLost = listOf(before.tolerations).some((old) => !kept.some((each) => equal(each, plain(old))))
  const why = 'existing toleration can not be modified except its tolerationSeconds'
  return isLost ? [forbiddenField('spec.tolerations', why)] : []
}

const deadlineErrors = (deadline: Json = null, before: Json = null): FieldError[] => {
  const why =
    deadline === null
      ? 'must not update from a positive integer to nil value'
      : 'must be less than or equal to previous value'
  const isLater = deadline === null || Number(deadline) > Number(before)
  return before !== null && isLater ? [invalidValue('spec.activeDeadlineSeconds', deadline, why)] : []
}

const selectorErrors = ({ nodeSelector = {} }: JsonMap, before: JsonMap): FieldError[] => {
  const isKept = Object.entries(mapOf(before.nodeSelector)).every(([key, value]) => at(nodeSelector, key) === value)
  const why = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)'
  return isKept ? [] : [invalidValue('spec.nodeSelector', nodeSelector, why)]
}

/** A term as Go prints it. */
const printedTerm = (term: Json): Json => {
  const printed = (list: Json | undefined): Json =>
    Array.isArray(list)
      ? list.map((each) => ({
          Key: at(each, 'key'),
          Operator: at(each, 'operator'),
          Values: at(each, 'values') ?? null,
        }))
      : null
  return { MatchExpressions: printed(at(term, 'matchExpressions')), MatchFields: printed(at(term, 'matchFields')) }
}

/** Tells if a term says what the one before it said, and more; an empty one, which no node meets, stays empty. */
const isNarrower = (term: Json | undefined, before: Json): boolean => {
  const pairs = ['matchExpressions', 'matchFields'].map(
    (key) => [listOf(at(term, key)), listOf(at(before, key))] as const,
  )
  const wasEmpty = pairs.every(([, old]) => old.length === 0)
  return pairs.every(([now, old]) => equal(wasEmpty ? now : now.slice(0, old.length), old))
}

const termErrors = (spec: JsonMap, before: JsonMap): FieldError[] => {
  const place = ['affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution', 'nodeSelectorTerms']
  const [terms, old] = [listOf(at(spec, ...place)), listOf(at(before, ...place))]
  const field = `spec.${place.join('.')}`
  const why = 'no additions/deletions to non-empty NodeSelectorTerms list are allowed'
  if (old.length === 0) return []
  if (old.length !== terms.length) return [invalidValue(field, terms.map(printedTerm), why)]
  return terms.flatMap((term, index) =>
    isNarrower(term, old[index] ?? null)
      ? []
      : [
          invalidValue(
            `${field}[${index}]`,
            printedTerm(term),
            'only additions are allowed (no mutations or deletions)',
          ),
        ],
  )
}

const otherwise =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)'

const changeErrors = (spec: JsonMap, before: JsonMap): FieldError[] => {
  const list = lists.find((key) => listOf(spec[key]).length !== listOf(before[key]).length)
  if (list !== undefined) return [forbiddenField(`spec.${list}`, 'pod updates may not add or remove containers')]
  return [
    ...deadlineErrors(spec.activeDeadlineSeconds, before.activeDeadlineSeconds),
    ...lostTolerations(spec, before),
    ...addedGates(spec, before),
    ...(isGated(before) ? [...selectorErrors(spec, before), ...termErrors(spec, before)] : []),
    ...(equal(fixedPart(spec, before), fixedPart(before, before)) ? [] : [forbiddenField('spec', otherwise)]),
  ]
}

/** The errors of a pod, and of what has changed in it. */
export const podErrors: Check = ({ spec: value }, previous) => {
  const spec = mapOf(value)
  const late = spec.ephemeralContainers !== undefined && previous === undefined
  return [
    ...podSpecErrors(spec, 'spec'),
    ...paddedImages(spec),
    ...(late ? [forbiddenField('spec.ephemeralContainers', 'cannot be set on create')] : []),
    ...(previous === undefined ? [] : changeErrors(spec, mapOf(previous.spec))),
  ]
}
