import { type Subject, subjectName } from '../../platform/base/subject.ts'
import { listedPolicies } from '../policies/models.ts'
import { relationsIn } from '../state/relation.ts'
import { type State, stands } from '../state/state.ts'

/** An endpoint that a config names at `where` although no relation has it. The config for it has no effect. */
export type UnknownEndpoint = {
  readonly where: string
  readonly endpoint: string
  /** An endpoint of a relation with nearly the same name. */
  readonly near?: string
}

export const unknownEndpoints = (state: State): UnknownEndpoint[] => {
  const { policies, services = {}, databag = {} } = state.config ?? {}
  const present = new Set(relationsIn(state).flatMap((entry) => (stands(state, entry) ? [entry.endpoint] : [])))
  const named = [
    ...listedPolicies(policies).map(({ relation }, index) => ({ where: `policies[${index}]`, endpoint: relation })),
    ...Object.keys(services).map((endpoint) => ({ where: 'services', endpoint })),
    ...Object.keys(databag).map((endpoint) => ({ where: 'databag', endpoint })),
  ]
  return named
    .filter(({ endpoint }) => !present.has(endpoint))
    .map((one) => {
      const near = [...present].find((other) => isNear(other, one.endpoint))
      return { ...one, ...(near !== undefined && { near }) }
    })
}

/** Describes the unknown endpoints that nearly match one of a relation, a sentence each. Others may still be related later. */
export const misspeltEndpoints = (subject: Subject, state: State): string[] =>
  unknownEndpoints(state)
    .filter(({ near }) => near !== undefined)
    .map((unknown) => `${subjectName(subject)}: ${describeUnknownEndpoint(unknown)}`)

export const describeUnknownEndpoint = ({ where, endpoint, near }: UnknownEndpoint): string =>
  `${where} names the endpoint ${endpoint}, and no relation has it${near === undefined ? '' : `: is ${near} meant?`}`

/** Tells if one name may be a typo of the other. Short names allow fewer differences, because any two of them are similar. */
const isNear = (one: string, other: string): boolean => distance(one, other) <= Math.min(2, other.length - 1)

/** Counts the letters to change, add or leave out to get from one name to the other (Levenshtein distance). */
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
