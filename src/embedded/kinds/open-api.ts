import type { Json } from '../../platform/base/json.ts'
import type { Shape } from '../../platform/kubernetes/managed-fields/shape.ts'
import { modelShape } from './models.ts'

/** The OpenAPI schema of a CustomResourceDefinition, as far as it is read here; Ajv reads the rest. */
export type OpenApi = {
  readonly type?: string
  readonly format?: string
  readonly default?: Json
  readonly items?: OpenApi
  readonly properties?: Readonly<Record<string, OpenApi>>
  readonly additionalProperties?: OpenApi
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-list-type'?: string
  readonly 'x-kubernetes-map-type'?: string
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
}

/** The keys that identify a list's items, with their defaults. */
export const listKeys = (schema: OpenApi): Readonly<Record<string, Json>> | undefined => {
  const names = schema['x-kubernetes-list-map-keys']
  return names && Object.fromEntries(names.map((name) => [name, schema.items?.properties?.[name]?.default ?? '']))
}

const typeOf = (schema: OpenApi): Shape => {
  const { type, format, items, properties, additionalProperties } = schema
  if (schema['x-kubernetes-int-or-string']) return { type: 'int-or-string' }
  if (schema['x-kubernetes-preserve-unknown-fields']) return { type: 'any' }
  if (items) return { type: 'list', items: openApiShape(items) }
  if (additionalProperties) return { type: 'map', values: openApiShape(additionalProperties) }
  if (type === 'object') return struct(properties ?? {})
  if (type === 'integer') return { type: format === 'int32' ? 'int32' : 'int64' }
  return { type: type === 'boolean' ? 'bool' : type === 'string' ? 'string' : 'any' }
}

const struct = (properties: Readonly<Record<string, OpenApi>>, more: Readonly<Record<string, Shape>> = {}): Shape => {
  const fields = {
    ...Object.fromEntries(Object.entries(properties).map(([key, property]) => [key, openApiShape(property)])),
    ...more,
  }
  return { type: 'struct', fields: () => fields }
}

const openApiShape = (schema: OpenApi): Shape => {
  const keys = listKeys(schema)
  return {
    ...typeOf(schema),
    ...(keys && { keys }),
    ...(schema['x-kubernetes-list-type'] === 'set' && { set: true as const }),
    ...(schema['x-kubernetes-map-type'] === 'atomic' && { atomic: true as const }),
    ...(schema.default !== undefined && { default: schema.default }),
  }
}

/** The shape of a custom resource. Its kind and metadata are those of every object. */
export const customShape = ({ properties = {} }: OpenApi): Shape => {
  const text: Shape = { type: 'string' }
  return struct(properties, { apiVersion: text, kind: text, metadata: modelShape('V1ObjectMeta') })
}
