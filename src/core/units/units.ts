import * as z from 'zod'
import { Mark } from '../../platform/base/event-order.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { compareTimes, isTimestamp } from '../../platform/base/timestamp.ts'
import { LeaderSettings } from './leader-settings.ts'
import { Report } from './report.ts'

/** A present pod, and the number of its unit. */
const Unit = z.strictObject({
  pod: z.string(),
  number: z.int().nonnegative(),
  /** The creation time of the pod (RFC 3339). */
  created: z.string().optional(),
  report: Report.optional(),
  /** The mark of the last report. */
  reported: Mark.optional(),
  /** The unit's own relation data by endpoint. `told` is the mark of the last event that set them. */
  databag: z.record(z.string(), LeaderSettings).optional(),
  told: Mark.optional(),
  /** The unit was active once, so it is not starting any more. */
  started: z.literal(true).optional(),
})
export type Unit = z.infer<typeof Unit>

/** A departed pod; name and number are known if the pod was seen before. */
const Departed = z.strictObject({
  uid: z.string(),
  pod: z.string().optional(),
  number: z.int().nonnegative().optional(),
})

/** The units of an application known from events. */
export const Units = z.strictObject({
  /** The present pods by uid, in order of arrival. */
  present: z.record(z.string(), Unit),
  /** Departed pods, the latest last. Events about them are late. */
  departed: z.array(Departed),
  /** Greater than the number of every unit so far. */
  next: z.int().nonnegative(),
})
export type Units = z.infer<typeof Units>

export const noUnits = (): Units => ({ present: {}, departed: [], next: 0 })

/**
 * A pod of the application. With `created` (RFC 3339), a late event about an earlier pod cannot replace its successor. `number` comes from
 * sources that number their units.
 */
export type UnitPod = {
  readonly name: string
  readonly uid: string
  readonly created?: string | undefined
  readonly number?: number | undefined
}

/**
 * An observation of pods: one started, one is gone or going, or all live ones. A departed pod in `live` counts as present, because the list
 * was read after the memory.
 */
export type PodObservation =
  | { readonly added: UnitPod }
  | { readonly gone: string }
  | { readonly live: readonly UnitPod[] }

/** The workload of the pods. Without a type, the pod's name decides. */
export type Deployed = { readonly workload: string; readonly type?: 'stateless' | 'stateful' | undefined }

/** The limit of present pods, and of departed ones. The oldest are dropped first. */
export const MOST_PODS = 500

/**
 * Applies an observation of pods. A stateful unit has the number of its pod, whatever its uid. A stateless one gets a new number. Late
 * events about a departed pod change nothing.
 */
export const observePods = (units: Units, observation: PodObservation, deployed: Deployed): Units => {
  if ('gone' in observation) return withoutPod(units, observation.gone)
  if ('added' in observation) return withPod(units, observation.added, deployed)
  const live = observation.live.slice(0, MOST_PODS)
  const isLive = new Set(live.map(({ uid }) => uid))
  const lost = Object.keys(units.present).filter((uid) => !isLive.has(uid))
  const left = lost.reduce(withoutPod, units)
  return live.reduce((before, pod) => withPod(revived(before, pod.uid), pod, deployed, numberOf(left, pod.uid)), left)
}

/** Finds the unit number of a present or departed pod. */
const numberOf = ({ present, departed }: Units, uid: string): number | undefined =>
  ownValue(present, uid)?.number ?? departed.find((gone) => gone.uid === uid)?.number

const revived = (units: Units, uid: string): Units =>
  isDeparted(units, uid) ? { ...units, departed: units.departed.filter((gone) => gone.uid !== uid) } : units

/** Tells if the pod is among the last departed ones. */
export const isDeparted = ({ departed }: Units, uid: string): boolean => departed.some((gone) => gone.uid === uid)

const withoutPod = (units: Units, uid: string): Units => {
  if (isDeparted(units, uid)) return units
  const { [uid]: unit, ...present } = units.present
  const gone = { uid, ...(unit !== undefined && { pod: unit.pod, number: unit.number }) }
  return { ...units, present, departed: [...units.departed, gone].slice(-MOST_PODS) }
}

const withPod = (units: Units, pod: UnitPod, deployed: Deployed, before?: number): Units => {
  if (ownValue(units.present, pod.uid) !== undefined || isDeparted(units, pod.uid)) return units
  const ordinal = deployed.type === 'stateless' ? undefined : ordinalOf(pod, deployed)
  if (ordinal === undefined && deployed.type === 'stateful') return units
  const number = ordinal ?? [before, pod.number].find((one) => isFree(units, one)) ?? units.next
  const holder = Object.keys(units.present).find((uid) => ownValue(units.present, uid)?.number === number)
  if (holder !== undefined && isEarlier(pod, ownValue(units.present, holder))) return withoutPod(units, pod.uid)
  const { present, ...others } = holder === undefined ? units : withoutPod(units, holder)
  const created = pod.created !== undefined && isTimestamp(pod.created) ? { created: pod.created } : {}
  const added = { ...present, [pod.uid]: { pod: pod.name, number, ...created } }
  return bounded({ ...others, present: added, next: Math.max(units.next, number + 1) })
}

/** Parses the number of a StatefulSet's pod. Another pod with the same labels is no unit. */
const ordinalOf = ({ name }: UnitPod, { workload }: Deployed): number | undefined => numberAfter(`${workload}-`, name)

const isFree = ({ present, departed }: Units, number: number | undefined): boolean =>
  number !== undefined && ![...Object.values(present), ...departed].some((unit) => unit.number === number)

const isEarlier = ({ created }: UnitPod, unit: Unit | undefined): boolean =>
  created !== undefined &&
  isTimestamp(created) &&
  unit?.created !== undefined &&
  compareTimes(created, unit.created) < 0

const bounded = (units: Units): Units => {
  const [oldest, ...others] = Object.keys(units.present)
  return oldest !== undefined && others.length >= MOST_PODS ? withoutPod(units, oldest) : units
}

export const unitName = (application: string, number: number): string => `${application}/${number}`

/** Finds the number of a unit by its name `web/3`, or by its pod's. Undefined for an unknown unit. */
export const findUnitNumber = ({ present, departed }: Units, application: string, name: string): number | undefined =>
  numberAfter(`${application}/`, name) ??
  [...Object.values(present), ...departed].find(({ pod }) => pod === name)?.number

/** Tells if a unit was present and no longer is. A unit that was never seen may be new, because its own event may come before that of its pod. */
export const hasLeft = (units: Units, application: string, name: string): boolean => {
  const number = findUnitNumber(units, application, name)
  const isNumber = (unit: { number?: number | undefined }) => number !== undefined && unit.number === number
  return units.departed.some(isNumber) && !Object.values(units.present).some(isNumber)
}

/** Tells if the unit is present. While no pods are known, a unit that has not left counts as present. */
export const isPresent = (units: Units, application: string, name: string): boolean => {
  const number = findUnitNumber(units, application, name)
  const present = Object.values(units.present)
  if (present.length === 0) return !hasLeft(units, application, name)
  return number !== undefined && present.some((unit) => unit.number === number)
}

const numberAfter = (prefix: string, text: string): number | undefined => {
  const number = text.startsWith(prefix) ? text.slice(prefix.length) : ''
  return /^(0|[1-9]\d{0,8})$/.test(number) ? Number(number) : undefined
}
