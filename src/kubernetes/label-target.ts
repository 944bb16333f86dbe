import * as z from 'zod'
import { ObjectName } from '../base/names.ts'

/** Where labels are held. `Workload` is a StatefulSet, else a Deployment; on `pods`, not on the template but on those that run. */
export const Target = z.strictObject({
  kind: z.enum(['Workload', 'StatefulSet', 'Deployment', 'Service', 'Pod']),
  name: ObjectName,
  on: z.literal('pods').optional(),
})

export type Target = z.infer<typeof Target>

/** Where labels were held until `since`. It is looked at for a while yet: a step that began before may still write there. */
export const FormerTarget = z.strictObject({ ...Target.shape, since: z.iso.datetime() })

export type FormerTarget = z.infer<typeof FormerTarget>

export const isSameTarget = (one: Target, other: Target): boolean =>
  one.kind === other.kind && one.name === other.name && one.on === other.on
