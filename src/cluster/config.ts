import * as z from 'zod'
import { Port, Ports } from '../mesh/endpoint.ts'

const A_ROLE = 'expected a role: at most 63 letters, digits and underscores, with hyphens, dots and spaces between them'

/** Roles are listed in a databag with commas between them. */
const Role = z
  .string()
  .max(63, A_ROLE)
  .regex(/^\w([-\w. ]*\w)?$/, A_ROLE)
const Roles = z.array(Role)

const EndpointName = z.string().min(1).max(253)
const Text = z.string().min(1)

/** What relations are called at this application. */
const Endpoints = z
  .strictObject({
    /** @default any endpoint of the interface `cluster` */
    cluster: EndpointName.optional(),
    /** @default metrics-endpoint */
    metrics: EndpointName.optional(),
    /** @default logging */
    logging: EndpointName.optional(),
    /** @default send-remote-write */
    remoteWrite: EndpointName.optional(),
    /** @default charm-tracing */
    charmTracing: EndpointName.optional(),
    /** @default workload-tracing */
    workloadTracing: EndpointName.optional(),
    /** @default service-mesh */
    serviceMesh: EndpointName.optional(),
    /** @default provide-cmr-mesh */
    serviceMeshProvideCmrMesh: EndpointName.optional(),
    /** @default require-cmr-mesh */
    serviceMeshRequireCmrMesh: EndpointName.optional(),
  })
  .refine(
    ({ serviceMesh, serviceMeshProvideCmrMesh, serviceMeshRequireCmrMesh }) =>
      new Set([serviceMesh, serviceMeshProvideCmrMesh, serviceMeshRequireCmrMesh].map((name) => name === undefined))
        .size === 1,
    "If any of 'service-mesh', 'service-mesh-provide-cmr-mesh' or 'service-mesh-require-cmr-mesh' endpoints are provided, all of them must be.",
  )

const Fields = z.strictObject({
  roles: Roles,
  /** Roles that stand for several: `{ all: [read, write] }`. The names are roles themselves. */
  metaRoles: z.record(Role, Roles).optional(),
  /** What the cluster does not work without. @default no role in particular */
  minimalDeployment: Roles.optional(),
  /** Where workers serve their metrics. @default 8080 */
  workerMetricsPort: Port.optional(),
  /** Where the coordinator serves those of its nginx. @default 9113 */
  nginxExporterPort: Port.optional(),
  /** Where the coordinator takes the workers' telemetry to route it, with TLS and without. Not routed when absent. */
  telemetryProxy: z
    .strictObject({
      httpPort: Port,
      httpsPort: Port,
      /** For gRPC tracing of workloads, with TLS and without; that of charms has the port after it. @default the one after httpPort */
      grpcPort: Port.optional(),
    })
    .optional(),
  /** Whether the cluster speaks TLS, and what workers need for it where that is passed on to them. PEM, and the id of a secret. */
  tls: z
    .union(
      [z.boolean(), z.strictObject({ caCert: Text, serverCert: Text, privkeySecretId: Text })],
      'expected true, false, or caCert, serverCert and privkeySecretId',
    )
    .optional(),
  /** What workers are configured with: text, passed on as it is, or an object, passed on as JSON. */
  workerConfig: z.union([z.string(), z.record(z.string(), z.unknown())], 'expected text or an object').optional(),
  /** What workers open: all the same, or each what its roles need. */
  workerPorts: z.union([Ports, z.record(Role, Ports)], 'expected ports: a list, or a list for each role').optional(),
  /** PEM. */
  s3TlsCaChain: Text.optional(),
  /** Inside the cluster only the ports that are configured here are open; `ports` are the coordinator's own, besides the proxy's. */
  leastPrivilege: z.union([z.boolean(), z.strictObject({ ports: Ports })], 'expected true, false, or ports').optional(),
  /** Asked for at the relation, and of what is offered there only these are used. @default [otlp_http] */
  charmTracingProtocols: z.array(Text).optional(),
  /** The same for the workload. @default none is asked for, all are used */
  workloadTracingProtocols: z.array(Text).optional(),
  endpoints: Endpoints.optional(),
})

/** Config of an application that coordinates workers. The defaults are applied where they are used, not stored. */
export const CoordinatorConfig = Fields.superRefine((config, context) => {
  const message = rolesProblem(config)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
  for (const issue of portsIssues(config)) context.addIssue({ code: 'custom', ...issue })
})
export type CoordinatorConfig = z.infer<typeof CoordinatorConfig>

/** Config of an application that works for a coordinator. Without a role it waits for one. */
export const WorkerConfig = z.strictObject({ roles: Roles })
export type WorkerConfig = z.infer<typeof WorkerConfig>

/** In the words of the charm library. */
const rolesProblem = ({ roles, metaRoles = {}, minimalDeployment = [] }: z.infer<typeof Fields>) => {
  const problems = [
    { names: Object.keys(metaRoles), subject: 'The meta keys', verb: 'are' },
    { names: Object.values(metaRoles).flat(), subject: 'The meta values', verb: 'are' },
    { names: minimalDeployment, subject: 'The minimal deployment', verb: 'is' },
  ]
    .filter(({ names }) => !names.every((name) => roles.includes(name)))
    .map(({ names, subject, verb }) => `${subject} ${listed(names)} ${verb} not a subset of ${listed(roles)}.`)
  return problems.length === 0 ? undefined : `Invalid ClusterRolesConfig: ${problems.join(',\n')}`
}

const listed = (names: readonly string[]): string =>
  `[${[...new Set(names)]
    .toSorted()
    .map((name) => `'${name}'`)
    .join(', ')}]`

const portsIssues = ({ roles, workerPorts, leastPrivilege }: z.infer<typeof Fields>) => {
  const named = workerPorts === undefined || Array.isArray(workerPorts) ? [] : Object.keys(workerPorts)
  return [
    ...named
      .filter((name) => !roles.includes(name))
      .map((name) => ({ path: ['workerPorts', name], message: `expected one of the roles ${listed(roles)}` })),
    ...(leastPrivilege && workerPorts === undefined
      ? [{ path: ['leastPrivilege'], message: 'expected workerPorts as well: workers could not reach each other' }]
      : []),
  ]
}
