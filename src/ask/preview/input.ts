import type { Document } from 'yaml'
import * as z from 'zod'
import type { Clock } from '../../platform/base/clock.ts'
import { DEEPEST, isTooDeep } from '../../platform/base/depth.ts'
import { Refused } from '../../platform/base/errors.ts'
import { describeIssues } from '../../platform/base/issues.ts'
import { suggestKeys } from '../../platform/base/nearest-name.ts'
import { composeYaml, InvalidYaml, OF_FILES } from '../../platform/base/yaml.ts'
import { type Event, readEvent } from '../../platform/cloudevents/cloud-event.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { Expectation } from '../authorization/expectation.ts'

/** The input of a plan: events, and objects that are applied as `kubectl apply` would, or deleted if they have a deletionTimestamp, in this order. */
export type Proposal = {
  readonly events: readonly Event[]
  readonly objects: readonly KubernetesObject[]
  readonly expectations: readonly Expectation[]
}

type Request = { readonly headers: Readonly<Record<string, string>>; readonly body: Uint8Array }

const BATCH = 'application/cloudevents-batch+json'
const STRUCTURED = 'application/cloudevents+json'

/**
 * Parses one CloudEvent in either mode, a batch of them, or YAML or JSON documents. A document is a Kubernetes object, a list of objects, a CloudEvent, or
 * an `expect` list. Throws Refused, 400, with the number of a document that is none of these.
 */
export const readProposal = async ({ headers, body }: Request, clock: Pick<Clock, 'yieldTurn'>): Promise<Proposal> => {
  const type = (headers['content-type'] ?? '').toLowerCase()
  if (type.startsWith(BATCH)) return proposalOf(batchIn(textOf(body)))
  if (type.startsWith('application/cloudevents') || headers['ce-type'] !== undefined)
    return { events: [readEvent({ headers, body })], objects: [], expectations: [] }
  const documents = await documentsIn(textOf(body), clock)
  const proposal = proposalOf(documents.map((document, index) => contentOf(document, index)))
  if (Object.values(proposal).every(({ length }) => length === 0))
    throw new Refused(400, 'the body is empty: expected events or documents')
  return proposal
}

const batchIn = (text: string): unknown[] => {
  try {
    return z.array(z.unknown()).parse(JSON.parse(text))
  } catch (error) {
    throw new Refused(400, 'the body: expected a JSON array of CloudEvents', { cause: error })
  }
}

const documentsIn = async (text: string, { yieldTurn }: Pick<Clock, 'yieldTurn'>): Promise<Document.Parsed[]> => {
  const composing = composeYaml(text, OF_FILES)
  try {
    for (;;) {
      const { done, value } = composing.next()
      if (done) return value
      await yieldTurn()
    }
  } catch (error) {
    if (error instanceof InvalidYaml)
      throw new Refused(400, `document ${error.document}: ${error.message}`, { cause: error })
    throw error
  }
}

const contentOf = (document: Document.Parsed, index: number): unknown => {
  const value = withoutAliases(document, index)
  if (isTooDeep(value)) throw new Refused(400, `document ${index + 1}: expected at most ${DEEPEST} levels`)
  return value
}

/** Resolves aliases up to a limit. Nested aliases can expand to gigabytes. */
const withoutAliases = (document: Document.Parsed, index: number): unknown => {
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    throw new Refused(400, `document ${index + 1}: ${(error as Error).message}`, { cause: error })
  }
}

const textOf = (body: Uint8Array): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch (error) {
    throw new Refused(400, 'the body is not valid UTF-8', { cause: error })
  }
}

const NamedObject = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
})
const List = z.looseObject({ kind: z.literal('List'), items: z.array(NamedObject) })
/** A list of one kind, as the API server answers it. Its items may lack their kind. */
const ListOfKind = z
  .looseObject({ apiVersion: z.string(), kind: z.string().endsWith('List'), items: z.array(z.looseObject({})) })
  .transform(({ apiVersion, kind, items }) =>
    items.map((item) => ({ apiVersion, kind: kind.replace(/List$/, ''), ...item })),
  )
  .pipe(z.array(NamedObject))
const Expecting = z.strictObject({ expect: z.array(Expectation) })

const proposalOf = (values: readonly unknown[]): Proposal => {
  const parts = values.flatMap((value, index) => (value === null || value === undefined ? [] : [partOf(value, index)]))
  return {
    events: parts.flatMap(({ events = [] }) => events),
    objects: parts.flatMap(({ objects = [] }) => objects),
    expectations: parts.flatMap(({ expectations = [] }) => expectations),
  }
}

const partOf = (value: unknown, index: number): Partial<Proposal> => {
  if (isRecord(value) && 'specversion' in value) return { events: [eventOf(value)] }
  if (isRecord(value) && 'expect' in value) return { expectations: read(Expecting, value, index).expect }
  if (isRecord(value) && value.kind === 'List') return { objects: read(List, value, index).items as KubernetesObject[] }
  if (isRecord(value) && Array.isArray(value.items) && String(value.kind).endsWith('List'))
    return { objects: read(ListOfKind, value, index) as KubernetesObject[] }
  return { objects: [read(NamedObject, value, index) as KubernetesObject] }
}

const EXPECTED =
  'expected a CloudEvent (specversion), a Kubernetes object (apiVersion, kind, metadata.name) or an expect list'

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const eventOf = (value: Record<string, unknown>): Event =>
  readEvent({ headers: { 'content-type': STRUCTURED }, body: Buffer.from(JSON.stringify(value)) })

const read = <T>(schema: z.ZodType<T>, value: unknown, index: number): T => {
  const result = schema.safeParse(value, { error: suggestKeys })
  if (result.success) return result.data
  const isObject = isRecord(value) && ('kind' in value || 'expect' in value)
  throw new Refused(400, `document ${index + 1}: ${isObject ? describeIssues(result.error) : EXPECTED}`)
}
