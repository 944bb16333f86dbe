import { ENDPOINT_FIELDS, httpFields, type MeshEndpoint } from '../../core/policies/endpoint.ts'
import type { MeshPolicy } from '../../core/policies/models.ts'
import type { Operation } from './authorization-policy.ts'

/** The operations granted to a source at a target, sorted and without duplicates. */
export type Rights = 'everything' | readonly Operation[]

/**
 * Parses the rights that `policy` requests. Only a policy without endpoints requests everything: an empty endpoint requests nothing,
 * because Istio refuses an empty operation. So does one with hosts, methods or paths at a pod: ztunnel drops such a rule.
 */
export const parseRights = ({ endpoints, target_type }: MeshPolicy): Rights => {
  if (endpoints.length === 0) return 'everything'
  const enforced = endpoints.filter((endpoint) => target_type === 'app' || httpFields(endpoint).length === 0)
  return distinct(enforced.map(parseOperation).filter((operation) => Object.keys(operation).length > 0))
}

export const mergeRights = (rights: readonly Rights[]): Rights =>
  rights.includes('everything') ? 'everything' : distinct(rights.flatMap((one) => (one === 'everything' ? [] : one)))

/** The fields of an endpoint have the names of Istio's. */
const FIELDS: readonly (keyof MeshEndpoint & keyof Operation)[] = ENDPOINT_FIELDS

const parseOperation = (endpoint: MeshEndpoint): Operation =>
  Object.fromEntries(
    FIELDS.flatMap((field) => {
      const values = endpoint[field] ?? []
      return values.length === 0 ? [] : [[field, sorted(values)]]
    }),
  )

/** As the strings that Istio wants, and numbers in their order. */
export const sorted = (values: readonly (string | number)[]): string[] =>
  [...new Set(values)].toSorted((one, other) => (one < other ? -1 : Number(one > other))).map(String)

const distinct = (operations: readonly Operation[]): Operation[] => {
  const byText = new Map(operations.map((operation) => [JSON.stringify(operation), operation]))
  return [...byText.keys()].toSorted().map((text) => byText.get(text) ?? {})
}
