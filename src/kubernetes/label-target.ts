import * as z from 'zod'
import { ObjectName } from '../base/names.ts'

/** Where labels are held. `Workload` is a StatefulSet, else a Deployment; on `pods`, not on the template but on those that run. */
export const LabelTarget = z.strictObject({
  kind: z.enum(['Workload', 'StatefulSet', 'Deployment', 'Service', 'Pod']),
  name: ObjectName,
  on: z.literal('pods').optional(),
})

export type LabelTarget = z.infer<typeof LabelTarget>

/** Where labels were held until `since`. It is looked at for a while yet: a step that began before may still write there. */
export const PreviousTarget = z.strictObject({ ...LabelTarget.shape, since: z.iso.datetime() })

export type PreviousTarget = z.infer<typeof PreviousTarget>

export const isSameTarget = (one: LabelTarget, other: LabelTarget): boolean =>
  one.kind === other.kind && one.name === other.name && one.on === other.on
