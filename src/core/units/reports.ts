import { advance, type Position } from '../../platform/base/event-order.ts'
import type { Report } from './report.ts'
import { findUnitNumber, type Unit, type Units } from './units.ts'

/** The sender of a report: a pod by its uid, or a unit by its name. */
export type Reporter = { readonly uid?: string | undefined; readonly unit?: string | undefined }

/** Records a unit's report, unless a later one is recorded. Reports of departed or unknown units are ignored. */
export const withReport = (
  units: Units,
  application: string,
  reporter: Reporter,
  report: Report,
  position?: Position,
): Units =>
  changed(units, application, reporter, (unit) => {
    const mark = position && advance(unit.reported, position)
    if (typeof mark === 'string') return unit
    const started = report.status === 'active' && { started: true as const }
    return { ...unit, report, ...(mark && { reported: mark }), ...started }
  })

/** Records a unit's relation data as a whole. Later, departed and unknown units are treated as in `withReport`. */
export const withDatabag = (
  units: Units,
  application: string,
  reporter: Reporter,
  databag: NonNullable<Unit['databag']>,
  position: Position,
): Units =>
  changed(units, application, reporter, (unit) => {
    const mark = advance(unit.told, position)
    return typeof mark === 'string' ? unit : { ...unit, databag, told: mark }
  })

const changed = (
  units: Units,
  application: string,
  { uid, unit: name }: Reporter,
  change: (unit: Unit) => Unit,
): Units => {
  const number = name === undefined ? undefined : findUnitNumber(units, application, name)
  const [key, unit] =
    Object.entries(units.present).find(([one, { number: other }]) =>
      uid === undefined ? other === number : one === uid,
    ) ?? []
  if (key === undefined || unit === undefined) return units
  const next = change(unit)
  return next === unit ? units : { ...units, present: { ...units.present, [key]: next } }
}
