import type { Trace } from '../../platform/base/trace.ts'
import type { Gone } from '../../platform/cloudevents/knative/knative.ts'
import type { About } from '../access/access-reviews.ts'
import type { KnownMarks } from '../relations/announcements.ts'
import type { SpecSource } from '../state/config.ts'
import type { State } from '../state/state.ts'
import type { Conceal } from '../workload/conceal.ts'

/** Names that another application gives in its own namespace. */
type Remote = { readonly application: string; readonly namespace?: string | undefined }

/** The memories and documents that a step reads because of an event, besides its own memory. */
export type Look = {
  readonly remotes?: readonly Remote[]
  /** The document that the event is about; one that is told of and not found may be on its way, and does not count as gone. */
  readonly document?: string
  readonly isTold?: boolean
  readonly documents?: readonly string[]
  /** Applications of the namespace whose memories name this one. */
  readonly named?: readonly string[]
  /** The id of a relation: where it is not known here, the memories of others may know it. */
  readonly relation?: number
  /** All documents and memories of the namespace that name the application. */
  readonly everything?: boolean
  /** A unit speaks that may lead: who else runs is looked at. */
  readonly isClaim?: boolean
  /** A resync tells the other sides to look as well, even if it finds nothing. */
  readonly isResync?: boolean
}

/** The effect of an event on the memory: a pure function of it. */
export type Fold = (state: State, known: KnownMarks, conceal: Conceal) => Folded

/** `stale` says why the event was overtaken, and then `state` remembers no more than that it came; `by` says whose word a config is. */
export type Folded = { state: State; stale?: string; by?: SpecSource }

/**
 * An event on its way into the memory. An observation (a pod, a leader, a resync, a nudge) is no reason to take an application over from the
 * charm library, which may well be running it still. What is only noted changes nothing that is desired.
 */
export type Change = {
  fold: Fold
  observation: boolean
  look?: Look
  /** A hash of the event's source and id. */
  event?: string
  /** Another application says that it is worth a look; as an echo, having found nothing new itself. */
  nudge?: { isEcho: boolean }
  note?: boolean
  /** Rejects with Refused when the sender may not ask for what is beyond the application. Absent where senders are not known. */
  permit?: ((about: About) => Promise<void>) | undefined
  /** The document that it tells of was deleted: beyond what that held, it says no more than its author may. */
  gone?: Gone | undefined
  trace?: Trace
}

/** Tells if one of the changes is a resync. */
export const isResync = (changes: readonly Change[]): boolean => changes.some(({ look }) => look?.isResync === true)

/** Tells if a resync of the namespace has named all documents of the application. */
export const isNamespaceResync = (changes: readonly Change[]): boolean =>
  changes.some(({ look }) => look?.isResync === true && look.documents !== undefined)

/** Tells if all pods are looked at: a resync tells of each, and a unit that nobody elected leads where it is the only one. */
export const isAboutPods = (changes: readonly Change[]): boolean =>
  changes.some(({ look }) => look?.isResync === true || look?.isClaim === true)

/** The result of one change: an error, or accepted with an optional note. */
export type ChangeResult = Error | { stale?: string | undefined; message?: string | undefined }
