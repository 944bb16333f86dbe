import * as z from 'zod'
import about from '../../../package.json' with { type: 'json' }
import { QUERY_FIELDS } from '../../ask/authorization/query.ts'
import type { Finding } from '../../ask/lint/finding.ts'
import { RULE_IDS } from '../../ask/lint/rule-ids.ts'
import { Window } from '../../ask/traffic/window.ts'
import type { PolicyView } from '../../ask/views/policies.ts'
import type { RelationView } from '../../ask/views/relations.ts'
import { Namespace } from '../../platform/base/names.ts'
import { convert, type JsonSchema } from '../schemas/convert.ts'
import { condition, type KeysOf, planned } from '../schemas/sent.ts'
import type { ApplicationView } from './applications.ts'
import type { Explanation } from './explain.ts'
import { PageQuery } from './page-query.ts'

const text = z.string()
const texts = z.array(text)
const flag = z.boolean()
const anything = z.record(text, z.unknown())
const strings = z.record(text, text)

const relation: KeysOf<RelationView> = {
  ...{ id: z.int(), endpoint: text, interface: text, role: z.enum(['provides', 'requires', 'peers']), remote: text },
  ...{ remoteEndpoint: text.optional(), stands: flag, ended: z.literal(true).optional(), document: text.optional() },
  ...{ says: anything, hears: anything, claim: z.enum(['claiming', 'applied', 'leaving']).optional() },
}
const policy: KeysOf<PolicyView> = {
  ...{ namespace: text, name: text, action: text, target: text, owner: text },
  ...{ sources: texts, requestedBy: texts },
}
const application: KeysOf<ApplicationView> = {
  ...{ namespace: text, application: text, conditions: z.array(z.object(condition)), runs: flag, messages: texts },
  status: z.object({ status: text, message: text, since: text.optional() }),
  leader: z.object({ unit: text, epoch: z.number().optional() }).optional(),
  ...{ settings: strings, units: z.array(z.object({ unit: text, pod: text, uid: text })) },
  ...{ labels: strings, wanted: strings, config: anything, relations: z.array(z.object(relation)) },
  ...{ policies: z.array(z.object(policy)).optional(), saved: text.optional() },
  ...{ services: z.array(anything), databags: z.array(anything) },
}
const unreadable = { namespace: text, application: text, problem: text }
const applications = z.array(z.union([z.object(application), z.object(unreadable)]))
const finding: KeysOf<Finding> = { rule: z.enum(RULE_IDS), about: text, message: text }
const explanation: KeysOf<Explanation> = {
  ...{ allowed: flag, decided: flag, at: text, policy: text.optional(), relations: texts },
  ...{ sentence: text, steps: z.array(anything), enforced: anything.optional(), request: anything },
}

const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  Application: z.object(application),
  Applications: applications,
  Explanation: z.object(explanation),
  Findings: z.array(z.object(finding)),
  Plan: z.object(planned),
  Traffic: anything,
  Proposal: anything,
  Problem: z.object({ type: text, title: text, status: z.int(), reason: text, message: text }),
}

const namespace = { namespace: Namespace }

type Question = {
  readonly summary: string
  readonly query?: Readonly<Record<string, z.ZodType>>
  /** The name of the schema of the answer. Absent for a stream. */
  readonly answer?: string
  /** The media types of a body. */
  readonly takes?: readonly string[]
}

const JSON_TYPE = 'application/json'
const DOCUMENTS = ['application/yaml', JSON_TYPE, 'application/cloudevents+json']

const FLAGS: Readonly<Record<string, z.ZodType>> = {
  namespace: Namespace.optional(),
  delete: z.enum(['true', 'false']).optional(),
  autoAllowWaypoint: z.enum(['true', 'false']).optional(),
}

/** The questions, by path and method. */
const QUESTIONS: Readonly<Record<string, Readonly<Record<string, Question>>>> = {
  '/applications': {
    get: {
      summary: 'Lists the applications of all namespaces, a page at a time',
      query: PageQuery.shape,
      answer: 'Applications',
    },
  },
  '/applications/{namespace}': { get: { summary: 'Lists the applications of a namespace', answer: 'Applications' } },
  '/applications/{namespace}/{application}': {
    get: { summary: 'Has everything about an application', answer: 'Application' },
  },
  '/explain': {
    get: { summary: 'Says if a request would pass, and why', query: QUERY_FIELDS, answer: 'Explanation' },
  },
  '/lint': { get: { summary: 'Names probable mistakes', query: namespace, answer: 'Findings' } },
  '/plan': {
    post: { summary: 'Says what events and documents would do', query: FLAGS, answer: 'Plan', takes: DOCUMENTS },
  },
  '/traffic': {
    get: { summary: 'Says who talked to whom', query: { ...namespace, window: Window }, answer: 'Traffic' },
    post: { summary: 'Says it by what was observed', query: namespace, answer: 'Traffic', takes: [JSON_TYPE] },
  },
  '/propose': {
    get: { summary: 'Proposes documents by the traffic', query: { ...namespace, window: Window }, answer: 'Proposal' },
    post: { summary: 'Proposes them by what was observed', query: namespace, answer: 'Proposal', takes: [JSON_TYPE] },
  },
  '/steps': {
    get: {
      summary: 'Streams the steps that are taken',
      query: namespace,
    },
  },
}

/** The JSON Schemas of answers, by name. */
export const answers = (): Readonly<Record<string, JsonSchema>> =>
  Object.fromEntries(Object.entries(SCHEMAS).map(([name, schema]) => [name, convert(schema)]))

/** Describes the questions. Events are described by AsyncAPI. https://spec.openapis.org/oas/v3.1.0 */
export const openApi = (): JsonSchema => ({
  openapi: '3.1.0',
  info: {
    title: 'meshstep',
    version: about.version,
    description: 'Questions to the functions. asyncapi.json describes the events that they take and send.',
    license: { name: about.license, identifier: about.license },
  },
  servers: [{ url: '/' }],
  security: [{}, { token: [] }],
  paths: Object.fromEntries(
    Object.entries(QUESTIONS).map(([path, methods]) => [
      path,
      Object.fromEntries(
        Object.entries(methods).map(([method, question]) => [method, operation(path, method, question)]),
      ),
    ]),
  ),
  components: {
    schemas: answers(),
    securitySchemes: {
      token: { type: 'http', scheme: 'bearer', description: 'With EVENT_AUDIENCE: a token for that audience.' },
    },
  },
})

const operation = (path: string, method: string, { summary, query = {}, answer, takes }: Question): JsonSchema => ({
  operationId: `${method}${path.replaceAll(/[/{}]+(\w)/g, (_, letter: string) => letter.toUpperCase()).replaceAll('}', '')}`,
  summary,
  parameters: [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
    })),
    ...Object.entries(query).map(([name, schema]) => parameter(name, schema)),
  ],
  ...(takes && {
    requestBody: { required: true, content: Object.fromEntries(takes.map((type) => [type, { schema: {} }])) },
  }),
  responses: {
    200: {
      description: 'The answer',
      content:
        answer === undefined
          ? { 'text/event-stream': { schema: { type: 'string' } } }
          : { [JSON_TYPE]: { schema: reference(answer) } },
    },
    default: { description: 'An error', content: { 'application/problem+json': { schema: reference('Problem') } } },
  },
})

const parameter = (name: string, schema: z.ZodType): JsonSchema => ({
  ...{ name, in: 'query', required: !schema.safeParse(undefined).success },
  schema: convert(schema),
})

const reference = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })
