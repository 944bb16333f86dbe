import { isDeepStrictEqual } from 'node:util'
import { withEvent } from '../../../platform/base/event-order.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import { isBetween, oppositeIdentity } from '../../relations/peer-entry.ts'
import {
  announceRelationByDocument,
  endRelationByDocument,
  handDocumentOver,
  type KnownMarks,
  markNow,
} from '../../relations/told/announcements.ts'
import { type Document, rememberedDocuments } from '../../relations/told/documents.ts'
import { withEntries } from '../../relations/told/entries.ts'
import { isSameRelation, isToldLast, type RelationEntry, relationName } from '../../state/relation.ts'
import { type State, withData } from '../../state/state.ts'

/** The result of a search for documents: all that name the application, or some by name. */
export type Documents = {
  readonly found: readonly Document[]
  readonly looked: 'all' | readonly string[]
  /** Authors are asked for their rights, so an event alone says nothing of a document. */
  readonly areAuthored?: boolean
}

const isLookedFor = ({ looked }: Documents, name: string): boolean => looked === 'all' || looked.includes(name)

/**
 * Folds documents into the state. A document counts as the platform's word while it exists, and ends with it, unless a document of the
 * other side declares the same. A document that is unreadable, or was not read, leaves its earlier content in effect.
 */
export const withDocuments = (
  state: State,
  subject: Subject,
  documents: Documents,
  now: Date,
  known: KnownMarks,
): State => {
  const { found } = documents
  const own = found.filter((document) => document.application === subject.application)
  const told = own.reduce((before, document) => withDocument(before, document, now, known), state)
  return undocumented(told, subject, documents).reduce((before, [key, entry]) => {
    const other = found.find((document) => isDeclaredAt(subject, entry, document))
    return other ? handDocumentOver(before, key, other.name) : endRelationByDocument(before, key, now)
  }, told)
}

/**
 * Resolves contradictions between documents. If two declare the config, or one relation, differently, the one in the memory counts, or else
 * the first. The other one becomes a problem, and changes nothing.
 */
export const withoutRivals = (
  found: readonly Document[],
  { application }: Subject,
  known: Pick<State, 'document' | 'relations'>,
): Document[] => {
  const own = found.filter((document) => document.application === application)
  const remembered = rememberedDocuments(known)
  const first = (rivals: readonly Document[]) => rivals.find(({ name }) => remembered.has(name)) ?? rivals[0]
  return found.map((document) => {
    const holder = first(own.filter((other) => declaresTheSame(document, other)))
    if (holder === undefined || isAlike(document, holder)) return document
    const what = 'announced' in document ? relationName(document.announced) : `the config of ${application}`
    const problem = `ConfigMap ${document.name}: ConfigMap ${holder.name} declares ${what} differently, and is in effect: delete one of the two${'announced' in document ? ', or give it another id' : ''}`
    return { name: document.name, application, problem }
  })
}

/** Tells if two documents of one application declare the same thing: its config, or one relation. */
const declaresTheSame = (one: Document, other: Document): boolean => {
  if (one.application !== other.application) return false
  if ('announced' in one && 'announced' in other)
    return one.announced.id === other.announced.id && isSameRelation(one.announced, other.announced)
  return 'config' in one && 'config' in other
}

const isAlike = (one: Document, other: Document): boolean => isDeepStrictEqual(declaredBy(one), declaredBy(other))

const declaredBy = (document: Document): unknown => {
  if (!('announced' in document)) return 'config' in document ? document.config : undefined
  const { document: _, ...declared } = document.announced
  return declared
}

/** Lists the relations whose document is gone. */
export const undocumented = (
  { relations }: Pick<State, 'relations'>,
  { application }: Subject,
  documents: Documents,
): [string, RelationEntry][] => {
  const own = documents.found.filter((document) => document.application === application || 'problem' in document)
  const held = new Set(own.map(({ name }) => name))
  return Object.entries(relations).filter(
    ([, entry]) =>
      entry.document !== undefined &&
      entry.status === 'established' &&
      isToldLast(entry) &&
      !held.has(entry.document) &&
      isLookedFor(documents, entry.document),
  )
}

/** Tells if a document of the other side declares the relation. */
const isDeclaredAt = (subject: Subject, entry: RelationEntry, document: Document): boolean => {
  if (!('announced' in document) || document.application === undefined) return false
  const { announced, application } = document
  const { id, interface: name, role } = oppositeIdentity(entry)
  const other = { namespace: subject.namespace, application }
  return (
    isDeepStrictEqual([announced.id, announced.interface, announced.role], [id, name, role]) &&
    isBetween(entry, subject, other) &&
    isBetween(announced, other, subject)
  )
}

const withDocument = (state: State, document: Document, now: Date, known: KnownMarks): State => {
  if ('announced' in document) return announceRelationByDocument(state, document.announced, now, known)
  if (!('config' in document)) return state
  const isKnown = state.document === document.name && isDeepStrictEqual(state.config, document.config)
  if (isKnown) return state
  const mark = markNow(state, state.marks?.config, now)
  return { ...withData(state, { config: document.config }, document.name), marks: { ...state.marks, config: mark } }
}

/**
 * Adds the event of a document to the marks of the document's content, even if the content is unchanged. Of two steps that read the
 * document before and after the event, only the later one can save then.
 */
export const withDocumentEvent = (state: State, document: string, id: string): State => ({
  ...withEntries(state, (entry) =>
    entry.document === document ? { position: withEvent(entry.position, id) } : undefined,
  ),
  ...(state.document === document &&
    state.marks?.config && { marks: { ...state.marks, config: withEvent(state.marks.config, id) } }),
})

/** Tells if the document of the config is gone. */
export const isConfigGone = (state: State, { application }: Subject, documents: Documents): boolean => {
  const { document } = state
  if (document === undefined || !isLookedFor(documents, document)) return false
  return !documents.found.some((one) => one.name === document && (one.application === application || 'problem' in one))
}
