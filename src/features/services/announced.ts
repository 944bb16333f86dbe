import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { ownValue } from '../../platform/base/own-value.ts'
import { markNoticed, Notice } from './notices.ts'

/** A Service that another application offers. `host` is a DNS name that resolves in any namespace. */
export const Service = z.strictObject({
  /** The relation's id, or `{namespace}/{application}/{id}` if only the provider reported it. */
  relation: z.union([z.int().nonnegative(), z.string()]),
  endpoint: z.string(),
  application: z.string(),
  host: z.string(),
  port: z.int(),
})
export type Service = z.infer<typeof Service>

export const ServiceChange = z.enum(['service-available', 'service-changed', 'service-unavailable'])
export type ServiceChange = z.infer<typeof ServiceChange>

const Change = { change: ServiceChange, previous: Service.optional() }

/** An announcement that the sink has not accepted: the change, and the service before and after it. */
const Planned = z.strictObject({ number: z.int().nonnegative(), service: Service.optional(), ...Change })
export type Planned = z.infer<typeof Planned>

/** The last announcement of a relation. */
export const Entry = z.strictObject({
  /** The number counts all announcements of the application, so a later one has a higher number. */
  number: z.int().nonnegative(),
  /** The announced service. Absent once it is announced as gone. */
  service: Service.optional(),
  /** The change, and the service before it. Present until the sink has accepted the announcement. */
  pending: z.strictObject(Change).optional(),
  /** Earlier announcements that the sink has not accepted. */
  earlier: z.array(Planned).optional(),
})
export type Entry = z.infer<typeof Entry>

/** The announcements of services that are offered to an application. */
export const Announced = z.strictObject({
  /** The highest used number. */
  last: z.int().nonnegative(),
  /** The last announcements by relation. */
  relations: z.record(z.string(), Entry),
  /** The notices about settings and databags, by relation. */
  notices: z.record(z.string(), Notice).optional(),
})
export type Announced = z.infer<typeof Announced>

export const nothingAnnounced = (): Announced => ({ last: 0, relations: {} })

/**
 * Plans an announcement for each relation whose service differs from the announced one. It is saved before it is sent, so a number never stands for
 * another change, and a repetition after a crash is recognized. `now`, in milliseconds since the epoch, keeps numbers rising after a lost memory.
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
  const next = changeOf(before?.service, service)
  const earlier = shortened(before ? plannedIn(before) : [])
  return {
    ...{ number, ...(service && { service }) },
    ...(next && { pending: next }),
    ...(earlier.length > 0 && { earlier }),
  }
}

/** Lists the announcements of a relation that the sink has not accepted, in order. */
export const plannedIn = ({ number, service, pending, earlier = [] }: Entry): Planned[] =>
  pending === undefined ? earlier : [...earlier, { number, ...(service && { service }), ...pending }]

/** Returns the change from one service to another. Returns undefined if there is none before and after. */
const changeOf = (
  previous: Service | undefined,
  service: Service | undefined,
): Pick<Planned, 'change' | 'previous'> | undefined => {
  if (previous === undefined) return service && { change: 'service-available' }
  return { change: service === undefined ? 'service-unavailable' : 'service-changed', previous }
}

/** The limit of kept announcements of a relation while the sink is away. */
const MOST_EARLIER = 19

/** Merges the first two announcements while there are too many. The result spans both changes. */
const shortened = (planned: Planned[]): Planned[] => {
  const [first, second, ...rest] = planned
  if (planned.length <= MOST_EARLIER || first === undefined || second === undefined) return planned
  const { number, service } = second
  const both = changeOf(first.previous, service)
  return shortened([...(both ? [{ number, ...(service && { service }), ...both }] : []), ...rest])
}

/** Marks announcements as accepted by the sink. One that was planned since is still sent. */
export const markAccepted = (announced: Announced, numbers: readonly number[]): Announced => {
  const entries = Object.entries(announced.relations).flatMap(([id, { pending, earlier = [], ...rest }]) => {
    const left = earlier.filter(({ number }) => !numbers.includes(number))
    const isPending = pending !== undefined && !numbers.includes(rest.number)
    const entry: Entry = { ...rest, ...(isPending && { pending }), ...(left.length > 0 && { earlier: left }) }
    return isPending || left.length > 0 || rest.service !== undefined ? [[id, entry] as const] : []
  })
  const { notices, ...others } = announced
  return {
    ...others,
    relations: Object.fromEntries(entries),
    ...(notices && { notices: markNoticed(notices, numbers) }),
  }
}
