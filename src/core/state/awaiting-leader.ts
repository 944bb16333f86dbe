import type { Pending } from '../units/leader.ts'
import type { ApplicationData, State } from './state.ts'

/** Lists the data that units sent while there was no leader, in the order of their last events. */
export const pendingIn = ({ pending }: Pick<State, 'pending'>): Pending<ApplicationData>[] => {
  if (pending === undefined) return []
  const { others = [], ...last } = pending
  return [...others, last]
}

/** The limit of units with pending data. Senders that name another unit with every event must not fill the memory. */
const MOST_PENDING = 16

/** Replaces the pending data. Empty ones are dropped. */
export const withPending = <S extends Pick<State, 'pending'>>(
  state: S,
  all: readonly Pending<ApplicationData>[],
): S => {
  const { pending: _, ...rest } = state
  const kept = all.filter(({ data }) => Object.keys(data).length > 0).slice(-MOST_PENDING)
  const [last, others] = [kept.at(-1), kept.slice(0, -1)]
  const pending = last && { ...last, ...(others.length > 0 && { others }) }
  return { ...rest, ...(pending && { pending }) } as S
}
