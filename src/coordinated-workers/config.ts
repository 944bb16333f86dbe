import * as z from 'zod'
import { Port, Ports } from '../istio/endpoint.ts'
import { AlertRules } from './alert-rules.ts'
import { Gateway, gatewayIssues } from './gateway-config.ts'
import { firstGrpcPort } from './settings.ts'

const A_ROLE = 'expected a role: at most 63 letters, digits and underscores, with hyphens, dots and spaces between them'

/** Roles are listed in a databag with commas between them. */
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

/** How many units are to have a role. */
const UnitCounts = z
  .strictObject({
    /** The cluster does not work with fewer. */
    minimum: Count.optional(),
    /** With fewer it works, and says so. */
    recommended: Count.optional(),
    /** More are superfluous; 0 where the role has no place in the cluster. */
    maximum: Count.optional(),
  })
  .refine(
    ({ minimum = 0, recommended = minimum, maximum = recommended }) => minimum <= recommended && recommended <= maximum,
    'expected minimum, recommended and maximum in ascending order',
  )

/** What tells where pods are found. */
const PodNames = {
  /** The headless Service of the pods, which makes their names. @default {application}-endpoints, as Juju calls it */
  headlessService: DnsName.optional(),
  /** The DNS domain of the cluster. @default that of the cluster that the functions run in */
  clusterDomain: DnsName.optional(),
  /** The charm, for the label `juju_charm`. @default the application */
  charm: z.string().min(1).max(253).optional(),
}

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
    /** Certificates of authorities, of the interface `certificate_transfer`. @default receive-ca-cert */
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
  /** Roles that stand for several: `{ all: [read, write] }`. The names are roles themselves. */
  metaRoles: z.record(Role, Roles).optional(),
  /** What the cluster does not work without. @default no role in particular */
  minimalDeployment: Roles.optional(),
  /** How many units are to have a role: what goes beyond one of each in `minimalDeployment`. */
  units: z.record(Role, UnitCounts).optional(),
  /** Where workers serve their metrics. @default 8080 */
  workerMetricsPort: Port.optional(),
  /** Where the coordinator serves those of its nginx. @default 9113 */
  nginxExporterPort: Port.optional(),
  /** Where the coordinator takes the workers' telemetry to route it, with TLS and without. Not routed when absent. */
  telemetryProxy: z
    .strictObject({
      httpPort: Port,
      httpsPort: Port,
      /** For gRPC tracing of workloads, with TLS and without; that of charms has the port after it. @default the first two after httpPort that are not httpsPort */
      grpcPort: Port.optional(),
    })
    .optional(),
  /** What the coordinator's nginx serves besides: the API of the cluster. */
  nginx: Gateway.optional(),
  /** A change of the nginx file rolls the coordinator's pods out, by an annotation, and others are told of it once they have it. */
  reload: z.boolean().optional(),
  /** Whether the cluster speaks TLS, and what workers need for it where that is passed on to them. PEM, and the id of a secret. */
  tls: z
    .union(
      [
        z.boolean(),
        z.strictObject({ caCert: Text, serverCert: Text, privkeySecretId: Text }),
        /** A Secret of the type kubernetes.io/tls, which the coordinator's pods mount, and the certificate of its authority. */
        z.strictObject({ secret: DnsName, caCert: Text.optional() }),
      ],
      'expected true, false, a secret, or caCert, serverCert and privkeySecretId',
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
  /** Published to whoever scrapes metrics and takes logs. */
  alertRules: AlertRules.optional(),
  /** For the label `juju_model_uuid`. @default the id that Juju gave the namespace, else its uid */
  modelUuid: z.uuid().optional(),
  ...PodNames,
  endpoints: Endpoints.optional(),
})

/** Config of an application that coordinates workers. The defaults are applied where they are used, not stored. */
export const CoordinatorConfig = Fields.superRefine((config, context) => {
  const message = rolesProblem(config)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
  for (const issue of [...portsIssues(config), ...gatewayIssues(config)]) context.addIssue({ code: 'custom', ...issue })
})
export type CoordinatorConfig = z.infer<typeof CoordinatorConfig>

/** Config of an application that works for a coordinator. Without a role it waits for one. */
export const WorkerConfig = z.strictObject({ roles: Roles, ...PodNames })
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
