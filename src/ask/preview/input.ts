import * as z from 'zod'
import type { Clock } from '../../platform/base/clock.ts'
import { Refused } from '../../platform/base/errors.ts'
import { describeIssues, parseInput } from '../../platform/base/issues.ts'
import { isRecord } from '../../platform/base/own-value.ts'
import { readDocuments, type TextDocument } from '../../platform/base/text-documents.ts'
import { type Event, readEvent } from '../../platform/cloudevents/cloud-event.ts'
import { itemsIn } from '../../platform/kubernetes/list-items.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { Expectation } from '../authorization/expectation.ts'

/** The input of a plan: events, and objects that are applied as `kubectl apply` would, or deleted if they have a deletionTimestamp, in this order. */
export type Proposal = {
  readonly events: readonly Event[]
  readonly objects: readonly KubernetesObject[]
  readonly expectations: readonly Expectation[]
  /** Names the documents that are none of these, each with the reason. */
  readonly unreadable?: readonly string[]
}

type Request = { readonly headers: Readonly<Record<string, string>>; readonly body: Uint8Array }

const BATCH = 'application/cloudevents-batch+json'
const STRUCTURED = 'application/cloudevents+json'

/**
 * Parses one CloudEvent in either mode, a batch of them, or YAML or JSON documents. A document is a Kubernetes object, a list of objects, a CloudEvent, or
 * an `expect` list. Any other one is named as unreadable. Throws Refused, 400, for an invalid event or expectation, or if all documents are something else.
 */
export const readProposal = async ({ headers, body }: Request, clock: Pick<Clock, 'yieldTurn'>): Promise<Proposal> => {
  const type = (headers['content-type'] ?? '').toLowerCase()
  if (type.startsWith(BATCH))
    return proposalOf(batchIn(textOf(body)).map((value, index) => partOf(value, `document ${index + 1}`)))
  if (type.startsWith('application/cloudevents') || headers['ce-type'] !== undefined)
    return { events: [readEvent({ headers, body })], objects: [], expectations: [] }
  return proposalOf((await documentsIn(textOf(body), clock)).map(partOfDocument))
}

const batchIn = (text: string): unknown[] => {
  try {
    return z.array(z.unknown()).parse(JSON.parse(text))
  } catch (error) {
    throw new Refused(400, 'the body: expected a JSON array of CloudEvents', { cause: error })
  }
}

const documentsIn = async (text: string, { yieldTurn }: Pick<Clock, 'yieldTurn'>): Promise<TextDocument[]> => {
  const reading = readDocuments(text)
  for (;;) {
    const { done, value } = reading.next()
    if (done) return value
    await yieldTurn()
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
const Expecting = z.strictObject({ expect: z.array(Expectation) })

/** The contribution of a document to a proposal. A document is foreign if it is neither an event, nor an object, nor a list of expectations. */
type Part = Partial<Proposal> & { readonly isForeign?: true }

const proposalOf = (parts: readonly Part[]): Proposal => {
  const proposal = {
    events: parts.flatMap(({ events = [] }) => events),
    objects: parts.flatMap(({ objects = [] }) => objects),
    expectations: parts.flatMap(({ expectations = [] }) => expectations),
    unreadable: parts.flatMap(({ unreadable = [] }) => unreadable),
  }
  if (Object.values(proposal).every(({ length }) => length === 0))
    throw new Refused(400, 'the body is empty: expected events or documents')
  if (parts.every(({ isForeign }) => isForeign))
    throw new Refused(400, proposal.unreadable.slice(0, MOST_PROBLEMS).join('; '))
  return proposal
}

/** The limit of problems in a refusal. */
const MOST_PROBLEMS = 5

const partOfDocument = (document: TextDocument, index: number): Part => {
  const place = document.file === undefined ? `document ${index + 1}` : `${document.file}:${document.line}`
  return 'problem' in document ? foreign(place, document.problem) : partOf(document.value, place)
}

const foreign = (place: string, problem: string): Part => ({ unreadable: [`${place}: ${problem}`], isForeign: true })

const partOf = (value: unknown, place: string): Part => {
  if (isRecord(value) && 'specversion' in value) return { events: [eventOf(value)] }
  if (isRecord(value) && 'expect' in value) return { expectations: parseInput(Expecting, value, place).expect }
  if (isRecord(value) && typeof value.kind === 'string') return objectsOf(itemsIn(value), place)
  return foreign(
    place,
    'expected a CloudEvent (specversion), a Kubernetes object (apiVersion, kind, metadata.name) or an expect list',
  )
}

const eventOf = (value: Record<string, unknown>): Event =>
  readEvent({ headers: { 'content-type': STRUCTURED }, body: Buffer.from(JSON.stringify(value)) })

const objectsOf = (values: readonly unknown[], place: string): Part => {
  const read = values.map((value) => ({ value, ...NamedObject.safeParse(value) }))
  return {
    objects: read.flatMap(({ data }) => (data === undefined ? [] : [data as KubernetesObject])),
    unreadable: read.flatMap(({ value, error }) => (error === undefined ? [] : [`${place}: ${unnamed(value, error)}`])),
  }
}

/** Says why a value is no object that can be planned. */
const unnamed = (value: unknown, error: z.ZodError): string => {
  const { kind, metadata } = (isRecord(value) ? value : {}) as Partial<KubernetesObject>
  const title = typeof kind === 'string' ? kind : 'an item of a list'
  return typeof metadata?.generateName === 'string' && metadata.name === undefined
    ? `${title} ${metadata.generateName}… is not planned: only the API server knows its name (metadata.generateName)`
    : `${title} is not planned: ${describeIssues(error)}`
}
