import * as z from 'zod'
import { Method, Port } from '../../core/policies/endpoint.ts'
import { Refused } from '../../platform/base/errors.ts'
import { Namespace } from '../../platform/base/names.ts'
import { describeProblem, printValue } from '../../platform/base/printed.ts'
import { A_CLIENT, ClientName, parseSide, TargetName } from './side.ts'

const A_PATH = 'expected a path: / and at most 1999 more printable characters of ASCII'
const A_HOST = 'expected a host of at most 260 characters, with or without a port'
const A_TRUST_DOMAIN = 'expected a trust domain: at most 253 letters, digits, dots, hyphens and underscores'

/** The parameters of a question about a request, by name. */
export const QUERY_FIELDS = {
  /** Absent for a client outside the cluster. */
  from: ClientName.transform(parseSide).optional(),
  /** A Service, a workload or a Gateway. `{namespace}/gateway/{name}` is always the Gateway. `{namespace}/pod/{name}` is always pods without a workload. */
  to: TargetName.transform(parseSide),
  /** The client's IP address. */
  address: z.union([z.ipv4(), z.ipv6()], 'expected an IP address').optional(),
  /** The port of the Service, or of the pod with `via=pod`. */
  port: Port,
  method: Method.optional(),
  path: z
    .string()
    .regex(/^\/[!-~]{0,1999}$/, A_PATH)
    .optional(),
  host: z
    .string()
    .regex(/^[-\w.:[\]]{1,260}$/, A_HOST)
    .optional(),
  /** Sends the request to the Service, or straight to a pod. */
  via: z.enum(['service', 'pod'], 'expected service or pod').default('service'),
  trustDomain: z
    .string()
    .regex(/^[-\w.]{1,253}$/, A_TRUST_DOMAIN)
    .optional(),
  /** Istio's root namespace. Its policies apply to every namespace. */
  rootNamespace: Namespace.optional(),
  /** Tells if istiod runs with PILOT_AUTO_ALLOW_WAYPOINT_POLICY. @default unknown */
  autoAllowWaypoint: z
    .enum(['true', 'false'], 'expected true or false')
    .transform((text) => text === 'true')
    .optional(),
}

const Query = z
  .strictObject(QUERY_FIELDS, {
    error: ({ code }) =>
      code === 'unrecognized_keys' ? `expected no parameters but ${Object.keys(QUERY_FIELDS).join(', ')}` : undefined,
  })
  .refine(({ from, address }) => from !== undefined || address !== undefined, {
    path: ['from'],
    message: `${A_CLIENT}, or address= for a client outside the cluster`,
  })
export type Query = z.infer<typeof Query>

/** The address of an arbitrary client outside the mesh. It is reserved for documentation (RFC 5737). */
export const OUTSIDE = '203.0.113.1'

/** Parses a query. Throws Refused, 400, with the name of the first invalid parameter. */
export const parseQuery = (query: URLSearchParams): Query => {
  const names = [...query.keys()]
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined)
    throw new Refused(400, `query: expected each parameter once, got ${printValue(repeated)} again`)
  const given = Object.fromEntries(query)
  const read = Query.safeParse(given)
  if (read.success) return read.data
  throw new Refused(400, describeProblem(read.error, given, 'query'))
}
