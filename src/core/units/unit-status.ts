import type { Report } from './report.ts'
import { type Unit, type Units, unitName } from './units.ts'

/** The time after which a pod counts as started. By then it has received all of its data. */
const STARTING_MILLISECONDS = 5 * 60 * 1_000

/**
 * Derives the statuses of the present units. During a takeover (a pod created minutes ago that was never active), the new unit may lack
 * data, and the old one may be leaving. Then `blocked` counts as waiting, and the new unit reports nothing while another is active. An
 * error always counts.
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
