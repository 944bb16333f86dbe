import * as z from 'zod'
import { createFunctions } from '../../../functions/index.ts'
import { Expectation } from '../../ask/authorization/expectation.ts'
import { RelationIdentity, Remote } from '../../core/state/relation.ts'
import { features } from '../../features.ts'

const functions = createFunctions(features)

type JsonSchema = Readonly<Record<string, unknown>>

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

/**
 * Creates a JSON Schema that refuses nothing the functions accept. Rules that it cannot express, as for label texts, are left to the
 * functions.
 */
const jsonSchema = (title: string, schema: z.ZodType): JsonSchema => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' })
  return { $schema: DIALECT, title, ...rest }
}

/** JSON Schemas by name, for editors and whoever sends events: `config`, `relation`, `expect`, and the data of each event. */
export const schemas: Readonly<Record<string, () => JsonSchema>> = {
  config: () => jsonSchema('The config of an application', features.givenConfig),
  relation: () =>
    jsonSchema('A relation, as one side is told', z.strictObject({ relation: RelationIdentity, remote: Remote })),
  expect: () => jsonSchema('What has to be allowed or refused', z.strictObject({ expect: z.array(Expectation) })),
  ...Object.fromEntries(
    functions.map(({ name, type, schema }) => [name, () => jsonSchema(`The data of ${type}`, schema)]),
  ),
}

/** Each event, with the schema of its data. */
export const messages = () =>
  functions.map(({ name, type, schema }) => ({ name, type, schema: jsonSchema(`The data of ${type}`, schema) }))

/** https://www.asyncapi.com/docs/reference/specification/v3.0.0 */
export const asyncApi = (): JsonSchema => ({
  asyncapi: '3.0.0',
  info: {
    title: 'meshstep',
    version: '1',
    description: 'CloudEvents 1.0 over HTTP, in binary or structured mode. The subject is {namespace}/{application}.',
  },
  defaultContentType: 'application/json',
  channels: {
    events: {
      address: '/',
      messages: Object.fromEntries(functions.map(({ name }) => [name, { $ref: `#/components/messages/${name}` }])),
    },
  },
  operations: {
    take: {
      action: 'receive',
      channel: { $ref: '#/channels/events' },
      bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
    },
  },
  components: {
    messages: Object.fromEntries(
      messages().map(({ name, type, schema }) => [
        name,
        {
          name: type,
          contentType: 'application/json',
          headers: {
            type: 'object',
            required: ['ce-id', 'ce-source', 'ce-specversion', 'ce-type'],
            properties: { 'ce-type': { const: type }, 'ce-specversion': { const: '1.0' } },
          },
          payload: schema,
        },
      ]),
    ),
  },
})

/** Knative's EventTypes, by which a broker tells what may be sent to it and what its functions send. */
export const eventTypes = () =>
  functions.map(({ name, type }) => ({
    apiVersion: 'eventing.knative.dev/v1beta3',
    kind: 'EventType',
    metadata: { name: type.replace(/^dev\./, '') },
    spec: {
      description: `${name} of an application`,
      reference: { apiVersion: 'eventing.knative.dev/v1', kind: 'Broker', name: 'default' },
      attributes: [
        { name: 'type', required: true, value: type },
        { name: 'specversion', required: true, value: '1.0' },
        { name: 'source', required: true },
        { name: 'id', required: true },
      ],
    },
  }))
