import * as z from 'zod'
import { pathProblem } from './path-template.ts'

const METHODS = ['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'] as const

const A_PORT = 'expected a port: an integer from 1 to 65535'
const A_METHOD = `expected a method, one of ${METHODS.join(' ')}`
const A_HOST = 'expected a host: a string that is not empty'

const fromDigits = (value: unknown): unknown =>
  typeof value === 'string' && /^[0-9]+$/.test(value) ? Number(value) : value

/** Digits in a string count as the number, as in the charm library; a boolean does not. */
export const Port = z
  .preprocess(fromDigits, z.int(A_PORT).min(1, A_PORT).max(65535, A_PORT))
  .meta({ type: ['integer', 'string'], pattern: '^[0-9]+$' })

/** As HTTP has them: `get` is another method than `GET`. */
export const Method = z.enum(METHODS, A_METHOD)
export type Method = z.infer<typeof Method>

const Host = z.string(A_HOST).min(1, A_HOST)

const Path = z.string('expected a path: a string').superRefine((path, context) => {
  const message = pathProblem(path)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

const Hosts = z.array(Host, 'expected hosts: a list')
export const Ports = z.array(Port, 'expected ports: a list')
const Methods = z.array(Method, 'expected methods: a list')
const Paths = z.array(Path, 'expected paths: a list')

type Lists = { [field in 'hosts' | 'ports' | 'methods' | 'paths']?: readonly unknown[] | null | undefined }

/** Istio refuses an operation without content, and every other rule of the object with it. */
const restrictsSomething = ({ hosts, ports, methods, paths }: Lists): boolean =>
  [hosts, ports, methods, paths].some((list) => list != null && list.length > 0)

const EMPTY = 'expected hosts, ports, methods or paths in an endpoint; to allow everything, give no endpoint at all: []'

/** An endpoint in the config: all given lists must match, each by any of its values. Null is absent. */
export const Endpoint = z
  .strictObject({
    hosts: Hosts.nullish(),
    ports: Ports.nullish(),
    methods: Methods.nullish(),
    paths: Paths.nullish(),
  })
  .refine(restrictsSomething, EMPTY)
export type Endpoint = z.infer<typeof Endpoint>

/** The endpoint in the charm library's wire form: all keys are present, null without a value. An empty list stays one. */
export const MeshEndpoint = z
  .object(
    {
      hosts: Hosts.nullable().default(null),
      ports: Ports.nullable().default(null),
      methods: Methods.nullable().default(null),
      paths: Paths.nullable().default(null),
    },
    'expected an endpoint: an object',
  )
  .refine(restrictsSomething, EMPTY)
export type MeshEndpoint = z.infer<typeof MeshEndpoint>

/** The wire form of `endpoint`, its keys in the order of the wire. */
export const meshEndpoint = ({ hosts, ports, methods, paths }: Endpoint): MeshEndpoint => ({
  hosts: hosts ?? null,
  ports: ports ?? null,
  methods: methods ?? null,
  paths: paths ?? null,
})
