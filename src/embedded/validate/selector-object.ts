import { type Json, type JsonMap, labelOf, listOf, mapOf } from '../kinds/json.ts'
import type { FieldError } from '../kinds/status.ts'
import { forbiddenField, invalidValue, labelErrors, required } from './errors.ts'
import { formatted, items, labelKey, members, type Rule } from './rules.ts'

/** Matches labels with a selector of workloads, `{ matchLabels, matchExpressions }`. */
export const matches = (
  { matchLabels, matchExpressions }: JsonMap,
  labels: Readonly<Record<string, unknown>>,
): boolean =>
  Object.entries(mapOf(matchLabels)).every(([key, value]) => labelOf(labels, key) === value) &&
  listOf(matchExpressions).every((expression) => {
    const { key, operator, values } = mapOf(expression)
    const label = labelOf(labels, String(key)) as Json | undefined
    if (operator === 'Exists') return label !== undefined
    if (operator === 'DoesNotExist') return label === undefined
    return (label !== undefined && listOf(values).includes(label)) === (operator === 'In')
  })

type Operator = (count: number, field: string) => FieldError[]

const some: Operator = (count, field) =>
  count > 0 ? [] : [required(field, "must be specified when `operator` is 'In' or 'NotIn'")]

const none: Operator = (count, field) =>
  count === 0 ? [] : [forbiddenField(field, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]

const one: Operator = (count, field) =>
  count === 1 ? [] : [required(field, "must be specified single value when `operator` is 'Lt' or 'Gt'")]

const operators: ReadonlyMap<string, Operator> = new Map([
  ...(['In', 'NotIn'] as const).map((name) => [name, some] as const),
  ...(['Exists', 'DoesNotExist'] as const).map((name) => [name, none] as const),
])

const labelValue = formatted('labelValue')

const expressions = (known: ReadonlyMap<string, Operator>, isValue: Rule = labelValue): Rule =>
  items(({ key, operator, values }, field) => [
    ...(known.get(String(operator))?.(listOf(values).length, `${field}.values`) ?? [
      invalidValue(`${field}.operator`, operator ?? '', 'not a valid selector operator'),
    ]),
    ...labelKey(key, `${field}.key`),
    ...listOf(values).flatMap((value, index) => isValue(value, `${field}.values[${index}]`)),
  ])

/** The errors of a selector of labels. */
export const labelSelector: Rule = members({ matchLabels: labelErrors, matchExpressions: expressions(operators) })

const ofNodes: typeof operators = new Map([...operators, ['Gt', one], ['Lt', one]])

/** The errors of a selector of nodes. */
export const nodeSelector: Rule = members({ matchExpressions: expressions(ofNodes) })

/** The errors of a selector of nodes that pods would rather have, whose values may be anything. */
export const nodePreference: Rule = members({ matchExpressions: expressions(ofNodes, () => []) })
