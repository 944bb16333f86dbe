import type { Report } from './report.ts'
import { type Unit, type Units, unitName } from './units.ts'

/** A new pod has been told all there is to know by then. */
const STARTING_MILLISECONDS = 5 * 60 * 1_000

/**
 * What the units that are there make of their application's status. While one takes over from another (its pod came later, a few minutes ago,
 * and it was not active yet), it may just not have been told what it misses, and the other may say its last: `blocked` counts as waiting
 * then, and what the new one misses is nothing to tell while another is active. An error is always one.
 */
export const unitStatuses = (application: string, units: Units, now: Date): Report[] => {
  const present = Object.values(units.present)
  const starting = present.filter((unit) => isStarting(unit, units, now))
  const isServing = present.some(({ started, report }) => started && report?.status === 'active')
  const isChanging = starting.length > 0
  return present.flatMap((unit) => {
    const { report, number } = unit
    if (report === undefined) return []
    const name = unitName(application, number)
    if (!starting.includes(unit) || report.status === 'error') return [namedReport(name, report, isChanging)]
    return isServing ? [] : [startingReport(name, report)]
  })
}

const namedReport = (name: string, { status, message }: Report, isChanging: boolean): Report => ({
  status: isChanging && status === 'blocked' ? 'waiting' : status,
  message: status === 'active' ? message : `${name}: ${message || status}`,
})

const isStarting = (unit: Unit, { present, departed }: Units, now: Date): boolean => {
  const created = Date.parse(unit.created ?? '')
  const isYoung = now.getTime() - created < STARTING_MILLISECONDS
  const isAfter = (other: Unit) =>
    Date.parse(other.created ?? '') < created || (unit.report !== undefined && other.started === true)
  return unit.started !== true && isYoung && (departed.length > 0 || Object.values(present).some(isAfter))
}

const startingReport = (name: string, { message }: Report): Report => ({
  status: 'waiting',
  message: `${name} is starting${message && `: ${message}`}`,
})
