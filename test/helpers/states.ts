import type { Peer, Peers } from '../../src/core/relations/peers.ts'
import { type RelationEntry, relationKey } from '../../src/core/state/relation.ts'
import { emptyState, type State } from '../../src/core/state/state.ts'
import { defined } from '../../src/platform/base/own-value.ts'

/** An established relation of `web` with the beacon, told at 1 to this side, but for `changes`. */
export const entryOf = ({ position = { at: 1 }, ...changes }: Partial<RelationEntry> = {}): RelationEntry =>
  defined({
    ...{ id: 1, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires', status: 'established' },
    ...{ position, told: position, remote: { application: 'beacon' } },
    ...changes,
  })

/** A state with relations, by their keys. */
export const stateOf = (entries: readonly RelationEntry[], changes: Partial<State> = {}): State => ({
  ...emptyState(),
  relations: Object.fromEntries(entries.map((entry) => [relationKey(entry), entry])),
  ...changes,
})

/** Applications of `shop` by name, each with its memory. */
export const peersOf = (
  states: Readonly<Record<string, State>>,
  labels: Readonly<Record<string, string>> = {},
): Peers =>
  new Map(
    Object.entries(states).map(([application, state]): [string, Peer] => [
      `shop/${application}`,
      { subject: { namespace: 'shop', application }, state, labels },
    ]),
  )
