import { Ajv, type ValidateFunction } from 'ajv'
import { schemas } from '../helpers/recorded.ts'

type Schema = { [keyword: string]: unknown }

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const mapValues = (schemas: unknown): Schema =>
  Object.fromEntries(Object.entries(isSchema(schemas) ? schemas : {}).map(([name, schema]) => [name, closed(schema)]))

/** Fields the API server would prune, or keep unread because the type is left open, become errors. */
const closedObject = (schema: Schema): Schema => {
  if (!isSchema(schema.properties)) return {}
  return {
    properties: mapValues({ ...schema.properties, ...unlisted(schema.properties) }),
    additionalProperties: false,
  }
}

/** The CRDs leave a delivery open for `timeout`, which Knative reads, instead of naming it. */
const unlisted = (properties: Schema): Schema => ('backoffDelay' in properties ? { timeout: { type: 'string' } } : {})

const typed = (schema: Schema): Schema => {
  if (schema['x-kubernetes-int-or-string']) return { type: ['integer', 'string'] }
  return schema.nullable ? { type: [schema.type, 'null'] } : {}
}

/** A CRD's OpenAPI schema as a JSON schema that knows no field but those it names. */
const closed = (schema: unknown): unknown => {
  if (!isSchema(schema)) return schema
  const { nullable: _, anyOf, ...rest } = schema
  return {
    ...rest,
    ...(anyOf !== undefined && !schema['x-kubernetes-int-or-string'] && { anyOf }),
    ...(isSchema(schema.items) && { items: closed(schema.items) }),
    ...(isSchema(schema.additionalProperties) && { additionalProperties: closed(schema.additionalProperties) }),
    ...closedObject(schema),
    ...typed(schema),
  }
}

const envelope = { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { type: 'object' } }

/** A validator for each kind of which the schema is recorded, by `group/version kind`. */
export const validators = new Map(
  Object.entries(schemas()).map(([type, root]): [type: string, validate: ValidateFunction] => {
    const whole = { ...root, properties: { ...root.properties, ...envelope } }
    const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true })
    return [type, ajv.compile(closed(whole) as Schema)]
  }),
)
