import { isAfter, type Mark, type Position } from '../../../platform/base/event-order.ts'
import { defined, ownValue } from '../../../platform/base/own-value.ts'
import type { Features } from '../../feature/combine.ts'
import type { AnnouncementResult } from '../../relations/told/entries.ts'
import { endOnRemoval } from '../../relations/told/removal.ts'
import { OwnedKind, ownedName } from '../../state/owned-kinds.ts'
import { type ApplicationData, emptyState, type State, type StateParts, withPending } from '../../state/state.ts'
import { WORKLOAD_KINDS } from '../../workload/objects.ts'

/** Removes the application from the state, or returns the reason why the removal is late. Data from after the removal are kept. */
export const removeApplication = (
  { parts }: Pick<Features, 'parts'>,
  state: State,
  position: Position,
  now: Date,
): AnnouncementResult => {
  const heard = endOnRemoval(state, position, now)
  return heard.late ? heard : { state: withoutOwn(parts, heard.state, position, now) }
}

/** Removes the application's own data, unless they are later than the removal. */
const withoutOwn = (parts: StateParts, state: State, position: Position, now: Date): State => {
  const isLater = (about: string): boolean => {
    const mark = ownValue<Mark>(state.marks, about)
    return mark !== undefined && isAfter(mark, position)
  }
  const kept = (Object.keys(parts) as (keyof State)[]).filter((name) => {
    const { onRemoval } = parts[name]
    return onRemoval === 'kept' || (onRemoval === 'told' && isLater(name))
  })
  // a lost memory may have owned any kind, wherever that is
  const kinds = state.config ? WORKLOAD_KINDS : OwnedKind.options
  const config = isLater('config') ? state.config : undefined
  const left = (state.pending ?? []).map(({ data, ...asked }) => ({ ...asked, data: dataSince(data, isLater) }))
  const next: State = defined({
    ...emptyState(),
    ...Object.fromEntries(kept.map((name) => [name, state[name]])),
    removed: config ? undefined : state.removed,
    document: config && state.document,
    owned: defined({
      ...Object.fromEntries(kinds.map((kind) => [ownedName(kind), state.config ? null : now.toISOString()])),
      ...state.owned,
    }),
  })
  return withPending(next, left)
}

/** Selects the pending data that are later than the removal. */
const dataSince = (data: ApplicationData, isLater: (about: keyof ApplicationData) => boolean): ApplicationData =>
  Object.fromEntries(Object.entries(data).filter(([about]) => isLater(about as keyof ApplicationData)))
