import * as z from 'zod'
import { createMemo } from '../../../platform/base/memo.ts'
import { describeProblem } from '../../../platform/base/printed.ts'
import { pythonJson } from '../../../platform/base/python-json.ts'
import { checkValues, meshEndpoint } from '../../policies/endpoint.ts'
import { MeshPolicy, WIRE_FIELDS } from '../../policies/models.ts'
import { templateProblem } from '../../policies/path-template.ts'
import type { Databag } from '../../state/relation.ts'
import { readValue } from './databag.ts'

/** The valid policies of a databag and the problems of invalid ones, or the reason why it is unreadable. */
export type ReadPolicies =
  | { policies: MeshPolicy[]; invalid: readonly unknown[]; problems: string[] }
  | { unreadable: string }

/**
 * The schema of a policy, with the limits of a waypoint. A policy that the waypoint cannot serve would make it reject all others as well.
 */
const Served = MeshPolicy.superRefine(({ endpoints }, context) => {
  for (const { path, message } of checkValues(endpoints, { path: templateProblem }))
    context.addIssue({ code: 'custom', path: ['endpoints', ...path], message })
})

/** The entry of a beacon's databag with the `policies` of consumers whose config has none. */
export const DEFAULT_POLICIES_KEY = 'default_policies'

/** The entry of a beacon's databag with the ServiceAccount that its policies name for the consumer, if that is not the consumer's name. */
export const ACCOUNT_KEY = 'service_account'

const List = z.array(z.unknown(), 'expected a list of policies')

/** Reads the policies that a consumer of `service_mesh` requests. An absent key requests nothing. */
export const readPolicies = ({ policies }: Databag): ReadPolicies =>
  typeof policies === 'string' ? known(policies, readAny) : readAny(policies)

const readAny = (policies: unknown): ReadPolicies => {
  const list = readValue({ policies }, 'policies', List)
  if ('unreadable' in list) return list
  const elements = (list.value ?? []).map((element, index) => {
    const { data, error } = Served.safeParse(element)
    return { element, data, problem: error && describeProblem(error, element, `policies[${index}]`) }
  })
  return {
    policies: elements.flatMap(({ data }) => data ?? []),
    invalid: elements.flatMap(({ element, data }) => (data === undefined ? [element] : [])),
    problems: elements.flatMap(({ problem }) => problem ?? []),
  }
}

/** a step reads the same policies several times, and so does the next step */
const known = createMemo(1024 * 1024)

/** Encodes `policies` byte for byte as the charm library does: all keys, in its order, in Python's JSON. */
export const policiesDatabag = (policies: readonly MeshPolicy[]): string => pythonJson(policies.map(inWireOrder))

const inWireOrder = (policy: MeshPolicy) => ({
  ...Object.fromEntries(WIRE_FIELDS.map((field) => [field, policy[field]])),
  endpoints: policy.endpoints.map(meshEndpoint),
})
