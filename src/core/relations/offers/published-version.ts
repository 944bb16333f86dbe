import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { ownValue } from '../../../platform/base/own-value.ts'
import type { Content, Memories, Memory } from '../../state/memory.ts'
import { publishedWith, type RelationEntry } from '../../state/relation.ts'
import { type State, stands } from '../../state/state.ts'
import { SCRAPE, SCRAPE_JOBS } from '../databags/scrape-jobs.ts'
import { withEntries } from '../told/entries.ts'

/** Hashes content into a short text. */
export const contentHash = (content: unknown): string =>
  hash('sha256', JSON.stringify(content), 'base64url').slice(0, 12)

/**
 * Returns the version of what a side shows its peer: its published data, and that the relation exists. A relation that was restored never
 * has the version from before its end.
 */
export const versionOf = (state: Shown, entry: RelationEntry): string =>
  entry.published?.version ?? contentHash(shownIn(state, entry))

type Shown = Pick<State, 'removed' | 'marks' | 'relations'>

const shownIn = (state: Shown, entry: RelationEntry) => {
  const isStanding = stands(state, entry)
  const ends = isStanding ? [entry.endedAt, state.marks?.application?.at].filter((end) => end !== undefined) : []
  return [isStanding, entry.published?.digest ?? null, ...ends, ...toldAt(entry)]
}

/** The data that the peer reads here, as its platform tells them to this side: its scrape jobs, and what a consumer's charm asks for itself. */
const toldAt = ({ interface: name, role, remote: { data } }: RelationEntry): unknown[] => {
  if (name === SCRAPE && role === 'requires') return data?.[SCRAPE_JOBS] === undefined ? [] : [data[SCRAPE_JOBS]]
  return name === 'service_mesh' && role === 'provides' && data !== undefined ? [data] : []
}

/**
 * Gives each relation whose public data differ from those in the memory a new version. Data that change and change back get a new one as
 * well: the peer may be about to record the data in between as seen, or may have seen the data of a memory that was restored since.
 */
export const withVersions = ({ state: before, stored }: Memory, next: Content): Content => {
  const resourceVersion = stored?.metadata.resourceVersion ?? ''
  // usually the entry is identical, and needs no comparison
  const isKept = before.removed === next.state.removed && before.marks?.application === next.state.marks?.application
  const isShownAlike = (known: RelationEntry, entry: RelationEntry) =>
    known.published?.version !== undefined &&
    ((isKept && known === entry) || isDeepStrictEqual(shownIn(before, known), shownIn(next.state, entry)))
  const state = withEntries(next.state, (entry, key) => {
    const known = ownValue(before.relations, key)
    const version =
      known && isShownAlike(known, entry)
        ? known.published?.version
        : contentHash([resourceVersion, ...shownIn(next.state, entry)])
    return publishedWith(entry, { version })
  })
  return { ...next, state }
}

/** Saves memories with the versions of what they show. */
export const withVersionsSaved = (memories: Memories): Memories => ({
  ...memories,
  isStored: (memory, next) => memories.isStored(memory, withVersions(memory, next)),
  save: (kubernetes, subject, memory, next) => memories.save(kubernetes, subject, memory, withVersions(memory, next)),
})
