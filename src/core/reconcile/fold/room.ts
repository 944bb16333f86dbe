import { isDeepStrictEqual } from 'node:util'
import { defined, ownValue } from '../../../platform/base/own-value.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import { type Document, titleOf } from '../../relations/told/documents.ts'
import { withEntries } from '../../relations/told/entries.ts'
import { hasRoom, type Memory, measureContent, tooLarge } from '../../state/memory.ts'
import { relationName } from '../../state/relation.ts'
import { type State, stands } from '../../state/state.ts'
import type { ChangeResult } from '../change.ts'
import type { Documents } from './fold-documents.ts'

export type Unread = { readonly name: string; readonly problem: string }

/**
 * Reads the documents that fit into the memory. A document without room is treated as unreadable, so its earlier content stays. `state` is
 * the resulting state.
 */
export const withRoomFor = (
  memory: Memory,
  { namespace, application }: Subject,
  all: Documents['found'],
  reading: (found: Documents['found']) => State,
): { found: Documents['found']; unread: readonly Unread[]; state: State } => {
  const { labels } = memory
  const isRoomy = (next: State, before: State) => hasRoom({ state: next, labels }, { state: before, labels })
  const isOwn = (document: Document) => document.application === application && !('problem' in document)
  const whole = reading(all)
  if (!all.some(isOwn) || isRoomy(whole, memory.state)) return { found: all, unread: [], state: whole }
  let found = all.map((document) => (isOwn(document) ? leftOut(document) : document))
  let state = reading(found)
  const unread: Unread[] = []
  for (const [index, document] of all.entries()) {
    if (!isOwn(document)) continue
    const candidate = found.with(index, document)
    const next = reading(candidate)
    if (isRoomy(next, state)) {
      found = candidate
      state = next
      continue
    }
    const excess = tooLarge(application, measureContent({ state: next, labels }))
    const { name } = document
    unread.push({ name, problem: `ConfigMap ${namespace}/${name}: ${excess}; what it said before stays` })
  }
  return { found, unread, state }
}

const leftOut = (document: Document): Document => ({ ...titleOf(document), problem: '' })

export const NOT_REMEMBERED: ChangeResult = {
  message: 'the memory is full: this event is not remembered',
  lacksRoom: true,
}

/** Returns the size in bytes of a state that does not fit, or 0. A state that makes room always fits. */
export const tooManyBytes = ({ labels }: Memory, state: State, candidate: State): number => {
  if (candidate === state) return 0
  const content = { state: candidate, labels }
  return hasRoom(content, { state, labels }) ? 0 : measureContent(content)
}

/** Tells if the application or a relation ended and no relation began. Such a change makes room. */
export const isLess = (before: State, after: State): boolean => {
  const established = (state: State) =>
    Object.keys(state.relations).filter((key) => state.relations[key] && stands(state, state.relations[key]))
  const [known, left] = [new Set(established(before)), established(after)]
  const isOver = left.length < known.size || (before.removed === undefined && after.removed !== undefined)
  return isOver && left.every((key) => known.has(key))
}

/** Returns `after` with the databags of `before`, and the names of the relations whose databags differ. */
export const withDataOf = (before: State, after: State): { state: State; refused: string[] } => {
  const refused: string[] = []
  const state = withEntries(after, ({ remote, ...entry }, key) => {
    const { remote: told, lastReadable } = ownValue(before.relations, key) ?? {}
    const [data, units] = [told?.data, told?.units]
    if (isDeepStrictEqual([remote.data, remote.units], [data, units])) return undefined
    refused.push(`${relationName(entry)} with ${remote.application}`)
    return { lastReadable, remote: defined({ ...remote, data, units }) }
  })
  return { state, refused }
}
