import * as z from 'zod'
import { ownValue } from '../base/own-value.ts'

/** https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#resources-that-support-set-based-requirements */
export const LabelSelector = z.object({
  matchLabels: z.record(z.string(), z.string()).default({}),
  matchExpressions: z
    .array(z.object({ key: z.string(), operator: z.string(), values: z.array(z.string()).default([]) }))
    .default([]),
})
export type LabelSelector = z.infer<typeof LabelSelector>

/** Tells if labels include all of the wanted ones. */
export const hasLabels = (
  labels: Readonly<Record<string, string>> | undefined,
  wanted: Readonly<Record<string, string>> = {},
): boolean => Object.entries(wanted).every(([key, value]) => ownValue(labels, key) === value)

/** Tells if a selector selects an object with these labels. An empty selector selects all. */
export const selects = (
  { matchLabels, matchExpressions }: LabelSelector,
  labels: Readonly<Record<string, string>>,
): boolean =>
  hasLabels(labels, matchLabels) &&
  matchExpressions.every(({ key, operator, values }) => {
    const value = ownValue(labels, key)
    if (operator === 'Exists') return value !== undefined
    if (operator === 'DoesNotExist') return value === undefined
    return (value !== undefined && values.includes(value)) === (operator === 'In')
  })
