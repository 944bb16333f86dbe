import { at, equal, type Json, type JsonMap, listOf, mapOf } from '../kinds/json.ts'
import type { Kind } from '../kinds/kind.ts'
import type { FieldError } from '../kinds/status.ts'
import { customErrors } from './custom.ts'
import { duplicate, forbiddenField, immutable, invalidValue, labelErrors, required, tooLong } from './errors.ts'
import { dataKeyProblems } from './formats.ts'
import { podErrors } from './pods.ts'
import {
  atMostAll,
  type Check,
  countOrPercent,
  formatted,
  holds,
  items,
  members,
  needed,
  nonNegative,
  oneOf,
  optional,
  portNumber,
  portNumberOrName,
  type Rule,
  unique,
} from './rules.ts'
import { labelSelector } from './selector-object.ts'
import { deploymentErrors, statefulSetErrors } from './workloads.ts'

const sizeLimit = 1048576

const dataKeys = (object: JsonMap, field: 'data' | 'binaryData'): FieldError[] =>
  Object.keys(mapOf(object[field])).flatMap((key) => {
    const isTwice = field === 'data' && at(object, 'binaryData', key) !== undefined
    const twice = isTwice ? ['duplicate of key present in binaryData'] : []
    return [...dataKeyProblems(key), ...twice].map((why) => invalidValue(`${field}[${key}]`, key, why))
  })

const dataErrors: Check = (object, previous) => {
  const data = [...Object.values(mapOf(object.data)), ...Object.values(mapOf(object.binaryData))]
  const size = data.reduce((sum: number, value) => sum + Buffer.byteLength(String(value)), 0)
  const frozen = previous?.immutable === true ? ['immutable', 'data', 'binaryData'] : []
  const thawed = frozen.filter((field) => !equal(previous?.[field], object[field]))
  return [
    ...thawed.map((field) => forbiddenField(field, 'field is immutable when `immutable` is set')),
    ...dataKeys(object, 'data'),
    ...dataKeys(object, 'binaryData'),
    ...(size > sizeLimit ? [tooLong('[]', sizeLimit)] : []),
  ]
}

/** The keys that a Secret of a type must hold. */
const secretKeys: ReadonlyMap<Json | undefined, readonly string[]> = new Map(
  Object.entries({
    'kubernetes.io/dockercfg': ['.dockercfg'],
    'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
    'kubernetes.io/ssh-auth': ['ssh-privatekey'],
    'kubernetes.io/tls': ['tls.crt', 'tls.key'],
  }),
)

const secretErrors: Check = (object, previous) => [
  ...immutable('type', object.type, previous?.type),
  ...dataErrors(object, previous),
  ...(secretKeys.get(object.type) ?? [])
    .filter((key) => at(object.data, key) === undefined)
    .map((key) => required(`data[${key}]`)),
]

const servicePorts: Rule<[isAlone: boolean]> = items((port, field, before, isAlone) => [
  ...(isAlone ? optional : needed)(formatted('label'))(port.name, `${field}.name`),
  ...unique(port, field, before),
  ...portNumber(port.port ?? 0, `${field}.port`),
  ...oneOf('SCTP', 'TCP', 'UDP')(port.protocol, `${field}.protocol`),
  ...optional(portNumberOrName)(port.targetPort, `${field}.targetPort`),
  ...(before.some((other) => other.port === port.port && other.protocol === port.protocol)
    ? [duplicate(field, port)]
    : []),
])

const noNodePorts: Rule = items(({ nodePort }, field) =>
  nodePort === undefined ? [] : [forbiddenField(`${field}.nodePort`, "may not be used when `type` is 'ClusterIP'")],
)

const serviceErrors: Check = (object, previous) => {
  const spec = mapOf(object.spec)
  const { type, clusterIP, externalName } = spec
  // its name may end with the dot of the root
  const target = String(externalName ?? '').replace(/\.$/, '')
  const ports = listOf(spec.ports)
  const isExternal = type === 'ExternalName'
  return [
    ...(ports.length === 0 && clusterIP !== 'None' && !isExternal ? [required('spec.ports')] : []),
    ...oneOf('ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort')(type, 'spec.type'),
    ...(isExternal ? needed(formatted('subdomain'))(target, 'spec.externalName') : []),
    ...labelErrors(spec.selector, 'spec.selector'),
    ...servicePorts(ports, 'spec.ports', ports.length === 1),
    ...oneOf('ClientIP', 'None')(spec.sessionAffinity, 'spec.sessionAffinity'),
    ...(type === 'ClusterIP' ? noNodePorts(ports, 'spec.ports') : []),
    ...(isExternal ? [] : immutable('spec.clusterIP', clusterIP, at(previous, 'spec', 'clusterIP'))),
  ]
}

const autoscalerErrors: Check = (object) => {
  const spec = mapOf(object.spec)
  const target = mapOf(spec.scaleTargetRef)
  const [least, most] = [Number(spec.minReplicas ?? 1), Number(spec.maxReplicas ?? 0)]
  return [
    ...['kind', 'name'].filter((key) => !target[key]).map((key) => required(`spec.scaleTargetRef.${key}`)),
    ...(target.apiVersion === undefined || target.apiVersion === ''
      ? [invalidValue('spec.scaleTargetRef.apiVersion', '', 'apiVersion must specify API group')]
      : []),
    ...(most < 1 ? [required('spec.maxReplicas', 'must be set and greater than 0')] : []),
    ...(most < least ? [invalidValue('spec.maxReplicas', most, 'must be greater than or equal to `minReplicas`')] : []),
  ]
}

const lease = members({
  leaseDurationSeconds: optional(holds((seconds) => Number(seconds) > 0, 'must be greater than 0')),
  leaseTransitions: nonNegative,
})

const percentage: Rule = (value, field) => [...countOrPercent(value, field), ...atMostAll(value, field)]

const budget = members({
  minAvailable: percentage,
  maxUnavailable: percentage,
  selector: labelSelector,
  unhealthyPodEvictionPolicy: oneOf('AlwaysAllow', 'IfHealthyBudget'),
})

const budgetErrors: Check = ({ spec }) => {
  const { minAvailable: MinAvailable, maxUnavailable: MaxUnavailable } = mapOf(spec)
  const both = MinAvailable !== undefined && MaxUnavailable !== undefined
  const why = 'minAvailable and maxUnavailable cannot be both set'
  return [...(both ? [invalidValue('spec', { MinAvailable, MaxUnavailable }, why)] : []), ...budget(spec, 'spec')]
}

/** The rules of each kind beyond its metadata. */
const checks: Readonly<Record<string, Check>> = {
  ConfigMap: dataErrors,
  Secret: secretErrors,
  Service: serviceErrors,
  Pod: podErrors,
  StatefulSet: statefulSetErrors,
  Deployment: deploymentErrors,
  HorizontalPodAutoscaler: autoscalerErrors,
  Lease: ({ spec }) => lease(spec, 'spec'),
  PodDisruptionBudget: budgetErrors,
}

/** The errors of an object outside its metadata; `previous` is the stored one it replaces. */
export const objectErrors = (kind: Kind, object: JsonMap, previous: JsonMap | undefined): FieldError[] =>
  kind.custom ? customErrors(kind, object, previous) : (checks[kind.kind]?.(object, previous) ?? [])
