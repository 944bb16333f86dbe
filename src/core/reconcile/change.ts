import type { RemoteName } from '../../platform/base/subject.ts'
import type { Trace } from '../../platform/base/trace.ts'
import type { Gone } from '../../platform/cloudevents/knative/knative.ts'
import type { About } from '../access/access-reviews.ts'
import type { KnownMarks } from '../relations/told/announcements.ts'
import type { SpecSource } from '../state/config.ts'
import type { State } from '../state/state.ts'
import type { Conceal } from '../workload/secret-store.ts'

/** The memories and documents that a step reads because of an event, in addition to its own memory. */
export type Look = {
  readonly remotes?: readonly RemoteName[]
  /** The document of the event. */
  readonly document?: string
  /** The event announces the document. */
  readonly isTold?: boolean
  readonly documents?: readonly string[]
  /** Applications of the namespace whose memories name this one. */
  readonly named?: readonly string[]
  /** The id of a relation. If this memory does not have it, the memories of other applications may. */
  readonly relation?: number
  /** All documents and memories of the namespace that name the application. */
  readonly everything?: boolean
  /** A unit speaks that may become leader, so the running units are observed. */
  readonly mayLead?: boolean
  /** A resync tells the peers to look as well, even if it finds nothing. */
  readonly isResync?: boolean
}

/** The effect of an event on the memory, as a pure function. */
export type Fold = (state: State, known: KnownMarks, conceal: Conceal) => Folded

/** The result of a fold. `stale` gives the reason why the event was overtaken; then `state` records only its arrival. `by` is the source of a config. */
export type Folded = { state: State; stale?: string; by?: SpecSource }

/**
 * An event on its way into the memory. An observation (a pod, a leader, a resync, a nudge) does not take an application over from the charm
 * library, which may still be running it. A note changes nothing that is desired.
 */
export type Change = {
  fold: Fold
  observation: boolean
  look?: Look
  /** A hash of the event's source and id. */
  event?: string
  /** Another application asks this one to look. */
  isNudge?: true
  note?: boolean
  /** The event can only end something. */
  isEnd?: boolean
  /** Rejects with Refused if the sender may not ask for an effect outside the application. Absent if senders are not authenticated. */
  permit?: ((about: About) => Promise<void>) | undefined
  /** The document of the event was deleted. Apart from the end of its own content, the event can only do what the document's author may. */
  gone?: Gone | undefined
  trace?: Trace
}

/** Tells if one of the changes is a resync. */
export const isResync = (changes: readonly Change[]): boolean => changes.some(({ look }) => look?.isResync === true)

/** Tells if a resync of the namespace has named all documents of the application. */
export const isNamespaceResync = (changes: readonly Change[]): boolean =>
  changes.some(({ look }) => look?.isResync === true && look.documents !== undefined)

/** Tells if all pods are observed: for a resync, which reports each of them, and for a unit that may lead because it is the only one. */
export const isAboutPods = (changes: readonly Change[]): boolean =>
  changes.some(({ look }) => look?.isResync === true || look?.mayLead === true)

/**
 * The result of one change: an error, or accepted with an optional note. `isNews`: the changes of its step altered what was told before. `lacksRoom`: a part
 * of it was not taken, because the memory has no room for that; the note says which.
 */
export type ChangeResult =
  | Error
  | { stale?: string | undefined; message?: string | undefined; isNews?: boolean; lacksRoom?: true }
