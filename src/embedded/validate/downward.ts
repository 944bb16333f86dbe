import { type Json, mapOf } from '../kinds/json.ts'
import type { FieldError } from '../kinds/status.ts'
import { invalidValue, required, unsupported } from './errors.ts'
import { keyProblems } from './formats.ts'
import { isMissing, type Rule } from './rules.ts'

const shared = ['metadata.name', 'metadata.namespace', 'metadata.uid']

const ofVariables = [
  ...[...shared, 'spec.nodeName', 'spec.serviceAccountName'],
  ...['status.hostIP', 'status.hostIPs', 'status.podIP', 'status.podIPs'],
]

const ofFiles = ['metadata.annotations', 'metadata.labels', ...shared]

const ofPods = [
  ...new Set([...ofFiles, ...ofVariables, 'spec.restartPolicy', 'spec.schedulerName', 'status.phase', 'spec.host']),
]

const subscripted = /^(.*)\['(.*)'\]$/s

const keyErrors = (path: string, key: string, field: string): FieldError[] => {
  if (path !== 'metadata.annotations' && path !== 'metadata.labels') {
    const why = `error converting fieldPath: field label does not support subscript: ${path}`
    return [invalidValue(`${field}.fieldPath`, `${path}['${key}']`, why)]
  }
  const name = path === 'metadata.annotations' ? key.toLowerCase() : key
  return keyProblems(name).map((why) => invalidValue(field, key, why))
}

const fieldRef =
  (paths: readonly string[]): Rule =>
  (ref, field) => {
    const value: Json | undefined = mapOf(ref).fieldPath
    const place = `${field}.fieldPath`
    if (isMissing(value)) return [required(place)]
    const [, path, key] = subscripted.exec(String(value)) ?? []
    if (path !== undefined && key !== undefined) return keyErrors(path, key, field)
    if (!ofPods.includes(String(value)))
      return [invalidValue(place, value, `error converting fieldPath: field label not supported: ${value}`)]
    return paths.includes(String(value)) ? [] : [unsupported(place, value, paths)]
  }

/** The fields of its pod that a variable may have. */
export const variableField = fieldRef(ofVariables)

/** The fields of its pod that a file may have. */
export const fileField = fieldRef(ofFiles)
