import * as z from 'zod'
import { defineFunction } from '../src/core/events/event-function.ts'
import { OwnedKind, ownedName } from '../src/core/state/owned-kinds.ts'
import { withPreviousTargets } from '../src/core/state/state.ts'
import { DAY_MILLISECONDS } from '../src/platform/base/clock.ts'
import { Application, ObjectName } from '../src/platform/base/names.ts'
import { changed } from '../src/platform/base/own-value.ts'
import { LabelTarget } from '../src/platform/kubernetes/label-target.ts'

/**
 * Changes nothing. The step repairs drift, reads all documents and memories that name the application, and notifies its peers. A resync of
 * a namespace looks these up for all of its applications: `documents` and `named` are the names of documents and applications that name
 * this one, `former` are objects with labels of a lost memory, and `owned` are the kinds of its objects.
 */
export const resync = defineFunction({
  name: 'resync',
  data: {
    former: z.array(LabelTarget).optional(),
    owned: z.array(OwnedKind).optional(),
    documents: z.array(ObjectName).optional(),
    named: z.array(Application).optional(),
  },
  observation: true,
  isForNamespaces: true,
  look: ({ documents, named }) => ({
    isResync: true,
    ...(documents && named ? { documents, named } : { everything: true }),
  }),
  fold: (state, { former = [], owned = [] }, { now }) => {
    const isRecent = (since: string) => now.getTime() - Date.parse(since) <= DAY_MILLISECONDS
    const found = former.map((target) => ({ ...target, since: now.toISOString() }))
    const places = [...(state.previousTargets ?? []).filter(({ since }) => isRecent(since)), ...found]
    // what a lost memory owned may be in other namespaces
    const left = Object.fromEntries(owned.map((kind) => [ownedName(kind), now.toISOString()]))
    const kinds = { ...state.owned, ...left }
    const tombs = Object.entries(state.tombstones ?? {}).filter(([, { endedAt }]) => isRecent(endedAt))
    const next = changed(state, {
      tombstones: tombs.length > 0 ? Object.fromEntries(tombs) : undefined,
      owned: Object.keys(kinds).length > 0 ? kinds : undefined,
    })
    return { state: withPreviousTargets(next, places) }
  },
})
