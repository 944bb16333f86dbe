import type * as z from 'zod'
import { Refused } from './errors.ts'
import { suggestKeys } from './nearest-name.ts'

/** The limit of problems in a message about input. */
const MOST = 5
const LONGEST = 600

/** Parses a part of a request. Throws Refused, 400, with its problems, behind the name of the part if there is one. */
export const parseInput = <T>(schema: z.ZodType<T>, value: unknown, part?: string): T => {
  const parsed = schema.safeParse(value, { error: suggestKeys })
  if (parsed.success) return parsed.data
  throw new Refused(400, `${part === undefined ? '' : `${part}: `}${describeIssues(parsed.error)}`)
}

/** Describes the problems of a value in one line of limited length: `expect[0].port: expected a port; …`. */
export const describeIssues = ({ issues }: z.ZodError): string => {
  const shown = issues.slice(0, MOST).map(describeIssue).join('; ')
  const text = shown.length > LONGEST ? `${shown.slice(0, LONGEST)}…` : shown
  return issues.length > MOST ? `${text} and ${issues.length - MOST} more` : text
}

const describeIssue = ({ path, message }: z.core.$ZodIssue): string =>
  path.length === 0 ? message : `${path.map(partOf).join('').replace(/^\./, '')}: ${message}`

const partOf = (part: PropertyKey): string => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)
