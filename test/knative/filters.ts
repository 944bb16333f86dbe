import type { Filter } from './kinds.ts'

export type Attributes = Readonly<Record<string, string>>

const every = (
  wanted: Record<string, string> | undefined,
  attributes: Attributes,
  holds: (value: string, expected: string) => boolean,
): boolean =>
  Object.entries(wanted ?? {}).every(([name, expected]) => {
    const value = attributes[name]
    return value !== undefined && holds(value, expected)
  })

/** Whether a Trigger's filter lets an event pass: Knative's dialects, of which each filter has one. */
export const matches = (filter: Filter, attributes: Attributes): boolean =>
  every(filter.exact, attributes, (value, expected) => value === expected) &&
  every(filter.prefix, attributes, (value, expected) => value.startsWith(expected)) &&
  every(filter.suffix, attributes, (value, expected) => value.endsWith(expected)) &&
  (filter.all ?? []).every((nested) => matches(nested, attributes)) &&
  (filter.any?.some((nested) => matches(nested, attributes)) ?? true) &&
  !(filter.not && matches(filter.not, attributes))
