import * as z from 'zod'

/** Bounds the problems printed for input that others send. */
const MOST = 5
const LONGEST = 600

/** Describes the problems of a value in one bounded line. */
export const describeIssues = ({ issues }: z.ZodError): string => {
  const shown = z.prettifyError(new z.ZodError(issues.slice(0, MOST))).replaceAll('\n', ' ')
  const text = shown.length > LONGEST ? `${shown.slice(0, LONGEST)}…` : shown
  return issues.length > MOST ? `${text} and ${issues.length - MOST} more` : text
}
