import { isIP } from 'node:net'
import * as z from 'zod'
import { shown } from '../mesh/problem.ts'
import { PartName, PodSpec } from './pod-spec.ts'
import { servicePorts } from './service-ports.ts'
import { unique } from './unique.ts'

const TYPES = ['stateless', 'stateful'] as const
const SERVICES = ['cluster', 'loadbalancer', 'external', 'omit'] as const

const A_SERVICE = `expected a kind of Service, one of ${SERVICES.join(' ')}`
const A_HOST = 'expected the DNS name of a host: lower-case letters, digits, hyphens and dots, and no address'
const A_COUNT = 'expected a number of pods: an integer from 0'
const A_REVISION = 'expected a string of at most 253 characters; quote a number'

const Service = z.enum(SERVICES, A_SERVICE)

const ExternalName = z
  .string(A_HOST)
  .regex(/^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/, A_HOST)
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
    /** What the user wants, which goes before what the author wrote in `deployment.service`. */
    'kubernetes-service-type': Service.optional(),
    /** @default nobody's: 1 at first, then whatever scales it */
    replicas: z.int(A_COUNT).min(0, A_COUNT).max(2_147_483_647, A_COUNT).optional(),
    /** Any string, for whoever reads the config: nothing follows from it. */
    revision: z.string(A_REVISION).max(253, A_REVISION).optional(),
  })
  .superRefine((workload, context) => {
    for (const { path, message } of [...storageProblems(workload), ...serviceProblems(workload)])
      context.addIssue({ code: 'custom', path, message })
  })
export type PodWorkload = z.infer<typeof PodWorkload>

/** How a workload is deployed once all defaults and the user's wishes are in. */
export type EffectiveDeployment = {
  readonly type: (typeof TYPES)[number]
  readonly service: (typeof SERVICES)[number]
}

export const deploymentOf = (workload: PodWorkload): EffectiveDeployment => {
  const { podSpec, deployment } = workload
  const isServing = servicePorts(podSpec).length > 0
  return { type: deployment?.type ?? 'stateless', service: serviceAsked(workload) ?? (isServing ? 'cluster' : 'omit') }
}

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
  const { podSpec, deployment, 'kubernetes-service-type': wished } = workload
  const service = serviceAsked(workload)
  const path = wished === undefined ? ['deployment', 'service'] : ['kubernetes-service-type']
  if (service === 'external' && deployment?.externalName === undefined)
    return [{ path: ['deployment', 'externalName'], message: `${A_HOST}: a Service external stands for one` }]
  if ((service === 'cluster' || service === 'loadbalancer') && servicePorts(podSpec).length === 0)
    return [{ path, message: `a Service ${service} needs a port, and no container has one` }]
  return []
}

/** Whether it is ours to deploy, and not one that somebody else deploys and the config only names. */
export const isPodWorkload = <T extends object>(workload: T | PodWorkload): workload is PodWorkload =>
  Object.hasOwn(workload, 'podSpec')

/** The workload of a config, if it is ours to deploy. */
export const ownWorkload = (config: { readonly workload?: object | null | undefined } = {}): PodWorkload | undefined =>
  config.workload && isPodWorkload(config.workload) ? config.workload : undefined

/** A workload that `named` reads, or ours: the key `podSpec` tells which was meant, so that what is wrong is said of that one. */
export const workloadOf = <T extends object>(named: z.ZodType<T>): z.ZodType<T | PodWorkload> =>
  z.unknown().transform((value, context): T | PodWorkload => {
    const schema = isObject(value) && isPodWorkload(value) ? PodWorkload : named
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
