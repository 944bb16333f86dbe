import { isIP } from 'node:net'
import type { V1ServicePort } from '@kubernetes/client-node'
import * as z from 'zod'
import { chosenSchema } from '../../platform/base/chosen-schema.ts'
import { DNS_SUBDOMAIN } from '../../platform/base/names.ts'
import { printValue } from '../../platform/base/printed.ts'
import { fromJuju } from '../../platform/juju/pod-spec.ts'
import { withoutNulls } from '../../platform/kubernetes/without-nulls.ts'
import { PartName, PodSpec, refuseDuplicates } from './pod-spec.ts'
import { servicePorts } from './service-ports.ts'
import {
  ConfigMaps,
  DisruptionBudget,
  PodMetadata,
  SecretEnv,
  Secrets,
  ServiceAccount,
  ServiceSettings,
} from './spec-schemas.ts'

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
  /** Pods of a stateful application keep their names, numbers and storage. @default stateless; storage requires stateful */
  type: z.enum(TYPES, `expected a type of deployment, one of ${TYPES.join(' ')}`).optional(),
  /** @default cluster, or omit where no container has a port */
  service: Service.optional(),
  /** The host of a Service `external`. */
  externalName: ExternalName.optional(),
})

const ClaimTemplate = z.looseObject({
  metadata: z.looseObject({ name: PartName }),
  spec: z.looseObject({}, 'expected the spec of a claim'),
})

/** A workload that meshstep deploys. Unknown keys are errors, except inside the spec. */
export const PodWorkload = z
  .strictObject({
    podSpec: PodSpec,
    volumeClaimTemplates: z
      .array(ClaimTemplate, 'expected volumeClaimTemplates: a list')
      .superRefine(refuseDuplicates(({ metadata }) => metadata.name))
      .optional(),
    deployment: Deployment.optional(),
    podMetadata: PodMetadata.optional(),
    strategy: z.looseObject({}, 'expected the strategy of a Deployment').optional(),
    updateStrategy: z.looseObject({}, 'expected the updateStrategy of a StatefulSet').optional(),
    podManagementPolicy: z.enum(POLICIES, `expected a policy, one of ${POLICIES.join(' ')}`).optional(),
    serviceName: PartName.optional(),
    service: ServiceSettings.optional(),
    serviceAccount: ServiceAccount.optional(),
    configMaps: ConfigMaps.optional(),
    secrets: Secrets.optional(),
    secretEnv: SecretEnv.optional(),
    podDisruptionBudget: DisruptionBudget.optional(),
    'kubernetes-service-type': Service.optional(),
    replicas: z.int(A_COUNT).min(0, A_COUNT).max(2_147_483_647, A_COUNT).optional(),
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

/** The kinds of deployment and Service, with all defaults. */
export type EffectiveDeployment = {
  readonly type: (typeof TYPES)[number]
  readonly service: (typeof SERVICES)[number]
}

export const effectiveDeployment = (workload: PodWorkload): EffectiveDeployment => {
  const { deployment } = workload
  const isServing = exposedPorts(workload).length > 0
  return { type: deployment?.type ?? 'stateless', service: serviceAsked(workload) ?? (isServing ? 'cluster' : 'omit') }
}

/** The ports of the Service: the configured ones, or else those of all containers. */
export const exposedPorts = ({ podSpec, service }: PodWorkload): readonly V1ServicePort[] =>
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
                message: `no volume ${printValue(name)}`,
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
  if ((service === 'cluster' || service === 'loadbalancer') && exposedPorts(workload).length === 0)
    return [{ path, message: `a Service ${service} needs a port, and no container has one` }]
  return []
}

const ONLY = {
  stateless: ['strategy'],
  stateful: ['updateStrategy', 'podManagementPolicy', 'serviceName'],
} as const

/** Refuses keys of the other deployment type, which would be lost silently. */
const typeProblems = (workload: PodWorkload): Problem[] => {
  const { type } = effectiveDeployment(workload)
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

/** Returns the account that the spec itself names. */
export const accountNamed = ({ serviceAccountName, serviceAccount: deprecated }: PodSpec): string | undefined => {
  const name = serviceAccountName ?? deprecated
  return typeof name === 'string' && name !== '' ? name : undefined
}

/** Tells if meshstep creates the account of the pods. An account that only the spec names belongs to another owner. */
export const isAccountOurs = ({ podSpec, serviceAccount }: PodWorkload): boolean =>
  serviceAccount !== undefined || accountNamed(podSpec) === undefined

/** Returns the account that the pods run as. */
export const accountOf = (application: string, { podSpec, serviceAccount }: PodWorkload): string =>
  serviceAccount?.name ?? accountNamed(podSpec) ?? application

/** Tells if meshstep deploys the workload. Otherwise the config only names one of another owner. */
export const isPodWorkload = <T extends object>(workload: T | PodWorkload): workload is PodWorkload =>
  Object.hasOwn(workload, 'podSpec')

export const ownWorkload = (config: { readonly workload?: object | null | undefined } = {}): PodWorkload | undefined =>
  config.workload && isPodWorkload(config.workload) ? config.workload : undefined

/** A workload that meshstep deploys, in the form of Kubernetes or of Juju. */
const OwnWorkload: z.ZodType<PodWorkload> = z
  .looseObject({})
  .transform((value, context) => {
    const { workload, problems } = fromJuju(withoutNulls(value) as typeof value)
    for (const { path, message } of problems) context.addIssue({ code: 'custom', path, message })
    return problems.length > 0 ? z.NEVER : workload
  })
  .pipe(PodWorkload)

/**
 * Parses a workload of either form: one that meshstep deploys, or one that `named` reads. The key `podSpec` tells them apart, so that
 * problems are those of the intended form.
 */
export const workloadSchema = <T extends object>(named: z.ZodType<T>): z.ZodType<T | PodWorkload> =>
  chosenSchema<T | PodWorkload>((value) => (isObject(value) && isPodWorkload(value) ? OwnWorkload : named))

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
