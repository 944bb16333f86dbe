import * as z from 'zod'
import { joinOr } from '../../platform/base/printed.ts'
import { pathProblem } from './path-template.ts'

const METHODS = ['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'] as const

const A_PORT = 'expected a port: an integer from 1 to 65535'
const A_METHOD = `expected a method, one of ${METHODS.join(' ')}`
const A_HOST = 'expected a host: a string that is not empty'

const fromDigits = (value: unknown): unknown =>
  typeof value === 'string' && /^[0-9]+$/.test(value) ? Number(value) : value

/** The number of a port. */
export const PortNumber = z.int(A_PORT).min(1, A_PORT).max(65535, A_PORT)

/** A port. As in the charm library, a string of digits counts as the number. A boolean does not. */
export const Port = z.preprocess(fromDigits, PortNumber)

/** An HTTP method. Case matters: `get` is not `GET`. */
export const Method = z.enum(METHODS, A_METHOD)
export type Method = z.infer<typeof Method>

const Host = z.string(A_HOST).min(1, A_HOST)

const Path = z.string('expected a path: a string').superRefine((path, context) => {
  const message = pathProblem(path)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

const list = <Value extends z.ZodType>(value: Value, name: string) => z.array(value, `expected ${name}: a list`)

export const Ports = list(Port, 'ports')

const LISTS = { host: list(Host, 'hosts'), port: Ports, method: list(Method, 'methods'), path: list(Path, 'paths') }

/** The kind of the values in each field of an endpoint, in wire order. Everything about endpoints is derived from it. */
const FIELDS = { hosts: 'host', ports: 'port', methods: 'method', paths: 'path' } as const

export type EndpointField = keyof typeof FIELDS
type Kind<Field extends EndpointField> = (typeof FIELDS)[Field]
type Shape = { [Field in EndpointField]: z.ZodOptional<z.ZodNullable<(typeof LISTS)[Kind<Field>]>> }

export const ENDPOINT_FIELDS = Object.keys(FIELDS) as EndpointField[]

const mapFields = <Value>(value: (field: EndpointField) => Value) =>
  Object.fromEntries(ENDPOINT_FIELDS.map((field) => [field, value(field)])) as Record<EndpointField, Value>

const SHAPE = mapFields((field) => LISTS[FIELDS[field]].nullish()) as Shape

/** Tells if an endpoint restricts something. Istio refuses an operation without content, and with it every other rule of the object. */
const restrictsSomething = (endpoint: { readonly [field in EndpointField]?: readonly unknown[] | null | undefined }) =>
  ENDPOINT_FIELDS.some((field) => endpoint[field]?.length)

const EMPTY = `expected ${joinOr(ENDPOINT_FIELDS)} in an endpoint; to allow everything, give no endpoint at all: []`

/** An endpoint in the config. All given lists must match, each by any of its values. Null counts as absent. */
export const Endpoint = z.strictObject(SHAPE).refine(restrictsSomething, EMPTY)
export type Endpoint = z.infer<typeof Endpoint>

/** Converts an endpoint to its wire form: all keys in wire order, null without a value. An empty list stays one. */
export const meshEndpoint = (endpoint: Endpoint): MeshEndpoint =>
  mapFields((field) => endpoint[field] ?? null) as MeshEndpoint
export type MeshEndpoint = { [Field in EndpointField]: NonNullable<Endpoint[Field]> | null }

/** An endpoint as the charm library sends it. Unknown keys are ignored. */
export const MeshEndpoint = z
  .object(SHAPE, 'expected an endpoint: an object')
  .refine(restrictsSomething, EMPTY)
  .transform(meshEndpoint)

/** Lists the fields of `endpoint` that nothing enforces at a pod, because a ztunnel only sees ports. */
export const httpFields = (endpoint: MeshEndpoint): EndpointField[] =>
  ENDPOINT_FIELDS.filter((field) => FIELDS[field] !== 'port' && endpoint[field]?.length)

/** Returns the problem of a value. Undefined if there is none. */
export type Check = (value: string) => string | undefined

/** Checks the values of `endpoints` by their kind. */
export const checkValues = (
  endpoints: readonly Endpoint[],
  checks: { readonly [kind in keyof typeof LISTS]?: Check },
) =>
  endpoints.flatMap((endpoint, index) =>
    ENDPOINT_FIELDS.flatMap((field) =>
      (endpoint[field] ?? []).flatMap((value, at) => {
        const message = checks[FIELDS[field]]?.(String(value))
        return message === undefined ? [] : [{ path: [index, field, at], message }]
      }),
    ),
  )
