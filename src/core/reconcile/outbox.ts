import { isDeepStrictEqual } from 'node:util'
import type { Subject } from '../../platform/base/subject.ts'
import type { Features } from '../feature/combine.ts'
import type { Announcement } from '../feature/feature.ts'
import { type Nudge, nudgesDue } from '../relations/offers/nudges.ts'
import type { Peers } from '../relations/peers.ts'
import { memoryObject } from '../state/memory.ts'
import type { State } from '../state/state.ts'
import { type Change, isNamespaceResync, isResync } from './change.ts'

/** The due messages: nudges that ask peers to look at this application, and announcements of offers to any listener. */
export type Outbox = { readonly nudges: readonly Nudge[]; readonly announcements: readonly Announcement[] }

/** No messages. */
export const EMPTY_OUTBOX: Outbox = { nudges: [], announcements: [] }

/**
 * Computes the messages that follow from a step. `before` is the state before the step. `written` names every object that the step wrote.
 */
export const outboxAfter = (
  features: Features,
  subject: Subject,
  state: State,
  peers: Peers,
  changes: readonly Change[],
  { before, written }: { readonly before: State | undefined; readonly written: Iterable<string> },
  now: Date,
): Outbox => {
  const isSame = isDeepStrictEqual(before, state) && [...written].every((name) => name === memoryObject(subject))
  const announced = features.announcements(subject, state)
  const isAnswer = isSame && changes.every(({ isNudge }) => isNudge)
  // whoever was told, and has nothing new to say, answers those alone who are behind, and nobody while it awaits others: so no two answer for ever
  if (isAnswer && state.awaiting !== undefined) return { nudges: [], announcements: announced }
  const occasion = { isResync: isResync(changes), isNamespaceResync: isNamespaceResync(changes), isAnswer, now }
  return { nudges: nudgesDue(subject, state, peers, occasion), announcements: announced }
}
