import { advance, type Position } from '../base/event-order.ts'
import type { Report } from './report.ts'
import { findUnitNumber, type Unit, type Units } from './units.ts'

/** Who reports: a pod by its uid, or a unit by its name. */
export type Reporter = { readonly uid?: string | undefined; readonly unit?: string | undefined }

/**
 * The units with what one of them says of itself, unless it has said something else since. A unit that is gone, or was never seen, has
 * no say.
 */
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

/** The units with what one of them says in the relations of its application, whole, in the same way. */
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
