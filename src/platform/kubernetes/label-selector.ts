import * as z from 'zod'
import { ownValue } from '../base/own-value.ts'
import type { KubernetesObject } from './objects.ts'

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

/**
 * Parses the text of a selector, such as `a=b,c in (d,e),!f`. See
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#api.
 */
export const parseSelector = (text: string): LabelSelector => {
  // a comma in brackets is between values
  const requirements = text.split(/,(?![^(]*\))/).map((one) => REQUIREMENT.exec(one) ?? [])
  return {
    matchLabels: Object.fromEntries(
      requirements.flatMap(([, , key = '', sign, value = '']) => (sign === '=' ? [[key, value]] : [])),
    ),
    matchExpressions: requirements.flatMap(([, absent, key = '', sign, value = '', word, list = '']) => {
      if (sign) return sign === '=' ? [] : [{ key, operator: 'NotIn', values: [value] }]
      if (word === undefined) return [{ key, operator: absent ? 'DoesNotExist' : 'Exists', values: [] }]
      const values = list.split(',').map((each) => each.trim())
      return [{ key, operator: word === 'in' ? 'In' : 'NotIn', values }]
    }),
  }
}

const REQUIREMENT = /^\s*(!?)\s*([^\s!=()]+)\s*(?:(!?=)=?\s*(\S*)|(in|notin)\s*\((.*)\))?\s*$/

/** Splits the text of a selector into requirements, `key=value` or `key`. Returns undefined for other forms. */
export const requirementsIn = (selector: string | undefined): string[] | undefined => {
  const requirements = selector?.split(',') ?? []
  return requirements.every((one) => /^[^\s!=()]+(=[^\s!=()]*)?$/.test(one)) ? requirements : undefined
}

/** Tells if an object meets a requirement. */
export const isMet = (requirement: string, { metadata: { labels } }: KubernetesObject): boolean => {
  const [key = '', value] = requirement.split('=')
  const own = ownValue(labels, key)
  return own !== undefined && (value === undefined || own === value)
}
