import { nearestName } from '../../../platform/base/nearest-name.ts'
import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import { listedPolicies } from '../../policies/models.ts'
import { isOfMesh } from '../../state/interfaces.ts'
import { relationName, relationsIn } from '../../state/relation.ts'
import { type State, stands } from '../../state/state.ts'

/**
 * An endpoint that only one of config and relations has, at `where`. Unknown to the relations, its part of the config has no effect. Unknown to
 * a config that lists policies by endpoint, its relation grants nothing.
 */
export type UnmatchedEndpoint = {
  readonly to: 'relations' | 'config'
  readonly where: string
  readonly endpoint: string
  /** An endpoint of the other side with nearly the same name. */
  readonly near?: string
}

/** Lists the unmatched endpoints of both sides. Two that are near each other are one mistake, which the config's side tells. */
export const unmatchedEndpoints = (state: State): UnmatchedEndpoint[] => {
  const named = unrelated(state)
  return [...named, ...unnamed(state).filter(({ endpoint }) => !named.some(({ near }) => near === endpoint))]
}

/** Lists the endpoints that the config names, and that no relation has. */
const unrelated = (state: State): UnmatchedEndpoint[] => {
  const { policies, services = {}, databag = {} } = state.config ?? {}
  const present = new Set(relationsIn(state).flatMap((entry) => (stands(state, entry) ? [entry.endpoint] : [])))
  const named = [
    ...listedPolicies(policies).map(({ relation }, index) => ({ where: `policies[${index}]`, endpoint: relation })),
    ...Object.keys(services).map((endpoint) => ({ where: 'services', endpoint })),
    ...Object.keys(databag).map((endpoint) => ({ where: 'databag', endpoint })),
  ]
  return named
    .filter(({ endpoint }) => !present.has(endpoint))
    .map((one) => ({ to: 'relations', ...one, ...nearestTo(one.endpoint, present) }))
}

/** Lists the endpoints of relations that a config with policies by endpoint names nowhere. A coordinator derives policies of its own. */
const unnamed = (state: State): UnmatchedEndpoint[] => {
  const policies = listedPolicies(state.config?.policies)
  if (policies.length === 0 || state.config?.coordinator) return []
  const config = JSON.stringify(state.config)
  const endpoints = policies.map(({ relation }) => relation)
  return relationsIn(state)
    .filter((entry) => stands(state, entry) && entry.role === 'provides' && !isOfMesh(entry))
    .filter(({ endpoint }) => !config.includes(JSON.stringify(endpoint)))
    .map((entry) => ({
      ...{ to: 'config', where: relationName(entry), endpoint: entry.endpoint },
      ...nearestTo(entry.endpoint, endpoints),
    }))
}

const nearestTo = (endpoint: string, others: Iterable<string>): Pick<UnmatchedEndpoint, 'near'> => {
  const near = nearestName(endpoint, [...others])
  return near === undefined ? {} : { near }
}

/** Describes the unmatched endpoints that nearly match one of the other side, a sentence each. Others may still be related, or be meant for no traffic. */
export const misspeltEndpoints = (subject: Subject, state: State): string[] =>
  unmatchedEndpoints(state)
    .filter(({ near }) => near !== undefined)
    .map((unknown) => `${subjectName(subject)}: ${describeUnmatchedEndpoint(unknown)}`)

export const describeUnmatchedEndpoint = ({ to, where, endpoint, near }: UnmatchedEndpoint): string => {
  const what =
    to === 'relations'
      ? `${where} names the endpoint ${endpoint}, and no relation has it`
      : `${where} grants nothing: no policy of the config names its endpoint`
  return `${what}${near === undefined ? '' : `: is ${near} meant?`}`
}
