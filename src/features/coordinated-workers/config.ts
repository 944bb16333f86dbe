import * as z from 'zod'
import { Port, Ports } from '../../core/policies/endpoint.ts'
import { AlertRules } from './alert-rules.ts'
import { ClusterGateway, gatewayIssues } from './gateway-config.ts'
import { firstGrpcPort } from './settings.ts'

const A_ROLE = 'expected a role: at most 63 letters, digits and underscores, with hyphens, dots and spaces between them'

/** Roles are listed in a databag, separated by commas. */
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
    /** With fewer units the cluster does not work. */
    minimum: Count.optional(),
    /** With fewer units the cluster works, degraded. */
    recommended: Count.optional(),
    /** More units are superfluous; 0 for a role without a place in the cluster. */
    maximum: Count.optional(),
  })
  .refine(
    ({ minimum = 0, recommended = minimum, maximum = recommended }) => minimum <= recommended && recommended <= maximum,
    'expected minimum, recommended and maximum in ascending order',
  )

/** The names of pods. */
const PodNames = {
  /** The headless Service that names the pods. @default {application}-endpoints, as Juju calls it */
  headlessService: DnsName.optional(),
  /** The DNS domain of the cluster. @default that of the cluster that the functions run in */
  clusterDomain: DnsName.optional(),
  /** The charm, for the label `juju_charm`. @default the application */
  charm: z.string().min(1).max(253).optional(),
}

const EndpointName = z.string().min(1).max(253)
const Text = z.string().min(1)

/** The names of the application's endpoints. */
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
    /** Certificates of authorities, interface `certificate_transfer`. @default receive-ca-cert */
    certificates: EndpointName.optional(),
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
  /** Roles that stand for several: `{ all: [read, write] }`. Their names are roles themselves. */
  metaRoles: z.record(Role, Roles).optional(),
  /** Roles that the cluster does not work without. @default no role in particular */
  minimalDeployment: Roles.optional(),
  /** The number of units for a role, beyond one of each in `minimalDeployment`. */
  units: z.record(Role, UnitCounts).optional(),
  /** The port of the workers' metrics. @default 8080 */
  workerMetricsPort: Port.optional(),
  /** The port of the coordinator's nginx metrics. @default 9113 */
  nginxExporterPort: Port.optional(),
  /** The ports at which the coordinator routes the workers' telemetry, without TLS and with it. Not routed when absent. */
  telemetryProxy: z
    .strictObject({
      httpPort: Port,
      httpsPort: Port,
      /** The port of gRPC tracing of workloads; that of charms is the next. @default the first two after httpPort that are not httpsPort */
      grpcPort: Port.optional(),
    })
    .optional(),
  /** The API of the cluster, served by the coordinator's nginx as well. */
  nginx: ClusterGateway.optional(),
  /** A change of nginx.conf restarts the coordinator's pods, by an annotation; routes are published once all pods have them. */
  reload: z.boolean().optional(),
  /** The cluster speaks TLS. Certificates are PEM, the key the id of a secret; workers get these over the relation. */
  tls: z
    .union(
      [
        z.boolean(),
        z.strictObject({ caCert: Text, serverCert: Text, privkeySecretId: Text }),
        /** A Secret of type kubernetes.io/tls that the coordinator's pods mount, and the certificate of its authority. */
        z.strictObject({ secret: DnsName, caCert: Text.optional() }),
      ],
      'expected true, false, a secret, or caCert, serverCert and privkeySecretId',
    )
    .optional(),
  /** The workers' config: text, passed on as it is, or an object, passed on as JSON. */
  workerConfig: z.union([z.string(), z.record(z.string(), z.unknown())], 'expected text or an object').optional(),
  /** The ports that workers open: one list for all, or a list for each role. */
  workerPorts: z.union([Ports, z.record(Role, Ports)], 'expected ports: a list, or a list for each role').optional(),
  /** PEM. */
  s3TlsCaChain: Text.optional(),
  /** Opens only the configured ports inside the cluster; `ports` are the coordinator's own, besides the proxy's. */
  leastPrivilege: z.union([z.boolean(), z.strictObject({ ports: Ports })], 'expected true, false, or ports').optional(),
  /** Protocols requested in the relation; of the offered receivers only these are used. @default [otlp_http] */
  charmTracingProtocols: z.array(Text).optional(),
  /** The same for the workload. @default none are requested, all are used */
  workloadTracingProtocols: z.array(Text).optional(),
  /** Published to whoever scrapes metrics and takes logs. */
  alertRules: AlertRules.optional(),
  /** For the label `juju_model_uuid`. @default the id that Juju gave the namespace, else its uid */
  modelUuid: z.uuid().optional(),
  ...PodNames,
  endpoints: Endpoints.optional(),
})

/** The config of a coordinator. Defaults are applied where they are used, not stored. */
export const CoordinatorConfig = Fields.superRefine((config, context) => {
  const message = rolesProblem(config)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
  for (const issue of [...portsIssues(config), ...gatewayIssues(config)]) context.addIssue({ code: 'custom', ...issue })
})
export type CoordinatorConfig = z.infer<typeof CoordinatorConfig>

/** The config of a worker. Without a role it waits for one. */
export const WorkerConfig = z.strictObject({ roles: Roles, ...PodNames })
export type WorkerConfig = z.infer<typeof WorkerConfig>

/** Messages are the charm library's. */
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

/** A port without TLS takes HTTP/1.1 or HTTP/2, and not both. */
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
