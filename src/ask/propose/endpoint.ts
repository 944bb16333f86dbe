import { INTERFACES } from '../../core/state/interfaces.ts'
import type { Application } from './cluster.ts'
import { freeName } from './free-name.ts'
import type { Seen } from './seen.ts'
import { listedPolicies, type Standing, wordOf } from './standing.ts'

/** An endpoint that a policy names, and the clients that are related to it already. */
export type Endpoint = Pick<Standing, 'interface' | 'role'> & {
  readonly name: string
  readonly related: readonly string[]
}

/** Interfaces whose relations mean something else than that two applications are related. */
const WITH_MEANING: ReadonlySet<string> = new Set(Object.keys(INTERFACES))

/**
 * Chooses the endpoint for clients: a present one whose applications are all among them, that no policy names, else a new one. So the policy lets in nobody
 * else.
 */
export const endpointFor = (
  target: Application,
  clients: readonly Seen[],
  name: string,
  taken: readonly string[],
): Endpoint => {
  const names = new Set(clients.map(({ from }) => from))
  const declared = listedPolicies(target).map(({ relation }) => relation)
  const standing = wordOf(target)
  const used = new Set([...standing.map(({ endpoint }) => endpoint), ...declared, ...taken])
  const fitting = [...Map.groupBy(standing, ({ endpoint }) => endpoint)].filter(
    ([endpoint, relations]) =>
      target.isRelated !== true &&
      ![...declared, ...taken].includes(endpoint) &&
      relations.every((one) => !WITH_MEANING.has(one.interface) && one.role !== 'peers' && names.has(one.remote)),
  )
  const [found] = fitting.toSorted(([, one], [, other]) => other.length - one.length)
  const [first] = found?.[1] ?? []
  if (found !== undefined && first !== undefined)
    return {
      name: found[0],
      interface: first.interface,
      role: first.role,
      related: found[1].map(({ remote }) => remote),
    }
  return {
    name: freeName(name, (one) => used.has(one)),
    interface: interfaceOf(clients),
    role: 'provides',
    related: [],
  }
}

const interfaceOf = (clients: readonly Seen[]): string => (clients.every(({ tcp }) => tcp === 0) ? 'http' : 'tcp')
