import { isDeepStrictEqual } from 'node:util'
import type { State } from './state.ts'

/** Tells if two states differ in what was told by events and documents, for this application or for a peer of it. */
export const hasNews = (before: State, after: State): boolean => !isDeepStrictEqual(toldIn(before), toldIn(after))

/** Returns what was told, without what steps note for themselves: the order of events, dates, progress, and what was seen in the cluster. */
const toldIn = ({ config, document, settings, databag, leader, pending, removed, units, ...state }: State) => ({
  ...{ config, document, settings, databag, leader, pending, isRemoved: removed !== undefined },
  relations: Object.entries(state.relations).map(([key, { endpoint, remote, status, told, document }]) => [
    key,
    { endpoint, remote, status, isTold: told !== undefined, document },
  ]),
  ends: Object.keys(state.tombstones ?? {}),
  units: Object.entries(units.present).flatMap(([uid, { report, databag }]) =>
    report || databag ? [{ uid, report, databag }] : [],
  ),
})
