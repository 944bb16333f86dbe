import type { Pending } from '../units/leader.ts'
import type { ApplicationData, State } from './state.ts'

/** Lists the data that units sent while nobody led, in the order of their last words. */
export const pendingIn = ({ pending }: Pick<State, 'pending'>): Pending<ApplicationData>[] => {
  if (pending === undefined) return []
  const { others = [], ...last } = pending
  return [...others, last]
}

/** Bounds the units that are waited for: senders that name another one with every event must not fill the memory. */
const MOST_PENDING = 16

/** Replaces the pending data; those without any are dropped. */
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
