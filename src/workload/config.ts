import { isIP } from 'node:net'
import * as z from 'zod'
import { DNS_SUBDOMAIN } from '../base/names.ts'
import { shown } from '../base/printed.ts'
import { fromJuju } from './juju.ts'
import {
  ConfigMaps,
  DisruptionBudget,
  PodMetadata,
  SecretEnv,
  Secrets,
  ServiceAccount,
  ServiceSettings,
} from './parts.ts'
import { PartName, PodSpec } from './pod-spec.ts'
import { servicePorts } from './service-ports.ts'
import { unique } from './unique.ts'

const POLICIES = ['OrderedReady', 'Parallel'] as const
const TYPES = ['stateless', 'stateful'] as const
const SERVICES = ['cluster', 'loadbalancer', 'external', 'omit'] as const

const A_SERVICE = `expected a kind of Service, one of ${SERVICES.join(' ')}`
const A_HOST = 'expected the DNS name of a host: lower-case letters, digits, hyphens and dots, and no address'
const A_COUNT = 'expected a number of pods: an integer from 0'
const A_REVISION = 'expected a string of at most 253 characters; quote a number'

const Service = z.enum(SERVICES, A_SERVICE)

const ExternalName = z
  .string(A_HOST)
  .regex(DNS_SUBDOMAIN, A_HOST)
  .refine((name) => isIP(name) === 0, A_HOST)

const Deployment = z.strictObject({
  /** Of a stateful application a pod keeps its name, its number and its storage. @default stateless, unless there is storage */
  type: z.enum(TYPES, `expected a type of deployment, one of ${TYPES.join(' ')}`).optional(),
  /** @default cluster, or omit where no container has a port */
  service: Service.optional(),
  /** What a Service `external` stands for. */
  externalName: ExternalName.optional(),
})

const ClaimTemplate = z.looseObject({
  metadata: z.looseObject({ name: PartName }),
  spec: z.looseObject({}, 'expected the spec of a claim'),
})

/** The workload that is ours to deploy. Unknown keys are errors, but for those inside of the spec. */
export const PodWorkload = z
  .strictObject({
    podSpec: PodSpec,
    /** Storage: a claim for each pod, which needs a stateful deployment. */
    volumeClaimTemplates: z
      .array(ClaimTemplate, 'expected volumeClaimTemplates: a list')
      .superRefine(unique(({ metadata }) => metadata.name))
      .optional(),
    deployment: Deployment.optional(),
    /** Of the pods, besides what is made for them. */
    podMetadata: PodMetadata.optional(),
    /** How pods are replaced: of a stateless application. */
    strategy: z.looseObject({}, 'expected the strategy of a Deployment').optional(),
    /** The same of a stateful one. */
    updateStrategy: z.looseObject({}, 'expected the updateStrategy of a StatefulSet').optional(),
    /** @default Parallel */
    podManagementPolicy: z.enum(POLICIES, `expected a policy, one of ${POLICIES.join(' ')}`).optional(),
    /** The headless Service that gives each pod of a stateful application a name. @default {application}-endpoints */
    serviceName: PartName.optional(),
    /** Of the Service that others use. */
    service: ServiceSettings.optional(),
    /** The account that is made for the pods. @default of the application's name, unless the spec names one */
    serviceAccount: ServiceAccount.optional(),
    /** ConfigMaps beside the workload, by their names. */
    configMaps: ConfigMaps.optional(),
    /** Secrets beside the workload, by their names. The memory has the keys under which their texts are kept. */
    secrets: Secrets.optional(),
    /** Variables whose values are kept as secrets, or are not, whatever they look like. */
    secretEnv: SecretEnv.optional(),
    podDisruptionBudget: DisruptionBudget.optional(),
    /** What the user wants, which goes before what the author wrote in `deployment.service`. */
    'kubernetes-service-type': Service.optional(),
    /** @default nobody's: 1 at first, then whatever scales it */
    replicas: z.int(A_COUNT).min(0, A_COUNT).max(2_147_483_647, A_COUNT).optional(),
    /** Any string, for whoever reads the config: nothing follows from it. */
    revision: z.string(A_REVISION).max(253, A_REVISION).optional(),
  })
  .superRefine((workload, context) => {
    for (const { path, message } of [
      ...storageProblems(workload),
      ...serviceProblems(workload),
      ...typeProblems(workload),
      ...accountProblems(workload),
    ])
      context.addIssue({ code: 'custom', path, message })
  })
export type PodWorkload = z.infer<typeof PodWorkload>

/** How a workload is deployed once all defaults and the user's wishes are in. */
export type EffectiveDeployment = {
  readonly type: (typeof TYPES)[number]
  readonly service: (typeof SERVICES)[number]
}

export const deploymentOf = (workload: PodWorkload): EffectiveDeployment => {
  const { deployment } = workload
  const isServing = portsOf(workload).length > 0
  return { type: deployment?.type ?? 'stateless', service: serviceAsked(workload) ?? (isServing ? 'cluster' : 'omit') }
}

/** The ports of its Service: those that are chosen, or else those of all containers. */
export const portsOf = ({ podSpec, service }: PodWorkload): readonly object[] =>
  service?.ports ?? servicePorts(podSpec).map((port) => ({ ...port, targetPort: port.port }))

const serviceAsked = ({ deployment, 'kubernetes-service-type': wished }: PodWorkload) => wished ?? deployment?.service

type Problem = { readonly path: (string | number)[]; readonly message: string }

const storageProblems = ({ podSpec, volumeClaimTemplates = [], deployment }: PodWorkload): Problem[] => {
  const claims = volumeClaimTemplates.map(({ metadata }) => metadata.name)
  const volumes = new Set([...claims, ...(podSpec.volumes ?? []).map(({ name }) => name)])
  const lost = (['containers', 'initContainers'] as const).flatMap((list) =>
    (podSpec[list] ?? []).flatMap(({ volumeMounts = [] }, container) =>
      volumeMounts.flatMap(({ name }, mount) =>
        volumes.has(name)
          ? []
          : [
              {
                path: ['podSpec', list, container, 'volumeMounts', mount, 'name'],
                message: `no volume ${shown(name)}`,
              },
            ],
      ),
    ),
  )
  if (claims.length === 0 || deployment?.type === 'stateful') return lost
  const message =
    'expected stateful: there is storage (volumeClaimTemplates), which a stateless application cannot keep'
  return [{ path: ['deployment', 'type'], message }, ...lost]
}

const serviceProblems = (workload: PodWorkload): Problem[] => {
  const { deployment, 'kubernetes-service-type': wished } = workload
  const service = serviceAsked(workload)
  const path = wished === undefined ? ['deployment', 'service'] : ['kubernetes-service-type']
  if (service === 'external' && deployment?.externalName === undefined)
    return [{ path: ['deployment', 'externalName'], message: `${A_HOST}: a Service external stands for one` }]
  if ((service === 'cluster' || service === 'loadbalancer') && portsOf(workload).length === 0)
    return [{ path, message: `a Service ${service} needs a port, and no container has one` }]
  return []
}

const ONLY = {
  stateless: ['strategy'],
  stateful: ['updateStrategy', 'podManagementPolicy', 'serviceName'],
} as const

/** A key that the other type of deployment has would be lost in silence. */
const typeProblems = (workload: PodWorkload): Problem[] => {
  const { type } = deploymentOf(workload)
  const other = type === 'stateless' ? 'stateful' : 'stateless'
  return ONLY[other]
    .filter((key) => workload[key] !== undefined)
    .map((key) => ({ path: [key], message: `is for a ${other} application: set deployment.type, or leave it out` }))
}

const accountProblems = ({ podSpec, serviceAccount }: PodWorkload): Problem[] => {
  const named = accountNamed(podSpec)
  if (serviceAccount?.name === undefined || named === undefined || named === serviceAccount.name) return []
  return [{ path: ['serviceAccount', 'name'], message: `expected ${named}, which the pod spec names` }]
}

/** The account that the spec names itself. */
export const accountNamed = ({ serviceAccountName, serviceAccount: deprecated }: PodSpec): string | undefined => {
  const name = serviceAccountName ?? deprecated
  return typeof name === 'string' && name !== '' ? name : undefined
}

/** Whether it is ours to deploy, and not one that somebody else deploys and the config only names. */
export const isPodWorkload = <T extends object>(workload: T | PodWorkload): workload is PodWorkload =>
  Object.hasOwn(workload, 'podSpec')

/** The workload of a config, if it is ours to deploy. */
export const ownWorkload = (config: { readonly workload?: object | null | undefined } = {}): PodWorkload | undefined =>
  config.workload && isPodWorkload(config.workload) ? config.workload : undefined

/** A workload of ours, in whichever form it is written. */
const OwnWorkload: z.ZodType<PodWorkload> = z
  .looseObject({})
  .transform((value, context) => {
    const { workload, problems } = fromJuju(value)
    for (const { path, message } of problems) context.addIssue({ code: 'custom', path, message })
    return problems.length > 0 ? z.NEVER : workload
  })
  .pipe(PodWorkload)

/** A workload that `named` reads, or ours: the key `podSpec` tells which was meant, so that what is wrong is said of that one. */
export const workloadOf = <T extends object>(named: z.ZodType<T>): z.ZodType<T | PodWorkload> =>
  z.unknown().transform((value, context): T | PodWorkload => {
    const schema = isObject(value) && isPodWorkload(value) ? OwnWorkload : named
    const result = schema.safeParse(value, { reportInput: true })
    if (result.success) return result.data
    for (const issue of result.error.issues)
      context.addIssue(
        issue.code === 'unrecognized_keys'
          ? { ...issue, path: [...issue.path] }
          : { code: 'custom', path: [...issue.path], message: issue.message, input: issue.input },
      )
    return z.NEVER
  })

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
