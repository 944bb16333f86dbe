import * as z from 'zod'
import { ObjectName } from '../base/names.ts'

/** An object with labels of ours. `Workload` is a StatefulSet, else a Deployment. `pods` means the running pods instead of the template. */
export const LabelTarget = z.strictObject({
  kind: z.enum(['Workload', 'StatefulSet', 'Deployment', 'Service', 'Pod']),
  name: ObjectName,
  on: z.literal('pods').optional(),
})

export type LabelTarget = z.infer<typeof LabelTarget>

/** A target that had labels until `since`. It is still read for some time, because an earlier step may write there late. */
export const PreviousTarget = z.strictObject({ ...LabelTarget.shape, since: z.iso.datetime() })

export type PreviousTarget = z.infer<typeof PreviousTarget>

export const isSameTarget = (one: LabelTarget, other: LabelTarget): boolean =>
  one.kind === other.kind && one.name === other.name && one.on === other.on
