import * as z from 'zod'
import { Mark } from '../base/event-order.ts'
import { ownValue } from '../base/own-value.ts'
import { compareTimes, isTimestamp } from '../base/timestamp.ts'
import { LeaderSettings } from './leader-settings.ts'
import { Report } from './report.ts'

/** A pod that is there, and the number of the unit that it is. */
const Unit = z.strictObject({
  pod: z.string(),
  number: z.int().nonnegative(),
  /** When the pod was created (RFC 3339). */
  created: z.string().optional(),
  report: Report.optional(),
  /** The last report that counted. */
  reported: Mark.optional(),
  /** What the unit says in the relations of its application, by endpoint, and the last time that counted. */
  databag: z.record(z.string(), LeaderSettings).optional(),
  told: Mark.optional(),
  /** It was active once, so that it is not starting any more. */
  started: z.literal(true).optional(),
})
export type Unit = z.infer<typeof Unit>

/** The name and the number are those it had, where the pod was seen before it went. */
const Departed = z.strictObject({
  uid: z.string(),
  pod: z.string().optional(),
  number: z.int().nonnegative().optional(),
})

/** The units of an application, as far as events have told. */
export const Units = z.strictObject({
  /** By pod uid, in the order in which they came. */
  present: z.record(z.string(), Unit),
  /** Pods that are gone, in the order in which they went: what is still said about them is late. */
  departed: z.array(Departed),
  /** Higher than the number of any unit there ever was. */
  next: z.int().nonnegative(),
})
export type Units = z.infer<typeof Units>

export const noUnits = (): Units => ({ present: {}, departed: [], next: 0 })

/**
 * A pod of the application. With `created` (RFC 3339) a late event cannot put an earlier pod in the place of its successor; `number` is
 * that of its unit, where whoever tells of the pod gives out the numbers.
 */
export type UnitPod = {
  readonly name: string
  readonly uid: string
  readonly created?: string | undefined
  readonly number?: number | undefined
}

/**
 * What was seen of the pods: one started; one is gone, or going, as that cannot be taken back; or all that live. `live` is believed even
 * where it says that a departed pod is there: it must have been listed after the memory was read.
 */
export type PodObservation =
  | { readonly added: UnitPod }
  | { readonly gone: string }
  | { readonly live: readonly UnitPod[] }

/** The workload whose pods they are; where its type is not known, the name of a pod tells it. */
export type Deployed = { readonly workload: string; readonly type?: 'stateless' | 'stateful' | undefined }

/** As many pods as are remembered of each, present and departed: the ones of longest ago go first. */
export const MOST_PODS = 500

/**
 * The units after an observation. A unit of a stateful application has the number of its pod, whatever the pod's uid; a stateless one gets
 * a number that no pod had before. What comes late about a departed pod changes nothing.
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

/** The unit that a pod is, or was. */
const numberOf = ({ present, departed }: Units, uid: string): number | undefined =>
  ownValue(present, uid)?.number ?? departed.find((gone) => gone.uid === uid)?.number

const revived = (units: Units, uid: string): Units =>
  isDeparted(units, uid) ? { ...units, departed: units.departed.filter((gone) => gone.uid !== uid) } : units

/** Whether the pod is known to be gone: of the last ones that went. */
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

/** The pods of a StatefulSet are numbered by their names. Another pod that only carries its labels is no unit of it. */
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

/** The number of a unit that is named `web/3`, or after its pod; undefined where no such unit is known. */
export const findUnitNumber = ({ present, departed }: Units, application: string, name: string): number | undefined =>
  numberAfter(`${application}/`, name) ??
  [...Object.values(present), ...departed].find(({ pod }) => pod === name)?.number

/**
 * Whether the unit of that name was there and is not any more. One that was never seen may only be new: the event about its pod can come
 * later than what it says itself.
 */
export const hasLeft = (units: Units, application: string, name: string): boolean => {
  const number = findUnitNumber(units, application, name)
  const isNumber = (unit: { number?: number | undefined }) => number !== undefined && unit.number === number
  return units.departed.some(isNumber) && !Object.values(units.present).some(isNumber)
}

/** Whether the unit of that name is there; where nothing is known of the pods, one that has not left is taken to be. */
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
