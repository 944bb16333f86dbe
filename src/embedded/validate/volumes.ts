import { at, type JsonMap, mapOf } from '../kinds/json.ts'
import type { FieldError } from '../kinds/status.ts'
import { fileField, resourceOfContainer } from './downward.ts'
import { forbiddenField, invalidValue, notFound, required } from './errors.ts'
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

/** A path in a volume does not leave it. */
const pathInside: Rule = optional((value, field) => {
  const path = String(value)
  return [
    ...(path.startsWith('/') ? [invalidValue(field, value, 'must be a relative path')] : []),
    ...(path.split('/').includes('..') ? [invalidValue(field, value, "must not contain '..'")] : []),
  ]
})

/** The path of a file in a volume; the kubelet has those that begin with two dots. */
const filePath: Rule = needed((value, field) => [
  ...pathInside(value, field),
  ...holds((path) => !/^\.\.(?!\/)/.test(String(path)), "must not start with '..'")(value, field),
])

const mode = optional(
  holds(
    (value) => Number(value) >= 0 && Number(value) <= 0o777,
    'must be a number between 0 and 0777 (octal), both inclusive',
  ),
)

const tenMinutes = 600

const token = optional(
  members({
    expirationSeconds: optional(
      holds((value) => Number(value) >= tenMinutes, 'may not specify a duration less than 10 minutes'),
    ),
    path: filePath,
  }),
)

const keys = items(members({ key: needed(), path: filePath, mode }))

const file: Rule = (value, field) => {
  const { fieldRef, resourceFieldRef } = mapOf(value)
  const none = fieldRef === undefined && resourceFieldRef === undefined
  const both = fieldRef !== undefined && resourceFieldRef !== undefined
  const why = 'fieldRef and resourceFieldRef can not be specified simultaneously'
  return [
    ...filePath(at(value, 'path'), `${field}.path`),
    ...optional(fileField)(fieldRef, `${field}.fieldRef`),
    ...(both ? [invalidValue(field, 'resource', why)] : []),
    ...(both ? [] : optional(resourceOfContainer)(resourceFieldRef, `${field}.resourceFieldRef`)),
    ...(none ? [required(field, 'one of fieldRef and resourceFieldRef is required')] : []),
    ...mode(at(value, 'mode'), `${field}.mode`),
  ]
}

const files = members({ defaultMode: mode, items: items(file) })

const named = optional(members({ name: needed(), items: keys }))

const projections = members({ secret: named, configMap: named, downwardAPI: files, serviceAccountToken: token })

/** The rules of the sources of volumes. */
const sources: Readonly<Record<string, Rule>> = {
  configMap: optional(members({ name: needed(), defaultMode: mode, items: keys })),
  secret: optional(members({ secretName: needed(), defaultMode: mode, items: keys })),
  hostPath: optional(members({ path: needed() })),
  persistentVolumeClaim: optional(members({ claimName: needed() })),
  downwardAPI: files,
  projected: optional(
    members({
      defaultMode: mode,
      sources: items((source, field) => [
        ...projections(source, field),
        ...(Object.keys(source).length > 1
          ? [forbiddenField(field, 'may not specify more than 1 volume type per source')]
          : []),
      ]),
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

/** The errors of the resources that a pod claims. */
export const resourceClaims: Rule = items((claim, field, before) => {
  const { name: Name, resourceClaimName = null, resourceClaimTemplateName = null } = claim
  const given = [resourceClaimName, resourceClaimTemplateName].filter((name) => name !== null).length
  const printed = {
    Name: Name ?? '',
    ResourceClaimName: resourceClaimName,
    ResourceClaimTemplateName: resourceClaimTemplateName,
  }
  const none = given === 0 ? ['must specify one of: `resourceClaimName`, `resourceClaimTemplateName`'] : []
  const both = given === 2 ? ['at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified'] : []
  return [
    ...needed(formatted('label'))(Name, `${field}.name`),
    ...unique(claim, field, before),
    ...[...none, ...both].map((why) => invalidValue(field, printed, why)),
  ]
})

/** The names of the resources that a pod claims. */
export const claimNames = (spec: JsonMap): string[] =>
  Array.isArray(spec.resourceClaims) ? spec.resourceClaims.map((claim) => String(mapOf(claim).name)) : []
