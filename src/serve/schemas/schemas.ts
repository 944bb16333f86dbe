import * as z from 'zod'
import { createFunctions } from '../../../functions/index.ts'
import about from '../../../package.json' with { type: 'json' }
import { Expectation } from '../../ask/authorization/expectation.ts'
import { RelationIdentity, Remote } from '../../core/state/relation.ts'
import { features } from '../../features.ts'
import { convert, type JsonSchema } from './convert.ts'
import { described } from './described.ts'
import { meanings } from './meanings.ts'
import { announced, NUDGES, replies, type Sent } from './sent.ts'

const functions = createFunctions(features)

const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

/** Creates a JSON Schema that accepts everything the functions accept. It leaves out rules that it cannot express, such as those for label texts. */
const jsonSchema = (name: string, title: string, description: string, schema: z.ZodType): JsonSchema => ({
  $schema: DIALECT,
  $id: `https://meshstep.dev/schemas/${name}.json`,
  title,
  description,
  ...described(convert(schema), meanings[name] ?? {}),
})

const ofEvent = ({ name, type, schema }: (typeof functions)[number]): JsonSchema =>
  jsonSchema(
    name,
    `The data of ${type}`,
    `The data of a CloudEvent of the type ${type}, which POST /${name} takes.`,
    schema,
  )

const ofSent = ({ name, type, schema }: Sent): JsonSchema =>
  jsonSchema(name, `The data of ${type}`, `The data of a CloudEvent of the type ${type}, which meshstep sends.`, schema)

/** JSON Schemas by name, for editors, senders and receivers of events: `config`, `relation`, `expect`, and the data of each event. */
export const schemas: Readonly<Record<string, () => JsonSchema>> = {
  config: () =>
    jsonSchema(
      'config',
      'The config of an application',
      'The config of an application, in a config-changed or a document. Every key is optional.',
      features.givenConfig,
    ),
  relation: () =>
    jsonSchema(
      'relation',
      'A relation, as one side sees it',
      'A relation, in a relation-changed or a document.',
      z.strictObject({ relation: RelationIdentity, remote: Remote }),
    ),
  expect: () =>
    jsonSchema(
      'expect',
      'Requests that have to be allowed or refused',
      'Requests that `meshstep expect` checks.',
      z.strictObject({ expect: z.array(Expectation) }),
    ),
  ...Object.fromEntries(functions.map((one) => [one.name, () => ofEvent(one)])),
  ...Object.fromEntries([...replies, ...announced].map((one) => [one.name, () => ofSent(one)])),
}

/** Lists the events with the schemas of their data. */
export const messages = () => functions.map((one) => ({ name: one.name, type: one.type, schema: ofEvent(one) }))

const references = (names: readonly string[]): JsonSchema =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/messages/${name}` }]))

const messageOf = (type: string, payload: JsonSchema): JsonSchema => ({
  name: type,
  contentType: 'application/json',
  headers: {
    type: 'object',
    required: ['ce-id', 'ce-source', 'ce-specversion', 'ce-type'],
    properties: { 'ce-type': { const: type }, 'ce-specversion': { const: '1.0' } },
  },
  payload,
})

const POST = { http: { method: 'POST', bindingVersion: '0.3.0' } }

/** Describes the events that are taken, the answers, and the events that go to a sink. https://www.asyncapi.com/docs/reference/specification/v3.0.0 */
export const asyncApi = (): JsonSchema => ({
  asyncapi: '3.0.0',
  info: {
    title: 'meshstep',
    version: about.version,
    description: 'CloudEvents 1.0 over HTTP, in binary or structured mode. The subject is {namespace}/{application}.',
  },
  defaultContentType: 'application/json',
  channels: {
    events: { address: '/', messages: references(functions.map(({ name }) => name)) },
    answers: {
      address: null,
      description: 'The answer to an event: reconciled, or planned where the event has the extension dryrun.',
      messages: references(replies.map(({ name }) => name)),
    },
    sink: {
      address: null,
      description: 'The address in K_SINK. Without one, the events about relations stay within the process.',
      messages: references([...NUDGES, ...announced.map(({ name }) => name)]),
    },
  },
  operations: {
    take: {
      action: 'receive',
      channel: { $ref: '#/channels/events' },
      bindings: POST,
      reply: { channel: { $ref: '#/channels/answers' } },
    },
    tell: { action: 'send', channel: { $ref: '#/channels/sink' }, bindings: POST },
  },
  components: {
    messages: {
      ...Object.fromEntries(messages().map(({ name, type, schema }) => [name, messageOf(type, schema)])),
      ...Object.fromEntries([...replies, ...announced].map((one) => [one.name, messageOf(one.type, ofSent(one))])),
    },
  },
})

/** Builds Knative's EventTypes of the manifests: the events that the functions take from the broker. A spec can never change: Knative refuses that. */
export const eventTypes = () =>
  functions.map(({ type }) => ({
    apiVersion: 'eventing.knative.dev/v1beta3',
    kind: 'EventType',
    metadata: { name: type.replace(/^dev\./, '') },
    spec: {
      reference: { apiVersion: 'eventing.knative.dev/v1', kind: 'Broker', name: 'meshstep' },
      attributes: [
        { name: 'type', required: true, value: type },
        { name: 'specversion', required: true, value: '1.0' },
        { name: 'source', required: true },
        { name: 'id', required: true },
      ],
    },
  }))
