import { type JsonMap, mapOf } from '../../platform/base/json.ts'
import type { Kind } from '../kinds/kind.ts'
import type { FieldError } from '../kinds/status.ts'
import { customErrors } from './custom.ts'
import { deploymentErrors, statefulSetErrors } from './workloads.ts'

/** The errors of an object; `previous` is the stored one that it replaces. */
type Check = (object: JsonMap, previous: JsonMap | undefined) => FieldError[]

const sizeLimit = 1048576

const dataErrors: Check = ({ data, binaryData }) => {
  const values = [...Object.values(mapOf(data)), ...Object.values(mapOf(binaryData))]
  const size = values.reduce((sum: number, value) => sum + Buffer.byteLength(String(value)), 0)
  const message = `Too long: may not be more than ${sizeLimit} bytes`
  return size > sizeLimit ? [{ field: '[]', reason: 'FieldValueTooLong', message }] : []
}

/** The rules that what meshstep does rests on. All others are a real API server's. */
const checks: Readonly<Record<string, Check>> = {
  ConfigMap: dataErrors,
  Secret: dataErrors,
  StatefulSet: statefulSetErrors,
  Deployment: deploymentErrors,
}

/** The errors of an object outside its metadata; `previous` is the stored one it replaces. */
export const objectErrors = (kind: Kind, object: JsonMap, previous: JsonMap | undefined): FieldError[] =>
  kind.custom ? customErrors(kind, object, previous) : (checks[kind.kind]?.(object, previous) ?? [])
