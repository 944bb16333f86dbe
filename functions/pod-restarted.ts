import * as z from 'zod'
import { defineFunction } from '../src/core/events/event-function.ts'
import { refuseOwnedKeys } from '../src/core/relations/databags/application-data.ts'
import { Databags } from '../src/core/state/relation.ts'
import { Report } from '../src/core/units/report.ts'
import { withDatabag, withReport } from '../src/core/units/reports.ts'
import { findUnitNumber, observePods, type Units, unitName } from '../src/core/units/units.ts'
import { deployedAs } from '../src/core/workload/deployed-as.ts'
import { Refused } from '../src/platform/base/errors.ts'
import { ObjectName } from '../src/platform/base/names.ts'
import { ownValue } from '../src/platform/base/own-value.ts'

/** A pod has started, reports its status, or is gone. Pods alone create no memory: those of unknown applications are ignored. */
export const podRestarted = defineFunction({
  name: 'pod-restarted',
  data: {
    unit: z.string().min(1).max(253).optional(),
    pod: z.strictObject({
      name: ObjectName,
      uid: z.string().min(1).max(128),
      /** The creation time of the pod. */
      created: z.iso.datetime({ offset: true }).optional(),
    }),
    /** The pod was deleted, ended, or was evicted. */
    gone: z.literal(true).optional(),
    status: Report.optional(),
    databag: Databags.optional(),
  },
  observation: true,
  fold: (state, { unit, pod, gone, status, databag }, { application, position }) => {
    const deployed = deployedAs(application, state)
    if (gone) return { state: { ...state, units: observePods(state.units, { gone: pod.uid }, deployed) } }
    refuseOwnedKeys(databag, state)
    const number = /\/(\d{1,9})$/.exec(unit ?? '')?.[1]
    const added = { ...pod, ...(number !== undefined && { number: Number(number) }) }
    const seen = observePods(state.units, { added }, deployed)
    if (databag) refuseOthers(seen, application, pod, unit)
    const reported = status ? withReport(seen, application, pod, status, position) : seen
    const units = databag ? withDatabag(reported, application, pod, databag, position) : reported
    return { state: { ...state, units } }
  },
})

/** Checks that the pod belongs to the named unit, because a unit may only write its own databag. */
const refuseOthers = (units: Units, application: string, { uid }: { uid: string }, unit: string | undefined): void => {
  const own = ownValue(units.present, uid)?.number
  if (unit === undefined || own === undefined || findUnitNumber(units, application, unit) === own) return
  throw new Refused(403, `${unit} is not the unit of the pod that sent this, which is ${unitName(application, own)}`)
}
