import type { Event } from '../events/cloud-event.ts'
import { sourceOf } from '../source.ts'
import type { Subject } from '../state.ts'
import type { Announced, Entry } from './announced.ts'

/** An event for the sink, and the number by which it is accepted. */
export type Announcement = { readonly number: number; readonly event: Event }

/**
 * The announcements that the sink is not known to have, in their order. A repeat has the same id, and of two the later one has the higher
 * `sequence`, however they arrive. Their data have `service` while something is offered, and `previous` when something was before.
 */
export const announcements = (subject: Subject, { relations }: Announced): Announcement[] =>
  Object.entries(relations)
    .flatMap(([relation, { pending, ...last }]) =>
      pending === undefined ? [] : [{ number: last.number, event: eventOf(subject, relation, { ...last, pending }) }],
    )
    .toSorted((one, other) => one.number - other.number)

const eventOf = (
  { namespace, application }: Subject,
  relation: string,
  { number, service, pending: { change, previous } }: Entry & { pending: NonNullable<Entry['pending']> },
): Event => ({
  id: `${namespace}/${application}/${relation}/${number}`,
  source: sourceOf({ namespace, application }),
  type: `dev.meshstep.${change}.v1`,
  subject: `${namespace}/${application}`,
  datacontenttype: 'application/json',
  extensions: { partitionkey: `${namespace}/${application}`, sequence: String(number) },
  data: { namespace, application, ...(service && { service }), ...(previous && { previous }) },
})
