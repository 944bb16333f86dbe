import { ENDPOINT_FIELDS, httpFields, type MeshEndpoint } from '../../core/policies/endpoint.ts'
import type { MeshPolicy } from '../../core/policies/models.ts'
import type { Operation } from './authorization-policy.ts'

/** The operations that a source may use at a target, sorted and without duplicates. */
export type Rights = 'everything' | readonly Operation[]

/**
 * Parses the rights that `policy` requests. Only a policy without endpoints requests everything. An empty endpoint requests nothing, because Istio refuses
 * an empty operation. At a pod, an endpoint with hosts, methods or paths requests nothing either, because ztunnel drops such a rule.
 */
export const parseRights = ({ endpoints, target_type }: MeshPolicy): Rights => {
  if (endpoints.length === 0) return 'everything'
  const enforced = endpoints.filter((endpoint) => target_type === 'app' || httpFields(endpoint).length === 0)
  return distinct(enforced.map(parseOperation).filter((operation) => Object.keys(operation).length > 0))
}

export const mergeRights = (rights: readonly Rights[]): Rights =>
  rights.includes('everything') ? 'everything' : distinct(rights.flatMap((one) => (one === 'everything' ? [] : one)))

/** The fields of an endpoint. They have the same names in Istio. */
const FIELDS: readonly (keyof MeshEndpoint & keyof Operation)[] = ENDPOINT_FIELDS

const parseOperation = (endpoint: MeshEndpoint): Operation =>
  Object.fromEntries(
    FIELDS.flatMap((field) => {
      const values = endpoint[field] ?? []
      return values.length === 0 ? [] : [[field, sorted(values)]]
    }),
  )

/** Sorts values, with numbers by value, and converts them to the strings that Istio requires. */
export const sorted = (values: readonly (string | number)[]): string[] =>
  [...new Set(values)].toSorted((one, other) => (one < other ? -1 : Number(one > other))).map(String)

const distinct = (operations: readonly Operation[]): Operation[] => {
  const byText = new Map(operations.map((operation) => [JSON.stringify(operation), operation]))
  return [...byText.keys()].toSorted().map((text) => byText.get(text) ?? {})
}
