import * as z from 'zod'
import { Port } from '../../core/policies/endpoint.ts'
import { MeshPolicy, Policies, Policy, RELATED } from '../../core/policies/models.ts'
import { workloadConfig } from '../../core/workload/schema.ts'
import { CustomMeshPolicy } from '../../features/service-mesh/custom-mesh-policy.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

/** Digits in a string, with or without leading zeros. */
export const PORT_TEXT = '^0*([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$'

/** JSON Schemas for schemas of zod that accept several forms. The generated ones would be incomplete. */
const FORMS: ReadonlyMap<unknown, () => JsonSchema> = new Map<z.ZodType, () => JsonSchema>([
  [
    Port,
    () => ({
      anyOf: [
        { type: 'integer', minimum: 1, maximum: 65535 },
        { type: 'string', pattern: PORT_TEXT },
      ],
    }),
  ],
  [Policies, () => ({ anyOf: [{ type: 'string', const: RELATED }, convert(z.array(Policy))] })],
  [CustomMeshPolicy, () => ({ ...convert(MeshPolicy), additionalProperties: false })],
  [workloadConfig.workload, () => ({ anyOf: [{ type: 'object', properties: {} }, { type: 'null' }] })],
])

/** Converts a schema to JSON Schema, of what is given. */
export const convert = (schema: z.ZodType): JsonSchema => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    reused: 'inline',
    override: ({ zodSchema, jsonSchema }) => {
      const form = FORMS.get(zodSchema)
      if (form === undefined) return
      for (const key of Object.keys(jsonSchema)) Reflect.deleteProperty(jsonSchema, key)
      Object.assign(jsonSchema, form())
    },
  })
  return rest
}
