import { advance, type Position } from '../order.ts'
import type { Report } from './report.ts'
import { numberNamed, type Units } from './units.ts'

/** Who reports: a pod by its uid, or a unit by its name. */
export type Reporter = { readonly uid?: string | undefined; readonly unit?: string | undefined }

/**
 * The units with what one of them says of itself, unless it has said something else since. A unit that is gone, or was never seen, has
 * no say.
 */
export const withReport = (
  units: Units,
  application: string,
  { uid, unit: name }: Reporter,
  report: Report,
  position?: Position,
): Units => {
  const number = name === undefined ? undefined : numberNamed(units, application, name)
  const entry = Object.entries(units.present).find(([key, unit]) =>
    uid === undefined ? unit.number === number : key === uid,
  )
  if (entry === undefined) return units
  const [key, unit] = entry
  const mark = position && advance(unit.reported, position)
  if (typeof mark === 'string') return units
  const reporting = {
    ...unit,
    report,
    ...(mark && { reported: mark }),
    ...(report.status === 'active' && { started: true as const }),
  }
  return { ...units, present: { ...units.present, [key]: reporting } }
}
