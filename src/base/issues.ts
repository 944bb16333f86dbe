import * as z from 'zod'

/** Whoever sends much must not fill messages and logs with what is wrong with it. */
const MOST = 5
const LONGEST = 600

/** What is wrong with a value, in a line of bounded length. */
export const describeIssues = ({ issues }: z.ZodError): string => {
  const shown = z.prettifyError(new z.ZodError(issues.slice(0, MOST))).replaceAll('\n', ' ')
  const text = shown.length > LONGEST ? `${shown.slice(0, LONGEST)}…` : shown
  return issues.length > MOST ? `${text} and ${issues.length - MOST} more` : text
}
