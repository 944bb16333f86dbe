import { compareTimes } from './events/timestamp.ts'
import type { Accepted, State } from './state.ts'

/** What orders the events of one source: its `sequence` extension, else its `time`, prefixed by which of the two it is. */
export type Position = { readonly source: string; readonly at: string | undefined }

export const positionOf = ({ source, time, extensions }: Sent): Position => {
  if (extensions.sequence) return { source, at: `sequence ${extensions.sequence}` }
  return { source, at: time === undefined ? undefined : `time ${time}` }
}

type Sent = { source: string; time?: string | undefined; extensions: Readonly<Record<string, string>> }

/** How many sources are remembered for one thing; senders that change their source with every event must not fill the memory. */
const MOST_SOURCES = 16

/**
 * Whether `position` comes before what was already accepted about `about`, or about the application as a whole. What is gone is not
 * brought back by the event that was the last one: a repeat of it is stale too.
 */
export const isStale = ({ accepted }: State, about: string, { source, at }: Position): boolean =>
  at !== undefined &&
  [about, 'application'].some((name) => {
    const before = accepted[name]?.bySource[source]
    if (before === undefined) return false
    const order = compare(at, before)
    return order === 'before' || (order === 'same' && accepted[name]?.gone !== undefined)
  })

/** Whether anything at all was accepted from the same source after `position`. */
export const isOvertaken = ({ accepted }: State, { source, at }: Position): boolean =>
  at !== undefined &&
  Object.values(accepted).some(
    ({ bySource: { [source]: before } }) => before !== undefined && compare(at, before) === 'before',
  )

/** Remembers `position` as the last one accepted about `about`; with `gone`, as the tombstone of it. */
export const accept = (state: State, about: string, { source, at }: Position, gone?: string): State => {
  const { [about]: before, ...others } = state.accepted
  const { [source]: _, ...otherSources } = before?.bySource ?? {}
  const bySource = at === undefined ? { ...before?.bySource } : { ...otherSources, [source]: at }
  const sources = Object.entries(bySource).slice(-MOST_SOURCES)
  if (sources.length === 0) return { ...state, accepted: others }
  const entry: Accepted = { bySource: Object.fromEntries(sources), ...(gone !== undefined && { gone }) }
  return { ...state, accepted: { ...others, [about]: entry } }
}

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
  if (digits.test(left) && digits.test(right)) return Number(BigInt(left) - BigInt(right))
  return left < right ? -1 : left > right ? 1 : 0
}

const split = (position: string): [kind: string, value: string] => {
  const space = position.indexOf(' ')
  return [position.slice(0, space), position.slice(space + 1)]
}
