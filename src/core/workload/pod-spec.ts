import * as z from 'zod'
import { DNS_LABEL } from '../../platform/base/names.ts'
import { printValue } from '../../platform/base/printed.ts'
import { PortNumber } from '../policies/endpoint.ts'
import { type NamedServicePort, servicePorts } from './service-ports.ts'

const A_NAME = 'expected a name: at most 63 lower-case letters, digits and hyphens, at the ends no hyphen'
const A_PORT_NAME =
  'expected the name of a port: at most 15 lower-case letters, digits and single hyphens, a letter among them'
const A_VARIABLE = 'expected the name of an environment variable: printable ASCII without ='
const AN_IMAGE = 'expected an image: a string that is not empty'

/** Refuses two items of a list with the same key. In a server-side apply, the API server answers these with 500, and clients retry that. */
export const refuseDuplicates =
  <T>(keyOf: (item: T) => string, pathOf: (index: number) => (string | number)[] = (index) => [index]) =>
  (items: readonly T[], context: z.RefinementCtx): void => {
    const seen = new Set<string>()
    for (const [index, item] of items.entries()) {
      const key = keyOf(item)
      if (seen.has(key))
        context.addIssue({ code: 'custom', path: pathOf(index), message: `duplicate ${printValue(key)}` })
      seen.add(key)
    }
  }

/** The name of a container, a volume or a claim: RFC 1123 label. */
export const PartName = z.string(A_NAME).regex(DNS_LABEL, A_NAME)

/** The name of a container's or a Service's port. */
export const PortName = z.string(A_PORT_NAME).regex(/^(?=.{1,15}$)(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*$/, A_PORT_NAME)

/** The protocol of a port. @default TCP */
export const Protocol = z.enum(['TCP', 'UDP', 'SCTP'], 'expected a protocol, one of TCP UDP SCTP').optional()

const ContainerPort = z.looseObject({
  containerPort: PortNumber,
  name: PortName.optional(),
  protocol: Protocol,
})

const Variable = z
  .looseObject({
    name: z.string(A_VARIABLE).regex(/^[ -<>-~]+$/, A_VARIABLE),
    value: z.string('expected a value: a string; quote a number').optional(),
  })
  .refine(({ value, valueFrom }) => !value || valueFrom === undefined || valueFrom === null, {
    path: ['valueFrom'],
    message: 'expected a value or valueFrom, not both',
  })

const VolumeMount = z.looseObject({
  name: PartName,
  mountPath: z.string('expected a path').min(1, 'expected a path'),
})

const Container = z.looseObject({
  name: PartName,
  image: z.string(AN_IMAGE).min(1, AN_IMAGE),
  ports: z
    .array(ContainerPort, 'expected ports: a list')
    .superRefine(refuseDuplicates(({ containerPort, protocol = 'TCP' }) => `${containerPort}/${protocol}`))
    .optional(),
  env: z
    .array(Variable, 'expected env: a list')
    .superRefine(refuseDuplicates(({ name }) => name))
    .optional(),
  volumeMounts: z
    .array(VolumeMount, 'expected volumeMounts: a list')
    .superRefine(refuseDuplicates(({ mountPath }) => mountPath))
    .optional(),
})
export type Container = z.infer<typeof Container>

const Volume = z.looseObject({ name: PartName })

/**
 * A PodSpec of Kubernetes. Problems that need no cluster are found here, before a bad spec can affect running pods. Unknown fields are left
 * to the API server.
 */
export const PodSpec = z
  .looseObject({
    containers: z.array(Container, 'expected containers: a list').min(1, 'expected at least one container'),
    initContainers: z.array(Container, 'expected initContainers: a list').optional(),
    volumes: z
      .array(Volume, 'expected volumes: a list')
      .superRefine(refuseDuplicates(({ name }) => name))
      .optional(),
    restartPolicy: z.literal('Always', 'expected Always: the pods of an application are restarted').optional(),
  })
  .superRefine(({ containers, initContainers = [] }, context) => {
    const isInit = (index: number) => index >= containers.length
    const pathOf = (index: number) =>
      isInit(index) ? ['initContainers', index - containers.length] : ['containers', index]
    refuseDuplicates<Container>(({ name }) => name, pathOf)([...containers, ...initContainers], context)
    // the Service has the ports of all containers
    const ports = servicePorts({ containers })
    refuseDuplicates<NamedServicePort>(
      ({ name }) => name,
      () => ['containers'],
    )(ports, context)
  })
export type PodSpec = z.infer<typeof PodSpec>
