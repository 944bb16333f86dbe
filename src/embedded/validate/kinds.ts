import { at, equal, type Json, type JsonMap, listOf, mapOf } from '../kinds/json.ts'
import type { Kind } from '../kinds/kind.ts'
import type { FieldError } from '../kinds/status.ts'
import { customErrors } from './custom.ts'
import { duplicate, forbiddenField, invalidValue, labelErrors, required } from './errors.ts'
import { problems } from './formats.ts'
import { atMostAll, countOrPercent, nonNegative, oneOf, portNumber, portNumberOrName } from './rules.ts'
import { type Check, deploymentErrors, podErrors, statefulSetErrors } from './workloads.ts'

const sizeLimit = 1048576

const dataErrors: Check = (object, previous) => {
  const data = Object.entries({ ...mapOf(object.data), ...mapOf(object.binaryData) })
  const keys = data.flatMap(([key]) => problems('dataKey', key).map((why) => invalidValue(`data[${key}]`, key, why)))
  const size = data.reduce((sum, [, value]) => sum + Buffer.byteLength(String(value)), 0)
  const tooLong = {
    field: '[]',
    reason: 'FieldValueTooLong',
    message: `Too long: may not be more than ${sizeLimit} bytes`,
  }
  const frozen = previous?.immutable === true ? ['immutable', 'data', 'binaryData'] : []
  const thawed = frozen.filter((field) => !equal(previous?.[field], object[field]))
  return [
    ...thawed.map((field) => forbiddenField(field, 'field is immutable when `immutable` is set')),
    ...keys,
    ...(size > sizeLimit ? [tooLong] : []),
  ]
}

const secretErrors: Check = (object, previous) => {
  const moved = previous !== undefined && object.type !== previous.type
  return [...(moved ? [invalidValue('type', object.type, 'field is immutable')] : []), ...dataErrors(object, previous)]
}

const nameErrors = (names: readonly (Json | undefined)[], index: number, field: string): FieldError[] => {
  const name = names[index]
  if (name === undefined) return names.length > 1 ? [required(`${field}.name`)] : []
  return names.indexOf(name) < index ? [duplicate(`${field}.name`, name)] : []
}

const servicePortErrors = (ports: readonly Json[]): FieldError[] => {
  const names = ports.map((port) => at(port, 'name'))
  const keys = ports.map((port) => `${at(port, 'port')}/${at(port, 'protocol')}`)
  return ports.flatMap((port, index) => {
    const field = `spec.ports[${index}]`
    const target = at(port, 'targetPort') ?? 0
    return [
      ...nameErrors(names, index, field),
      ...portNumber(at(port, 'port') ?? 0, `${field}.port`),
      ...oneOf('SCTP', 'TCP', 'UDP')(at(port, 'protocol'), `${field}.protocol`),
      ...(target === 0 ? [] : portNumberOrName(target, `${field}.targetPort`)),
      ...(keys.indexOf(String(keys[index])) < index ? [duplicate(field, port)] : []),
    ]
  })
}

const externalErrors = ({ type, externalName: name }: JsonMap): FieldError[] => {
  if (type !== 'ExternalName') return []
  if (name === undefined || name === '') return [required('spec.externalName')]
  return problems('subdomain', String(name)).map((why) => invalidValue('spec.externalName', name, why))
}

const serviceErrors: Check = (object, previous) => {
  const spec = mapOf(object.spec)
  const ports = listOf(spec.ports)
  const portless = ports.length === 0 && spec.clusterIP !== 'None' && spec.type !== 'ExternalName'
  const ip = at(previous, 'spec', 'clusterIP')
  const moved = ip !== undefined && spec.clusterIP !== ip && spec.type !== 'ExternalName'
  return [
    ...(portless ? [required('spec.ports')] : []),
    ...oneOf('ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort')(spec.type, 'spec.type'),
    ...externalErrors(spec),
    ...labelErrors(spec.selector, 'spec.selector'),
    ...servicePortErrors(ports),
    ...(moved ? [invalidValue('spec.clusterIP', spec.clusterIP, 'field is immutable')] : []),
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

const leaseErrors: Check = (object) => {
  const seconds = at(object, 'spec', 'leaseDurationSeconds')
  const field = 'spec.leaseDurationSeconds'
  return seconds !== undefined && Number(seconds) <= 0
    ? [invalidValue(field, seconds, 'must be greater than 0')]
    : nonNegative(at(object, 'spec', 'leaseTransitions'), 'spec.leaseTransitions')
}

const budgetErrors: Check = (object) => {
  const { minAvailable, maxUnavailable, unhealthyPodEvictionPolicy: policy } = mapOf(object.spec)
  const both = minAvailable !== undefined && maxUnavailable !== undefined
  const sent = { MinAvailable: minAvailable, MaxUnavailable: maxUnavailable }
  return [
    ...(both ? [invalidValue('spec', sent, 'minAvailable and maxUnavailable cannot be both set')] : []),
    ...countOrPercent(minAvailable, 'spec.minAvailable'),
    ...atMostAll(minAvailable, 'spec.minAvailable'),
    ...countOrPercent(maxUnavailable, 'spec.maxUnavailable'),
    ...atMostAll(maxUnavailable, 'spec.maxUnavailable'),
    ...oneOf('AlwaysAllow', 'IfHealthyBudget')(policy, 'spec.unhealthyPodEvictionPolicy'),
  ]
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
  Lease: leaseErrors,
  PodDisruptionBudget: budgetErrors,
}

/** The errors of an object outside its metadata; `previous` is the stored one it replaces. */
export const kindErrors = (kind: Kind, object: JsonMap, previous: JsonMap | undefined): FieldError[] =>
  kind.custom ? customErrors(kind, object, previous) : (checks[kind.kind]?.(object, previous) ?? [])
