import { type Json, type JsonMap, labelOf, listOf, mapOf } from '../../platform/base/json.ts'

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
