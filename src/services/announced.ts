import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { ownValue } from '../base/own-value.ts'
import { markNoticed, Notice } from './notices.ts'

/** A Service that a remote application offers; `host` is a DNS name that resolves in every namespace. */
export const Service = z.strictObject({
  /** The relation's id, or `{namespace}/{application}/{id}` where only the provider reported it. */
  relation: z.union([z.int().nonnegative(), z.string()]),
  endpoint: z.string(),
  application: z.string(),
  host: z.string(),
  port: z.int(),
})
export type Service = z.infer<typeof Service>

export const ServiceChange = z.enum(['service-available', 'service-changed', 'service-unavailable'])
export type ServiceChange = z.infer<typeof ServiceChange>

/** The last announcement of a relation. */
export const Entry = z.strictObject({
  /** Numbers count all announcements of the application; a later one has a higher number. */
  number: z.int().nonnegative(),
  /** The announced service; absent once it is announced as gone. */
  service: Service.optional(),
  /** The change and the service before it, until the sink has accepted the announcement. */
  pending: z.strictObject({ change: ServiceChange, previous: Service.optional() }).optional(),
})
export type Entry = z.infer<typeof Entry>

/** The announcements of the services that an application is offered. */
export const Announced = z.strictObject({
  /** The highest number used. */
  last: z.int().nonnegative(),
  /** By relation. */
  relations: z.record(z.string(), Entry),
  /** Notices of settings and databags, by relation. */
  notices: z.record(z.string(), Notice).optional(),
})
export type Announced = z.infer<typeof Announced>

export const nothingAnnounced = (): Announced => ({ last: 0, relations: {} })

/**
 * Plans an announcement for each relation whose service differs from the announced one. It is saved before it is sent: a number is never
 * reused for another change, so a repeat after a crash is recognized. `now`, in milliseconds since the epoch, keeps numbers rising after
 * a lost memory.
 */
export const announce = (announced: Announced, services: readonly Service[], now: number): Announced => {
  const offered = Object.fromEntries(services.map((service) => [service.relation, service]))
  const known = [...Object.keys(announced.relations), ...Object.keys(offered)]
  const changed = [...new Set(known)]
    .filter((id) => !isDeepStrictEqual(ownValue(announced.relations, id)?.service, ownValue(offered, id)))
    .toSorted((one, other) => Number(one) - Number(other) || (one < other ? -1 : 1))
  if (changed.length === 0) return announced
  const first = Math.max(announced.last + 1, now)
  const entries = changed.map((id, index) => [
    id,
    entry(first + index, ownValue(announced.relations, id), ownValue(offered, id)),
  ])
  return {
    ...announced,
    last: first + changed.length - 1,
    relations: { ...announced.relations, ...Object.fromEntries(entries) },
  }
}

const entry = (number: number, before: Entry | undefined, service: Service | undefined): Entry => {
  const change = findChange(before, service)
  const previous = change === 'service-available' ? undefined : before?.service
  return { number, ...(service && { service }), pending: { change, ...(previous && { previous }) } }
}

/** A service stays available, not changed, until the sink has accepted its first announcement. */
const findChange = (before: Entry | undefined, service: Service | undefined): ServiceChange => {
  if (service === undefined) return 'service-unavailable'
  const isNew = before?.service === undefined || before.pending?.change === 'service-available'
  return isNew ? 'service-available' : 'service-changed'
}

/** Marks the announcements of these numbers as accepted by the sink. One planned since stays to be sent. */
export const markAccepted = (announced: Announced, numbers: readonly number[]): Announced => {
  const entries = Object.entries(announced.relations).flatMap(([id, { pending, ...rest }]): [string, Entry][] => {
    if (pending !== undefined && !numbers.includes(rest.number)) return [[id, { ...rest, pending }]]
    return rest.service === undefined ? [] : [[id, rest]]
  })
  const { notices, ...others } = announced
  return {
    ...others,
    relations: Object.fromEntries(entries),
    ...(notices && { notices: markNoticed(notices, numbers) }),
  }
}
