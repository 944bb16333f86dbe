import { defineFunction } from '../src/core/events/event-function.ts'
import { announceRelation } from '../src/core/relations/told/announcements.ts'
import { RelationIdentity, Remote, withoutOwnNamespace } from '../src/core/state/relation.ts'
import { lateMessage } from '../src/platform/base/event-order.ts'
import { ObjectName } from '../src/platform/base/names.ts'

/** The platform reports a relation, with the databags of a peer that does not publish its own. */
export const relationChanged = defineFunction({
  name: 'relation-changed',
  data: { relation: RelationIdentity, remote: Remote, document: ObjectName.optional() },
  isNudge: true,
  look: ({ remote, document }) => ({ remotes: [remote], ...(document !== undefined && { document, isTold: true }) }),
  fold: (state, { relation, remote: named, document }, { namespace, position, now, known }) => {
    const remote = withoutOwnNamespace(namespace, named)
    const announced = { ...relation, remote, ...(document !== undefined && { document }) }
    const heard = announceRelation(state, announced, position, now, known)
    return { state: heard.state, ...lateMessage(heard.late, `relation ${relation.id}`) }
  },
})
