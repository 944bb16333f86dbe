import type { Json } from '../../platform/base/json.ts'
import type { Scalar, Shape } from '../../platform/kubernetes/managed-fields/shape.ts'
import { type Attribute, attributesOf } from './attributes.ts'

/** `x-kubernetes-list-map-keys` of the API, with the default of each key. */
const named = { name: '' }
const typed = { type: '' }
const containerLists = {
  ports: { containerPort: 0, protocol: 'TCP' },
  env: named,
  volumeMounts: { mountPath: '' },
  volumeDevices: { devicePath: '' },
}
const listKeys: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, Json>>>>>> = {
  Container: containerLists,
  ContainerStatus: { volumeMounts: { mountPath: '' }, allocatedResourcesStatus: named },
  DeploymentStatus: { conditions: typed },
  EphemeralContainer: containerLists,
  HorizontalPodAutoscalerStatus: { conditions: typed },
  NamespaceStatus: { conditions: typed },
  ObjectMeta: { ownerReferences: { uid: '' } },
  PersistentVolumeClaimStatus: { conditions: typed },
  PodDisruptionBudgetStatus: { conditions: typed },
  PodSpec: {
    containers: named,
    ephemeralContainers: named,
    hostAliases: { ip: '' },
    imagePullSecrets: named,
    initContainers: named,
    resourceClaims: named,
    schedulingGates: named,
    topologySpreadConstraints: { topologyKey: '', whenUnsatisfiable: '' },
    volumes: named,
  },
  PodStatus: { conditions: typed, podIPs: { ip: '' }, resourceClaimStatuses: named },
  ResourceRequirements: { claims: named },
  ResourceStatus: { resources: { resourceID: '' } },
  ServiceAccount: { secrets: named },
  ServiceSpec: { ports: { port: 0, protocol: 'TCP' } },
  ServiceStatus: { conditions: typed },
  StatefulSetStatus: { conditions: typed },
}

/** `x-kubernetes-list-type: set`. */
const sets = ['ContainerRestartRuleOnExitCodes.values', 'ObjectMeta.finalizers']

/** `x-kubernetes-map-type: atomic`, of a struct wherever it is, or of one field. */
const atomics = [
  ...['ConfigMapKeySelector', 'FileKeySelector', 'LabelSelector', 'LocalObjectReference', 'NodeSelector'],
  ...['NodeSelectorTerm', 'ObjectFieldSelector', 'ObjectReference', 'OwnerReference', 'ResourceFieldSelector'],
  ...[
    'SecretKeySelector',
    'SecretReference',
    'TypedLocalObjectReference',
    'PodSpec.nodeSelector',
    'ServiceSpec.selector',
  ],
]

/** Fields that hold quantities, which the models call strings. */
const quantities = [
  ...['ContainerStatus.allocatedResources', 'EmptyDirVolumeSource.sizeLimit', 'MetricTarget.averageValue'],
  ...['MetricTarget.value', 'MetricValueStatus.averageValue', 'MetricValueStatus.value', 'PodSpec.overhead'],
  ...['PersistentVolumeClaimStatus.allocatedResources', 'PersistentVolumeClaimStatus.capacity'],
  ...['ResourceFieldSelector.divisor', 'ResourceRequirements.limits', 'ResourceRequirements.requests'],
  ...['VolumeResourceRequirements.limits', 'VolumeResourceRequirements.requests'],
]

/** Numbers and truth values that Go leaves out when they are zero; all others are pointers, or required. */
const omittedZeros = [
  ...[
    'hostIPC',
    'hostNetwork',
    'hostPID',
    'paused',
    'publishNotReadyAddresses',
    'readOnly',
    'stdin',
    'stdinOnce',
    'tty',
  ],
  ...['count', 'failureThreshold', 'healthCheckNodePort', 'hostPort', 'initialDelaySeconds', 'minReadySeconds'],
  ...['nodePort', 'periodSeconds', 'successThreshold', 'targetPort', 'timeoutSeconds'],
]

/** Texts that Go writes also when they are empty. */
const writtenTexts = [
  ...['Event.reportingComponent', 'Event.reportingInstance', 'GRPCAction.service', 'HTTPHeader.value'],
  ...['HostPathVolumeSource.type', 'LeaseSpec.holderIdentity', 'PersistentVolumeClaimSpec.storageClassName'],
  ...['PodDNSConfigOption.value', 'StatefulSetSpec.serviceName', 'Sysctl.value'],
]

const structName = (model: string): string => model.replace(/^(Core)?V\d+/, '')

const scalars: Readonly<Record<string, Scalar | 'any'>> = {
  string: 'string',
  boolean: 'bool',
  Date: 'time',
  V1MicroTime: 'micro-time',
  IntOrString: 'int-or-string',
  any: 'any',
}

/** The shape of a type in the models' notation: `Array<V1Container>`, `{ [key: string]: string; }`. */
const shapeOf = (type: string, format: string, scalar: Scalar | undefined): Shape => {
  const items = /^Array<(.+)>$/.exec(type)?.[1]
  if (items !== undefined) return { type: 'list', items: shapeOf(items, format, scalar) }
  const values = /^\{ \[key: string\]: (.+); \}$/.exec(type)?.[1]
  if (values !== undefined) return { type: 'map', values: shapeOf(values, format, scalar) }
  if (type === 'number') return { type: format === 'int64' ? 'int64' : 'int32' }
  if (scalar !== undefined || format === 'byte') return { type: scalar ?? 'byte' }
  const known = scalars[type]
  return known === undefined ? modelShape(type) : { type: known }
}

const memberOf = (struct: string, { baseName, type, format }: Attribute): Shape => {
  const place = `${struct}.${baseName}`
  const shape = shapeOf(type, format, quantities.includes(place) ? 'quantity' : undefined)
  const keys = listKeys[struct]?.[baseName]
  const omitsZero =
    shape.type === 'string'
      ? !writtenTexts.includes(place)
      : omittedZeros.includes(baseName) && place !== 'CSIVolumeSource.readOnly'
  return {
    ...shape,
    ...(keys && { keys }),
    ...(omitsZero && { omitsZero: true as const }),
    ...(sets.includes(place) && { set: true as const }),
    ...(atomics.includes(place) && { atomic: true as const }),
  }
}

const known = new Map<string, Shape>()

/** The shape of a model, e.g. `V1PodSpec`. Models are read on demand: few of some hundred ever are. */
export const modelShape = (model: string): Shape => {
  const name = structName(model)
  let fields: Readonly<Record<string, Shape>> | undefined
  const read = () =>
    Object.fromEntries(attributesOf(model).map((attribute) => [attribute.baseName, memberOf(name, attribute)]))
  const shape = known.get(model) ?? {
    type: 'struct',
    name,
    fields: () => {
      fields ??= read()
      return fields
    },
    ...(atomics.includes(name) && { atomic: true as const }),
  }
  known.set(model, shape)
  return shape
}

/** The names of all models that those asked for so far are made of. */
export const reachedModels = (): string[] => {
  for (const { fields } of known.values()) fields?.()
  return [...known.keys()]
}
