import { isAfter, type Late, type Position } from '../base/event-order.ts'
import { at, defined } from '../base/own-value.ts'
import { remove } from '../relations/words.ts'
import { type ApplicationData, emptyState, OwnedKind, type State } from '../state/state.ts'
import { WORKLOAD_KINDS } from '../workload/objects.ts'

/** The state without the application, or why its removal does not count: what was told after it is kept. */
export const removeApplication = (state: State, position: Position, now: Date): { state: State } | { late: Late } => {
  const heard = remove(state, position, now)
  return 'late' in heard ? heard : { state: withoutOwn(heard.state, position) }
}

/** What only the application itself was told goes, unless it was told after the removal. */
const withoutOwn = (state: State, position: Position): State => {
  const later = <T>(about: 'config' | 'settings' | 'databag' | 'leader', value: T): T | undefined => {
    const mark = at(state.marks, about)
    return mark !== undefined && isAfter(mark, position) ? value : undefined
  }
  const { relations, tombstones, marks, removed, says, inherited, former, formerlyOwned, announced, writing } = state
  const config = later('config', state.config)
  return defined({
    ...emptyState(),
    ...{ relations, tombstones, marks, says, inherited, former, formerlyOwned, announced, writing, config },
    removed: config ? undefined : removed,
    document: config && state.document,
    settings: later('settings', state.settings),
    databag: later('databag', state.databag),
    leader: later('leader', state.leader),
    pending: laterPending(state, (about) => later(about, true) === true),
    // also what is left of a memory that was lost
    owned: [...new Set([...(state.owned ?? []), ...(state.config ? WORKLOAD_KINDS : OwnedKind.options)])],
  })
}

/** What still waits for a leader of what was asked for after the removal. */
const laterPending = ({ pending }: State, isLater: (about: keyof ApplicationData) => boolean): State['pending'] => {
  const left = Object.entries(pending?.data ?? {}).filter(([about]) => isLater(about as keyof ApplicationData))
  return pending && left.length > 0 ? { ...pending, data: Object.fromEntries(left) } : undefined
}
