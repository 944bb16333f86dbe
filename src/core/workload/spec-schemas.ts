import * as z from 'zod'
import { NAME_LABEL } from '../../platform/kubernetes/services.ts'
import { PortNumber } from '../policies/endpoint.ts'
import { DataKey } from '../units/leader-settings.ts'
import { PartName, PortName, Protocol } from './pod-spec.ts'

const TEXTS = 'expected texts by their keys; quote a number'
const Texts = z.record(z.string(), z.string(TEXTS), TEXTS)

const Labels = Texts.refine(
  (labels) => !Object.hasOwn(labels, NAME_LABEL),
  `${NAME_LABEL} is set already: it selects the pods`,
)

export const PodMetadata = z.strictObject({ labels: Labels.optional(), annotations: Texts.optional() })

/** A port of a Service, with Kubernetes' fields. One of several needs a name. */
const ChosenPort = z
  .strictObject({
    port: PortNumber,
    name: PortName.optional(),
    /** A number, or the name of a port of a container. @default port */
    targetPort: z.union([PortNumber, PortName], 'expected the number of a port, or the name of one').optional(),
    protocol: Protocol,
    appProtocol: z.string('expected a text').min(1).optional(),
  })
  .transform(({ port, name, targetPort, protocol, ...others }) => ({
    name: name ?? `port-${port}`,
    port,
    protocol: protocol ?? ('TCP' as const),
    targetPort: targetPort ?? port,
    ...others,
  }))

export const ServiceSettings = z.strictObject({
  annotations: Texts.optional(),
  /** The ports to use instead of those of all containers. */
  ports: z.array(ChosenPort, 'expected ports: a list').min(1, 'expected at least one port').optional(),
})

export const ServiceAccount = z.strictObject({ name: PartName.optional(), annotations: Texts.optional() })

const Files = z.record(DataKey, z.string(TEXTS))

/** Texts by key, for each ConfigMap by its name. */
export const ConfigMaps = z.record(PartName, Files, 'expected ConfigMaps by their names')

/** Texts by key, for each Secret by its name. The memory never holds these texts. */
export const Secrets = z.record(PartName, Files, 'expected Secrets by their names')

/** Decides by the name of a variable if its value is a secret. */
export const SecretEnv = z.record(z.string(), z.boolean('expected true or false'), 'expected true or false by name')

const COUNT = 'expected a number of pods, or a percentage'
const Count = z.union([z.int().min(0), z.string().regex(/^\d+%$/)], COUNT)

export const DisruptionBudget = z
  .strictObject({
    minAvailable: Count.optional(),
    maxUnavailable: Count.optional(),
    unhealthyPodEvictionPolicy: z.enum(['IfHealthyBudget', 'AlwaysAllow']).optional(),
  })
  .refine(
    ({ minAvailable, maxUnavailable }) => (minAvailable === undefined) !== (maxUnavailable === undefined),
    'expected either minAvailable or maxUnavailable',
  )
