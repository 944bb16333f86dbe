import * as z from 'zod'
import { defineFunction } from '../src/core/events/event-function.ts'
import { endedWith, endRelation } from '../src/core/relations/told/announcements.ts'
import type { AnnouncementResult } from '../src/core/relations/told/entries.ts'
import { RelationIdentity, withoutOwnNamespace } from '../src/core/state/relation.ts'
import { Refused } from '../src/platform/base/errors.ts'
import { lateMessage } from '../src/platform/base/event-order.ts'
import { Application, Namespace, ObjectName } from '../src/platform/base/names.ts'

/** The ended relation, by its id. An event may name only the document instead, whose content may have become unreadable. */
const BrokenRelation = z.strictObject({ ...RelationIdentity.partial().shape, id: RelationIdentity.shape.id })

/** The peer of the relation, if it is known. */
const BrokenRemote = z.strictObject({ application: Application, namespace: Namespace.optional() })

/** The platform reports the end of a relation. A tombstone keeps late events from restoring it. */
export const relationBroken = defineFunction({
  name: 'relation-broken',
  data: { relation: BrokenRelation.optional(), remote: BrokenRemote.optional(), document: ObjectName.optional() },
  isNudge: true,
  isEnd: true,
  look: ({ relation, remote, document }) => ({
    ...(remote && { remotes: [remote] }),
    ...(relation && { relation: relation.id }),
    ...(document !== undefined && { document }),
  }),
  fold: (state, { relation, remote: named, document }, { namespace, position, now, known }) => {
    if (!relation && document === undefined) throw new Refused(400, 'data.relation: expected the id of the relation')
    const remote = named && withoutOwnNamespace(namespace, named)
    const ends = endedWith(state, relation && { relation, remote, document }, document)
    const told = ends.reduce<AnnouncementResult>(
      (before, end, index) => {
        const { state: after, late } = endRelation(before.state, end, position, now, known)
        return late && (index === 0 || before.late) ? { state: after, late } : { state: after }
      },
      { state },
    )
    return { state: told.state, ...lateMessage(told.late, `relation ${relation?.id ?? ends[0]?.relation.id}`) }
  },
})
