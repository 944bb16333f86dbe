import type { Announcement } from '../../core/feature/feature.ts'
import { defined } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { Event } from '../../platform/cloudevents/cloud-event.ts'
import { applicationSource } from '../../platform/cloudevents/source.ts'
import { type Announced, plannedIn, Service, type ServiceChange } from './announced.ts'
import { Notice } from './notices.ts'

const services = { service: Service.optional(), previous: Service.optional() }

/** The data of each announcement beside its application, by name. */
export const announcementData = {
  ...({
    'service-available': services,
    'service-changed': services,
    'service-unavailable': services,
  } satisfies Record<ServiceChange, unknown>),
  'settings-changed': { relation: Notice.shape.relation },
}

export const announcementType = (name: keyof typeof announcementData): string => `dev.meshstep.${name}.v1`

/**
 * Builds the announcements that the sink has not accepted, in order, one for each change. A repetition has the same id, and a later one has a higher
 * `sequence`, so receivers can order them. The data have `service` if one is offered, and `previous` if there was one before. Those about settings name
 * the `relation`, unless they are about the application's own settings.
 */
export const announcements = (subject: Subject, { relations, notices = {} }: Announced): Announcement[] => {
  const services = Object.entries(relations).flatMap(([relation, entry]) =>
    plannedIn(entry).map(({ number, change, service, previous }) => {
      const data = { ...(service && { service }), ...(previous && { previous }) }
      return { number, event: eventOf(subject, change, `${relation}/${number}`, number, data) }
    }),
  )
  const settings = Object.entries(notices).flatMap(([key, { pending, number, relation }]) =>
    pending
      ? [
          {
            number,
            event: eventOf(subject, 'settings-changed', `settings/${key}/${number}`, number, defined({ relation })),
          },
        ]
      : [],
  )
  return [...services, ...settings].toSorted((one, other) => one.number - other.number)
}

const eventOf = (
  { namespace, application }: Subject,
  name: keyof typeof announcementData,
  id: string,
  number: number,
  data: Record<string, unknown>,
): Event => ({
  id: `${namespace}/${application}/${id}`,
  source: applicationSource({ namespace, application }),
  type: announcementType(name),
  subject: `${namespace}/${application}`,
  datacontenttype: 'application/json',
  extensions: { partitionkey: `${namespace}/${application}`, sequence: String(number) },
  data: { namespace, application, ...data },
})
