import type { MeshPolicy } from '../policies/models.ts'
import type { Operation } from './authorization-policy.ts'

type MeshEndpoint = MeshPolicy['endpoints'][number]

/** The operations granted to a source at a target, sorted and without duplicates. */
export type Rights = 'everything' | readonly Operation[]

/**
 * Parses the rights that `policy` requests. Only a policy without endpoints requests everything: an empty endpoint requests nothing,
 * because Istio refuses an empty operation. So does one with hosts, methods or paths at a pod: ztunnel drops such a rule.
 */
export const parseRights = ({ endpoints, target_type }: MeshPolicy): Rights => {
  if (endpoints.length === 0) return 'everything'
  const enforced = endpoints.filter((endpoint) => target_type === 'app' || !hasHttpFields(endpoint))
  return distinct(enforced.map(parseOperation).filter((operation) => Object.keys(operation).length > 0))
}

export const mergeRights = (rights: readonly Rights[]): Rights =>
  rights.includes('everything') ? 'everything' : distinct(rights.flatMap((one) => (one === 'everything' ? [] : one)))

const hasHttpFields = ({ hosts, methods, paths }: MeshEndpoint): boolean =>
  [hosts, methods, paths].some((list) => list != null && list.length > 0)

const parseOperation = ({ hosts, ports, methods, paths }: MeshEndpoint): Operation => ({
  ...(hosts?.length && { hosts: sorted(hosts) }),
  ...(ports?.length && { ports: sortedPorts(ports) }),
  ...(methods?.length && { methods: sorted(methods) }),
  ...(paths?.length && { paths: sorted(paths) }),
})

const sorted = (texts: readonly string[]): string[] => [...new Set(texts)].toSorted()

/** As the strings that Istio wants, in the order of the numbers. */
export const sortedPorts = (ports: readonly number[]): string[] =>
  [...new Set(ports)].toSorted((one, other) => one - other).map(String)

const distinct = (operations: readonly Operation[]): Operation[] => {
  const byText = new Map(operations.map((operation) => [JSON.stringify(operation), operation]))
  return [...byText.keys()].toSorted().map((text) => byText.get(text) ?? {})
}
