import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { at } from '../base/own-value.ts'
import { Notice, noticed } from './notices.ts'

/** What the remote `application` offers: `host` is a name in DNS that is good in every namespace. */
export const Service = z.strictObject({
  /** Its id, or `{namespace}/{application}/{id}` where only the provider told of it. */
  relation: z.union([z.int().nonnegative(), z.string()]),
  endpoint: z.string(),
  application: z.string(),
  host: z.string(),
  port: z.int(),
})
export type Service = z.infer<typeof Service>

export const Change = z.enum(['service-available', 'service-changed', 'service-unavailable'])
export type Change = z.infer<typeof Change>

/** The last announcement about a relation. */
export const Entry = z.strictObject({
  /** Of all announcements of the application: a later one has a higher number. */
  number: z.int().nonnegative(),
  /** What it says is offered; absent when it says that nothing is any more. */
  service: Service.optional(),
  /** For as long as it is not known that the sink has it: what kind it is, and what was offered before. */
  pending: z.strictObject({ change: Change, previous: Service.optional() }).optional(),
})
export type Entry = z.infer<typeof Entry>

/** What was announced of the services that are offered to an application, remembered. */
export const Announced = z.strictObject({
  /** The highest number that was given. */
  last: z.int().nonnegative(),
  /** By relation. */
  relations: z.record(z.string(), Entry),
  /** Of settings and databags, by relation. */
  notices: z.record(z.string(), Notice).optional(),
})
export type Announced = z.infer<typeof Announced>

export const nothingAnnounced = (): Announced => ({ last: 0, relations: {} })

/**
 * Plans an announcement for each relation of which something else is offered than was announced last. To be saved before it is sent: a
 * number that was given is never given to another change, so that after a crash a repeat is known for one. `now`, in milliseconds since
 * the epoch, keeps the numbers rising when the memory was lost.
 */
export const announce = (announced: Announced, services: readonly Service[], now: number): Announced => {
  const offered = Object.fromEntries(services.map((service) => [service.relation, service]))
  const known = [...Object.keys(announced.relations), ...Object.keys(offered)]
  const changed = [...new Set(known)]
    .filter((id) => !isDeepStrictEqual(at(announced.relations, id)?.service, at(offered, id)))
    .toSorted((one, other) => Number(one) - Number(other) || (one < other ? -1 : 1))
  if (changed.length === 0) return announced
  const first = Math.max(announced.last + 1, now)
  const entries = changed.map((id, index) => [id, entry(first + index, at(announced.relations, id), at(offered, id))])
  return {
    ...announced,
    last: first + changed.length - 1,
    relations: { ...announced.relations, ...Object.fromEntries(entries) },
  }
}

const entry = (number: number, before: Entry | undefined, service: Service | undefined): Entry => {
  const change = changeOf(before, service)
  const previous = change === 'service-available' ? undefined : before?.service
  return { number, ...(service && { service }), pending: { change, ...(previous && { previous }) } }
}

/** As long as it is not known that the sink has it as available, it is announced as that. */
const changeOf = (before: Entry | undefined, service: Service | undefined): Change => {
  if (service === undefined) return 'service-unavailable'
  const isNew = before?.service === undefined || before.pending?.change === 'service-available'
  return isNew ? 'service-available' : 'service-changed'
}

/** The sink has the announcements of these numbers. One that was planned since stays to be sent. */
export const accepted = (announced: Announced, numbers: readonly number[]): Announced => {
  const entries = Object.entries(announced.relations).flatMap(([id, { pending, ...rest }]): [string, Entry][] => {
    if (pending !== undefined && !numbers.includes(rest.number)) return [[id, { ...rest, pending }]]
    return rest.service === undefined ? [] : [[id, rest]]
  })
  const { notices, ...others } = announced
  return {
    ...others,
    relations: Object.fromEntries(entries),
    ...(notices && { notices: noticed(notices, numbers) }),
  }
}
