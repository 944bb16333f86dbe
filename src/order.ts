import { Refused } from './errors.ts'
import { compareTimes } from './events/timestamp.ts'
import { at } from './record.ts'
import { isRemoved, type State } from './state.ts'

/** What orders the events of one source: its `sequence` extension, else its `time`, prefixed by which of the two it is. */
export type Position = { readonly source: string; readonly at: string | undefined }

const LONGEST_SEQUENCE = 256

/** Throws Refused for a sequence that is no reasonable one. */
export const positionOf = ({ source, time, extensions: { sequence } }: Sent): Position => {
  if (sequence && sequence.length > LONGEST_SEQUENCE)
    throw new Refused(400, `sequence: expected at most ${LONGEST_SEQUENCE} characters, got ${sequence.length}`)
  // JSON.parse keeps such a key, what reads it afterwards may not
  if (source === '__proto__') throw new Refused(400, `source: ${source} cannot be remembered`)
  if (sequence) return { source, at: `sequence ${sequence}` }
  return { source, at: time === undefined ? undefined : `time ${time}` }
}

type Sent = { source: string; time?: string | undefined; extensions: Readonly<Record<string, string>> }

/** How many sources are remembered for one thing; senders that change their source with every event must not fill the memory. */
const MOST_SOURCES = 16

/** Whether something later was accepted from the same source about `about`. */
export const isPassed = ({ accepted }: State, about: string, { source, at: position }: Position): boolean => {
  const before = at(at(accepted, about)?.bySource, source)
  return position !== undefined && before !== undefined && compare(position, before) === 'before'
}

/** Whether something later was accepted from the same source about `about`, or about the application as a whole. */
export const isOvertaken = (state: State, about: string, position: Position): boolean =>
  isPassed(state, about, position) || isPassed(state, 'application', position)

/** Whether the event is overtaken, or a repeat of one that what it is about did not survive. */
export const isStale = (state: State, about: string, position: Position): boolean =>
  isOvertaken(state, about, position) || [about, 'application'].some((name) => isRepeatOfTheEnd(state, name, position))

const isRepeatOfTheEnd = ({ accepted }: State, about: string, { source, at: position }: Position): boolean => {
  const entry = at(accepted, about)
  const before = at(entry?.bySource, source)
  return (
    entry?.gone !== undefined && position !== undefined && before !== undefined && compare(position, before) === 'same'
  )
}

/** Whether what `about` names, or the application, is gone, and it was not `source` that said so. */
export const isGoneForOthers = (state: State, about: string, source: string): boolean =>
  isRemoved(state) || [at(state.accepted, about)].some((entry) => entry?.gone !== undefined && entry.goneBy !== source)

/**
 * Remembers `position` as the last one accepted about `about`, unless a later one is; with `gone`, as its tombstone, which a repeat does
 * not make younger.
 */
export const accept = (state: State, about: string, position: Position, gone?: string): State => {
  const { [about]: before, ...others } = state.accepted
  const { source, at: value } = position
  const { [source]: last, ...otherSources } = before?.bySource ?? {}
  const isNews = value !== undefined && !isPassed(state, about, position)
  const bySource = isNews ? withLast(otherSources, source, value) : before?.bySource
  if (bySource === undefined || Object.keys(bySource).length === 0) return { ...state, accepted: others }
  const isRepeat = before?.gone !== undefined && (value === undefined || value === last)
  const end = gone === undefined ? {} : { gone: isRepeat ? before.gone : gone, goneBy: before?.goneBy ?? source }
  return { ...state, accepted: { ...others, [about]: { bySource, ...end } } }
}

const withLast = (others: Record<string, string>, source: string, position: string): Record<string, string> =>
  Object.fromEntries([...Object.entries(others).slice(1 - MOST_SOURCES), [source, position]])

/** Whether `one` comes before `other`, of the same source; of two sources nobody knows. */
export const isBefore = (one: Position, other: Position): boolean =>
  one.source === other.source &&
  one.at !== undefined &&
  other.at !== undefined &&
  compare(one.at, other.at) === 'before'

type Order = 'before' | 'same' | 'after' | 'unknown'

const compare = (one: string, other: string): Order => {
  const [kind, left] = split(one)
  const [otherKind, right] = split(other)
  if (kind !== otherKind) return 'unknown'
  const difference = kind === 'time' ? compareTimes(left, right) : compareSequences(left, right)
  return difference < 0 ? 'before' : difference > 0 ? 'after' : 'same'
}

/** Lexicographic, as the extension says, but numbers by value: senders count 9, 10 without padding. */
const compareSequences = (left: string, right: string): number => {
  const digits = /^\d+$/
  if (!digits.test(left) || !digits.test(right)) return compareText(left, right)
  const [one, other] = [left.replace(/^0+/, ''), right.replace(/^0+/, '')]
  return one.length - other.length || compareText(one, other)
}

const compareText = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0)

const split = (position: string): [kind: string, value: string] => {
  const space = position.indexOf(' ')
  return [position.slice(0, space), position.slice(space + 1)]
}
