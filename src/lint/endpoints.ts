import { type Subject, subjectName } from '../base/subject.ts'
import { relationsIn } from '../state/relation.ts'
import { type State, stands } from '../state/state.ts'
import type { Finding } from './lint.ts'

/** Endpoints that the config names and no relation has: what is said of them reaches nobody. */
export const endpointFindings = (subject: Subject, state: State): Finding[] => {
  const { policies = [], services = {}, databag = {} } = state.config ?? {}
  const present = new Set(relationsIn(state).flatMap((entry) => (stands(state, entry) ? [entry.endpoint] : [])))
  const about = subjectName(subject)
  const missing = (endpoint: string, what: string): Finding[] =>
    present.has(endpoint)
      ? []
      : [
          {
            rule: 'endpoint-unknown',
            about,
            message: `${what} names the endpoint ${endpoint}, and no relation has it${suggestion(endpoint, present)}`,
          },
        ]
  return [
    ...policies.flatMap(({ relation }, index) => missing(relation, `policies[${index}]`)),
    ...Object.keys(services).flatMap((endpoint) => missing(endpoint, 'services')),
    ...Object.keys(databag).flatMap((endpoint) => missing(endpoint, 'databag')),
  ]
}

const suggestion = (endpoint: string, present: ReadonlySet<string>): string => {
  const near = [...present].find((one) => distance(one, endpoint) <= 2)
  return near === undefined ? '' : `: is ${near} meant?`
}

/** Counts the letters to change, add or leave out to get from one to the other. */
const distance = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1]
    for (const [column, expected] of [...other].entries())
      next.push(
        Math.min(
          (row[column + 1] ?? 0) + 1,
          (next[column] ?? 0) + 1,
          (row[column] ?? 0) + (letter === expected ? 0 : 1),
        ),
      )
    row = next
  }
  return row.at(-1) ?? 0
}
