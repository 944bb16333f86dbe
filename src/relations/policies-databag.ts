import * as z from 'zod'
import { createMemo } from '../base/memo.ts'
import { describeProblem } from '../base/printed.ts'
import { pythonJson } from '../base/python-json.ts'
import { MeshPolicy } from '../policies/models.ts'
import { templateProblem } from '../policies/path-template.ts'
import type { Databag } from '../state/relation.ts'
import { readValue } from './databag.ts'

/** The valid policies of a databag and the problems of the others, or why it is unreadable. */
export type ReadPolicies =
  | { policies: MeshPolicy[]; invalid: readonly unknown[]; problems: string[] }
  | { unreadable: string }

/** One that the waypoint cannot serve would cost everybody else what it is told beside it. */
const Served = MeshPolicy.superRefine(({ endpoints }, context) => {
  for (const [index, { paths }] of endpoints.entries())
    for (const [at, path] of (paths ?? []).entries()) {
      const message = templateProblem(path)
      if (message !== undefined) context.addIssue({ code: 'custom', path: ['endpoints', index, 'paths', at], message })
    }
})

const List = z.array(z.unknown(), 'expected a list of policies')

/** Reads the policies that a consumer of `service_mesh` requests; an absent key requests nothing. */
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

/** A step asks several times for the same, and so does the next one. */
const known = createMemo(1024 * 1024)

/** Encodes `policies` byte for byte as the charm library does: all keys, in its order, in Python's JSON. */
export const policiesDatabag = (policies: readonly MeshPolicy[]): string => pythonJson(policies.map(inWireOrder))

const inWireOrder = (policy: MeshPolicy): MeshPolicy => ({
  source_namespace: policy.source_namespace,
  source_app_name: policy.source_app_name,
  target_namespace: policy.target_namespace,
  target_app_name: policy.target_app_name,
  target_selector_labels: policy.target_selector_labels,
  target_service: policy.target_service,
  target_type: policy.target_type,
  endpoints: policy.endpoints.map(({ hosts, ports, methods, paths }) => ({ hosts, ports, methods, paths })),
})
