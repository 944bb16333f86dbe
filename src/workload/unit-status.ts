import type { Report } from './report.ts'
import { type Unit, type Units, unitName } from './units.ts'

/**
 * What the units that are there make of their application's status. One that never was active is starting: whatever it misses, it may just
 * not have been told yet. What an older one says at such a time may be its end. Neither is an error, nor blocks the application; and while
 * another unit is active, a starting one says nothing at all.
 */
export const unitStatuses = (application: string, { present }: Units): Report[] => {
  const units = Object.values(present)
  const lastStarting = units.findLastIndex(isStarting)
  const isServing = units.some((unit) => unit.started && unit.report?.status === 'active')
  return units.flatMap((unit, index) => {
    if (isStarting(unit))
      return isServing || unit.report === undefined ? [] : [starting(application, unit, unit.report)]
    if (unit.report === undefined) return []
    const named = { ...unit.report, message: said(application, unit, unit.report) }
    return [index < lastStarting ? softened(named) : named]
  })
}

const isStarting = ({ started }: Unit): boolean => started !== true

const starting = (application: string, { number }: Unit, { message }: Report): Report => ({
  status: 'waiting',
  message: `${unitName(application, number)} is starting${message && `: ${message}`}`,
})

const softened = ({ status, message }: Report): Report => ({
  status: status === 'error' || status === 'blocked' ? 'waiting' : status,
  message,
})

const said = (application: string, { number }: Unit, { status, message }: Report): string =>
  status === 'active' ? message : `${unitName(application, number)}: ${message || status}`
