import { changed } from '../../platform/base/own-value.ts'
import type { Pending } from '../units/leader.ts'
import type { ApplicationData, State } from './state.ts'

/** The limit of units with pending data. Senders that name another unit with every event must not fill the memory. */
const MOST_PENDING = 16

/** Replaces the pending data. Empty ones are dropped. */
export const withPending = <S extends Pick<State, 'pending'>>(
  state: S,
  all: readonly Pending<ApplicationData>[],
): S => {
  const pending = all.filter(({ data }) => Object.keys(data).length > 0).slice(-MOST_PENDING)
  return changed(state, { pending: pending.length === 0 ? undefined : pending } as Partial<S>)
}
