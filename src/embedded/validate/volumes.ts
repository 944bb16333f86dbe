import { at, type JsonMap, mapOf } from '../kinds/json.ts'
import type { FieldError } from '../kinds/status.ts'
import { fileField } from './downward.ts'
import { forbiddenField, invalidValue, notFound } from './errors.ts'
import {
  formatted,
  holds,
  isMissing,
  items,
  members,
  needed,
  optional,
  type PodRule,
  type Rule,
  unique,
} from './rules.ts'

const tenMinutes = 600

const token = optional(
  members({
    expirationSeconds: optional(
      holds((value) => Number(value) >= tenMinutes, 'may not specify a duration less than 10 minutes'),
    ),
    path: needed(),
  }),
)

const files = optional(
  members({ items: items((item, field) => optional(fileField)(item.fieldRef, `${field}.fieldRef`)) }),
)

/** The rules of the sources of volumes. */
const sources: Readonly<Record<string, Rule>> = {
  configMap: optional(members({ name: needed() })),
  secret: optional(members({ secretName: needed() })),
  hostPath: optional(members({ path: needed() })),
  persistentVolumeClaim: optional(members({ claimName: needed() })),
  downwardAPI: files,
  projected: optional(
    members({
      sources: items(members({ downwardAPI: files, serviceAccountToken: token })),
    }),
  ),
}

/** The errors of a pod's volumes. */
export const volumes: Rule = items((item, field, before) => {
  const [, ...others] = Object.keys(item).filter((key) => key !== 'name')
  return [
    ...others.map((key) => forbiddenField(`${field}.${key}`, 'may not specify more than 1 volume type')),
    ...members(sources)(item, field),
    ...needed(formatted('label'))(item.name, `${field}.name`),
    ...unique(item, field, before),
  ]
})

/** A path in a volume does not leave it. */
const pathInside: Rule = optional((value, field) => {
  const path = String(value)
  return [
    ...(path.startsWith('/') ? [invalidValue(field, value, 'must be a relative path')] : []),
    ...(path.split('/').includes('..') ? [invalidValue(field, value, "must not contain '..'")] : []),
  ]
})

/** The errors of the mounts of a container, whose pod is the context. */
export const mounts: PodRule = (value, field, { volumes: known }) => {
  const names = Array.isArray(known) ? known.map((volume) => at(volume, 'name')) : []
  return items((item, place, before): FieldError[] => [
    ...needed()(item.name, `${place}.name`),
    ...(names.includes(item.name) ? [] : [notFound(`${place}.name`, item.name)]),
    ...needed()(item.mountPath, `${place}.mountPath`),
    ...(before.some(({ mountPath }) => mountPath === item.mountPath)
      ? [invalidValue(`${place}.mountPath`, item.mountPath, 'must be unique')]
      : []),
    // the API server leaves the index out
    ...pathInside(item.subPath, `${field}.subPath`),
    ...(isMissing(item.subPath) || isMissing(item.subPathExpr)
      ? []
      : [invalidValue(`${place}.subPathExpr`, item.subPathExpr, 'subPathExpr and subPath are mutually exclusive')]),
    ...pathInside(item.subPathExpr, `${field}.subPathExpr`),
  ])(value, field)
}

/** The names of the resources that a pod claims. */
export const claimNames = (spec: JsonMap): string[] =>
  Array.isArray(spec.resourceClaims) ? spec.resourceClaims.map((claim) => String(mapOf(claim).name)) : []
