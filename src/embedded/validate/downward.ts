import { type Json, mapOf } from '../kinds/json.ts'
import type { FieldError } from '../kinds/status.ts'
import { invalidValue, required, unsupported } from './errors.ts'
import { keyProblems } from './formats.ts'
import { isMissing, needed, oneOf, type Rule } from './rules.ts'

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

const resources = ['limits', 'requests'].flatMap((list) =>
  ['cpu', 'ephemeral-storage', 'memory'].map((name) => `${list}.${name}`),
)

/** The resources of a container that a variable may have. */
export const resourceField: Rule = (ref, field) => {
  const { resource } = mapOf(ref)
  const isHugePages = /^(limits|requests)\.hugepages-/.test(String(resource))
  return needed(isHugePages ? undefined : oneOf(...resources))(resource, `${field}.resource`)
}

/** The same for a file, which names the container. */
export const resourceOfContainer: Rule = (ref, field) =>
  isMissing(mapOf(ref).containerName) ? [required(`${field}.containerName`)] : resourceField(ref, field)

/** The fields of its pod that a file may have. */
export const fileField = fieldRef(ofFiles)
