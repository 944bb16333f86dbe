import * as z from 'zod'
import { Port, Ports } from '../../core/policies/endpoint.ts'
import { AlertRules } from './alert-rules.ts'
import { ClusterGateway, gatewayIssues } from './gateway-config.ts'
import { firstGrpcPort } from './settings.ts'

const A_ROLE = 'expected a role: at most 63 letters, digits and underscores, with hyphens, dots and spaces between them'

/** A role. A databag lists roles with commas between them. */
const Role = z
  .string()
  .max(63, A_ROLE)
  .regex(/^\w([-\w. ]*\w)?$/, A_ROLE)
const Roles = z.array(Role)

const A_NAME = 'expected a DNS name: lower-case letters, digits, hyphens and dots'

const DnsName = z
  .string(A_NAME)
  .max(253, A_NAME)
  .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/, A_NAME)

const A_COUNT = 'expected a number of units: an integer from 0'
const Count = z.int(A_COUNT).min(0, A_COUNT)

/** The number of units that should have a role. */
const UnitCounts = z
  .strictObject({
    minimum: Count.optional(),
    recommended: Count.optional(),
    maximum: Count.optional(),
  })
  .refine(
    ({ minimum = 0, recommended = minimum, maximum = recommended }) => minimum <= recommended && recommended <= maximum,
    'expected minimum, recommended and maximum in ascending order',
  )

/** The names of pods. */
const PodNames = {
  headlessService: DnsName.optional(),
  clusterDomain: DnsName.optional(),
  charm: z.string().min(1).max(253).optional(),
}

const EndpointName = z.string().min(1).max(253)
const Text = z.string().min(1)

/** The names of the coordinator's endpoints. */
const Endpoints = z
  .strictObject({
    cluster: EndpointName.optional(),
    metrics: EndpointName.optional(),
    logging: EndpointName.optional(),
    remoteWrite: EndpointName.optional(),
    charmTracing: EndpointName.optional(),
    workloadTracing: EndpointName.optional(),
    certificates: EndpointName.optional(),
    serviceMesh: EndpointName.optional(),
    serviceMeshProvideCmrMesh: EndpointName.optional(),
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
  metaRoles: z.record(Role, Roles).optional(),
  minimalDeployment: Roles.optional(),
  units: z.record(Role, UnitCounts).optional(),
  workerMetricsPort: Port.optional(),
  nginxExporterPort: Port.optional(),
  telemetryProxy: z
    .strictObject({
      httpPort: Port,
      httpsPort: Port,
      grpcPort: Port.optional(),
    })
    .optional(),
  nginx: ClusterGateway.optional(),
  reload: z.boolean().optional(),
  tls: z
    .union(
      [
        z.boolean(),
        z.strictObject({ caCert: Text, serverCert: Text, privkeySecretId: Text }),
        z.strictObject({ secret: DnsName, caCert: Text.optional() }),
      ],
      'expected true, false, a secret, or caCert, serverCert and privkeySecretId',
    )
    .optional(),
  workerConfig: z.union([z.string(), z.record(z.string(), z.unknown())], 'expected text or an object').optional(),
  workerPorts: z.union([Ports, z.record(Role, Ports)], 'expected ports: a list, or a list for each role').optional(),
  s3TlsCaChain: Text.optional(),
  leastPrivilege: z.union([z.boolean(), z.strictObject({ ports: Ports })], 'expected true, false, or ports').optional(),
  charmTracingProtocols: z.array(Text).optional(),
  workloadTracingProtocols: z.array(Text).optional(),
  alertRules: AlertRules.optional(),
  modelUuid: z.uuid().optional(),
  ...PodNames,
  endpoints: Endpoints.optional(),
})

/** The config of a coordinator. Defaults are applied on use, not stored. */
export const CoordinatorConfig = Fields.superRefine((config, context) => {
  const message = rolesProblem(config)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
  for (const issue of [...portsIssues(config), ...gatewayIssues(config)]) context.addIssue({ code: 'custom', ...issue })
})
export type CoordinatorConfig = z.infer<typeof CoordinatorConfig>

/** The config of a worker. Without a role it waits for one. */
export const WorkerConfig = z.strictObject({ roles: Roles, ...PodNames })
export type WorkerConfig = z.infer<typeof WorkerConfig>

/** Finds contradictions between roles. The messages are those of the charm library. */
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

const portsIssues = (config: z.infer<typeof Fields>) => {
  const { roles, workerPorts, leastPrivilege, units = {} } = config
  const named = workerPorts === undefined || Array.isArray(workerPorts) ? [] : Object.keys(workerPorts)
  return [
    ...named
      .filter((name) => !roles.includes(name))
      .map((name) => ({ path: ['workerPorts', name], message: `expected one of the roles ${listed(roles)}` })),
    ...Object.keys(units)
      .filter((name) => !roles.includes(name))
      .map((name) => ({ path: ['units', name], message: `expected one of the roles ${listed(roles)}` })),
    ...grpcIssues(config),
    ...(leastPrivilege && workerPorts === undefined
      ? [{ path: ['leastPrivilege'], message: 'expected workerPorts as well: workers could not reach each other' }]
      : []),
  ]
}

/** Finds clashes of gRPC ports. A port without TLS takes either HTTP/1.1 or HTTP/2. */
const grpcIssues = ({ telemetryProxy }: z.infer<typeof Fields>) => {
  const { httpPort, httpsPort, grpcPort } = telemetryProxy ?? {}
  if (grpcPort === undefined || ![grpcPort, grpcPort + 1].some((port) => port === httpPort || port === httpsPort))
    return []
  const free = telemetryProxy && firstGrpcPort({ ...telemetryProxy, grpcPort: undefined })
  return [
    {
      path: ['telemetryProxy', 'grpcPort'],
      message: `expected two ports, this one and the next, that are neither httpPort nor httpsPort, as ${free} would be`,
    },
  ]
}
