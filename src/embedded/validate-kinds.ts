import { problems } from './formats.ts'
import { at, equal, type JsonMap, listOf, mapOf } from './json.ts'
import type { Kind } from './kind.ts'
import type { FieldError } from './status.ts'
import { forbidden, invalidValue, required, unsupported } from './validate.ts'
import { type Check, deploymentErrors, podErrors, statefulSetErrors } from './validate-workloads.ts'

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
    ...thawed.map((field) => forbidden(field, 'field is immutable when `immutable` is set')),
    ...keys,
    ...(size > sizeLimit ? [tooLong] : []),
  ]
}

const secretErrors: Check = (object, previous) => {
  const moved = previous !== undefined && object.type !== previous.type
  return [...(moved ? [invalidValue('type', object.type, 'field is immutable')] : []), ...dataErrors(object, previous)]
}

const serviceErrors: Check = (object, previous) => {
  const spec = mapOf(object.spec)
  const ports = listOf(spec.ports)
  const portless = ports.length === 0 && spec.clusterIP !== 'None' && spec.type !== 'ExternalName'
  const bad = ports.flatMap((port, index) => {
    const number = at(port, 'port')
    const right = typeof number === 'number' && number > 0 && number < 65536
    const unnamed = ports.length > 1 && at(port, 'name') === undefined
    return [
      ...(unnamed ? [required(`spec.ports[${index}].name`)] : []),
      ...(right
        ? []
        : [invalidValue(`spec.ports[${index}].port`, number ?? 0, 'must be between 1 and 65535, inclusive')]),
    ]
  })
  const ip = at(previous, 'spec', 'clusterIP')
  const moved = ip !== undefined && spec.clusterIP !== ip && spec.type !== 'ExternalName'
  return [
    ...(portless ? [required('spec.ports')] : []),
    ...bad,
    ...(moved ? [invalidValue('spec.clusterIP', spec.clusterIP, 'field is immutable')] : []),
  ]
}

const autoscalerErrors: Check = (object) => {
  const spec = mapOf(object.spec)
  const target = mapOf(spec.scaleTargetRef)
  const [least, most] = [Number(spec.minReplicas ?? 1), Number(spec.maxReplicas ?? 0)]
  return [
    ...['kind', 'name'].filter((key) => !target[key]).map((key) => required(`spec.scaleTargetRef.${key}`)),
    ...(most < 1 ? [invalidValue('spec.maxReplicas', most, 'must be greater than 0')] : []),
    ...(most < least ? [invalidValue('spec.maxReplicas', most, 'must be greater than or equal to `minReplicas`')] : []),
  ]
}

const oneOf =
  (path: readonly string[], values: readonly string[]): Check =>
  (object) => {
    const value = at(object, ...path)
    if (value === undefined || values.some((each) => each === value)) return []
    const rest =
      'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation'
    return [unsupported(path.join('.'), value, values), invalidValue('<nil>', null, rest)]
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
  AuthorizationPolicy: oneOf(['spec', 'action'], ['ALLOW', 'DENY', 'AUDIT', 'CUSTOM']),
  PeerAuthentication: oneOf(['spec', 'mtls', 'mode'], ['UNSET', 'DISABLE', 'PERMISSIVE', 'STRICT']),
}

/** What is wrong with an object outside its metadata; `previous` is the stored one it replaces. */
export const kindErrors = (kind: Kind, object: JsonMap, previous: JsonMap | undefined): FieldError[] =>
  checks[kind.kind]?.(object, previous) ?? []
