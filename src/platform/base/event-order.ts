import { hash } from 'node:crypto'
import * as z from 'zod'
import { Refused } from './errors.ts'
import { ownValue } from './own-value.ts'
import { instantMilliseconds } from './timestamp.ts'

/** The position of an event in the order of events: by `sequence` of its source, else by `time`, else by arrival. */
export type Position = {
  readonly source: string
  /** A hash of source and id, which is the same for a redelivery. */
  readonly id: string
  readonly sequence?: string | undefined
  /** Milliseconds since the epoch. With a wrong clock, this is the arrival. */
  readonly time?: number | undefined
  /** The time was further ahead than clocks may differ, so no earlier event counts as later. */
  readonly isClockWrong?: true
  /** Milliseconds since the epoch. */
  readonly arrived: number
}

/** The last time of a Date (ECMA-262, 21.4.1.1). Far larger numbers would not be distinct. */
const LATEST = 8_640_000_000_000_000

/** The last effective event about something. Two marks are compared by `at`, even if their events have different sources. */
export const Mark = z.object({
  /** Milliseconds since the epoch. If the event had no time, it is one more than the previous mark. */
  at: z.number().max(LATEST),
  /** The last events, by hash. A redelivery has no effect. */
  ids: z.array(z.string()).optional(),
  /** The last `sequence` of each source. */
  sequences: z.record(z.string(), z.string()).optional(),
})
export type Mark = z.infer<typeof Mark>

/** The reason why an event has no effect: it was seen before, or a later one was. */
export type Late = 'repeated' | 'stale'

/** Describes a stale event about `what` in the result. A redelivery needs no message. */
export const lateMessage = (late: Late | undefined, what: string): { stale?: string } =>
  late === 'stale' ? { stale: `${what} has moved on since this event` } : {}

const LONGEST_SEQUENCE = 256

/** The largest difference between clocks. A time further ahead comes from a wrong clock, and does not count for the order. */
const LARGEST_SKEW_MILLISECONDS = 5 * 60 * 1_000

/** Returns the position of an event that arrives `now`. Throws Refused for a sequence of more than 256 characters. */
export const eventPosition = ({ id, source, time, extensions: { sequence } }: Sent, now: Date): Position => {
  if (sequence && sequence.length > LONGEST_SEQUENCE)
    throw new Refused(400, `sequence: expected at most ${LONGEST_SEQUENCE} characters, got ${sequence.length}`)
  // JSON.parse keeps this key, but later readers may drop it
  if (source === '__proto__') throw new Refused(400, `source: ${source} cannot be remembered`)
  const sent = time === undefined ? undefined : instantMilliseconds(time)
  const isClockWrong = sent !== undefined && sent > now.getTime() + LARGEST_SKEW_MILLISECONDS
  return {
    source,
    id: shortHash(`${source}\n${id}`),
    ...(sequence && { sequence }),
    arrived: now.getTime(),
    ...(sent !== undefined && { time: isClockWrong ? now.getTime() : sent }),
    ...(isClockWrong && { isClockWrong: true as const }),
  }
}

type Sent = { id: string; source: string; time?: string | undefined; extensions: Readonly<Record<string, string>> }

const shortHash = (text: string): string => hash('sha256', text, 'base64url').slice(0, 10)

/** Limits for one mark. A sender with a new source or id in every event must not fill the memory. */
const MOST_SOURCES = 16
const MOST_IDS = 16

/**
 * Advances the mark by an event, or returns the reason why the event has no effect: `before` has seen it, or `before` or one of `others` is later. An
 * event without an order counts as the latest.
 */
export const advance = (
  before: Mark | undefined,
  position: Position,
  others: readonly (Mark | undefined)[] = [],
): Mark | Late => {
  const marks = [before, ...others].filter((mark) => mark !== undefined)
  if (before?.ids?.includes(position.id)) return 'repeated'
  const { time, arrived, isClockWrong } = position
  const places = marks.map((mark) => mark.at)
  const latest = Math.max(-1, ...places)
  const credible = Math.max(-1, ...places.filter((place) => place <= arrived + LARGEST_SKEW_MILLISECONDS))
  const order = orderBySequence(marks, position)
  if (order === 'before') return 'stale'
  if (order === 'unknown' && !isClockWrong && time !== undefined && time < credible) return 'stale'
  return recorded(before, position, time !== undefined && time > latest ? time : latest + 1)
}

const recorded = (before: Mark | undefined, { id, source, sequence }: Position, when: number): Mark => {
  const { [source]: _, ...sequences } = before?.sequences ?? {}
  const kept = sequence === undefined ? (before?.sequences ?? {}) : withLast(sequences, source, sequence)
  return {
    ...withEvent({ ...before, at: when }, id),
    ...(Object.keys(kept).length > 0 && { sequences: kept }),
  }
}

/** Adds the id of an event without new data to a mark. */
export const withEvent = (mark: Mark, id: string): Mark =>
  mark.ids?.includes(id) ? mark : { ...mark, ids: [...(mark.ids ?? []), id].slice(-MOST_IDS) }

const withLast = (others: Record<string, string>, source: string, sequence: string): Record<string, string> =>
  Object.fromEntries([...Object.entries(others).slice(1 - MOST_SOURCES), [source, sequence]])

/** Tells if `mark` is later than the event at `position`. It compares by the sequence of its source, else by time. */
export const isAfter = (mark: Mark, position: Position): boolean => {
  const order = orderBySequence([mark], position)
  return order === 'unknown' ? position.time !== undefined && mark.at > position.time : order === 'before'
}

/** Orders an event relative to marks with a sequence of its source. */
const orderBySequence = (marks: readonly Mark[], { source, sequence }: Position): 'before' | 'after' | 'unknown' => {
  if (sequence === undefined) return 'unknown'
  const known = marks.flatMap(({ sequences }) => ownValue(sequences, source) ?? [])
  if (known.length === 0) return 'unknown'
  return known.some((one) => compareSequences(sequence, one) < 0) ? 'before' : 'after'
}

/** Compares lexicographically, as the extension requires, but numbers by value, because senders count 9, 10 without padding. */
const compareSequences = (left: string, right: string): number => {
  const digits = /^\d+$/
  if (!digits.test(left) || !digits.test(right)) return compareText(left, right)
  const [one, other] = [left.replace(/^0+/, ''), right.replace(/^0+/, '')]
  return one.length - other.length || compareText(one, other)
}

const compareText = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0)

/** Compares two marks of the same thing. The result is below 0 if `one` is earlier. The sequence of a common source decides, else `at`. */
export const compareMarks = (one: Mark, other: Mark): number => {
  const orders = Object.entries(one.sequences ?? {}).flatMap(([source, sequence]) => {
    const known = ownValue(other.sequences, source)
    return known === undefined || known === sequence ? [] : [Math.sign(compareSequences(sequence, known))]
  })
  const [first, ...rest] = orders
  return first !== undefined && rest.every((order) => order === first) ? first : one.at - other.at
}

/** Merges two marks into the later one, with all known events of both. */
export const mergeMarks = (one: Mark, other: Mark): Mark => {
  const [later, earlier] = compareMarks(one, other) < 0 ? [other, one] : [one, other]
  const ids = [...new Set([...(earlier.ids ?? []), ...(later.ids ?? [])])].slice(-MOST_IDS)
  const sequences = { ...earlier.sequences }
  for (const [source, sequence] of Object.entries(later.sequences ?? {}))
    if (compareSequences(sequence, ownValue(sequences, source) ?? '') >= 0) sequences[source] = sequence
  return {
    at: Math.max(later.at, earlier.at),
    ...(ids.length > 0 && { ids }),
    ...(Object.keys(sequences).length > 0 && {
      sequences: Object.fromEntries(Object.entries(sequences).slice(-MOST_SOURCES)),
    }),
  }
}
