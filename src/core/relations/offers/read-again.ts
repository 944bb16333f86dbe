import { isDeepStrictEqual } from 'node:util'
import { ownValue } from '../../../platform/base/own-value.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import type { State } from '../../state/state.ts'
import { remoteSubject } from '../peer-entry.ts'
import { peerView } from '../peer-view.ts'
import type { Peers } from '../peers.ts'
import { versionOf } from './published-version.ts'

/** Lists the peers to be read again once a step is saved: those whose offers it claims anew, and those that claim an offer of its own that has changed or is over. */
export const peersToReread = (subject: Subject, before: State, saved: State): { key: string; remote: Subject }[] =>
  Object.entries(saved.relations).flatMap(([key, entry]) => {
    const known = ownValue(before.relations, key)
    const isClaimed = entry.claim?.phase === 'claiming'
    const isOffered =
      entry.role === 'provides' &&
      known?.published?.digest !== undefined &&
      versionOf(before, known) !== versionOf(saved, entry)
    return isClaimed || isOffered ? [{ key, remote: remoteSubject(subject, entry) }] : []
  })

/** Tells if the claim or the offer of a peer has moved. If both sides move at once, at least one of them sees the other. */
export const hasMoved = (subject: Subject, saved: State, key: string, before: Peers, again: Peers): boolean => {
  const known = peerView(subject, saved, key, before)
  const now = peerView(subject, saved, key, again)
  return saved.relations[key]?.role === 'provides'
    ? !isDeepStrictEqual([known.entry?.claim, known.labels], [now.entry?.claim, now.labels])
    : known.shows !== now.shows
}
