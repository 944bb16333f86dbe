import * as z from 'zod'
import { ObjectName } from '../src/config.ts'
import { defineFunction } from '../src/define-function.ts'
import { deployedAs } from '../src/units.ts'
import { Report } from '../src/workload/report.ts'
import { withReport } from '../src/workload/reports.ts'
import { observePods } from '../src/workload/units.ts'

/** A pod started, says how it is, or is gone. Pods alone are no memory: of an application that is not known otherwise nothing is kept. */
export const podRestarted = defineFunction({
  name: 'pod-restarted',
  data: {
    unit: z.string().min(1).max(253).optional(),
    pod: z.strictObject({
      name: ObjectName,
      uid: z.string().min(1).max(128),
      /** When it was created. */
      created: z.iso.datetime({ offset: true }).optional(),
    }),
    /** It was deleted, has ended, or was evicted. */
    gone: z.literal(true).optional(),
    status: Report.optional(),
  },
  observation: true,
  fold: (state, { unit, pod, gone, status }, { application, position }) => {
    const deployed = deployedAs(application, state)
    if (gone) return { state: { ...state, units: observePods(state.units, { gone: pod.uid }, deployed) } }
    const number = /\/(\d{1,9})$/.exec(unit ?? '')?.[1]
    const added = { ...pod, ...(number !== undefined && { number: Number(number) }) }
    const units = observePods(state.units, { added }, deployed)
    return { state: { ...state, units: status ? withReport(units, application, pod, status, position) : units } }
  },
})
