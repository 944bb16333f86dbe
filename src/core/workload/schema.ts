import * as z from 'zod'
import { ObjectName } from '../../platform/base/names.ts'
import { type PartsOf, part } from '../state/state.ts'
import { workloadSchema } from './config.ts'
import { Slowed } from './slowed.ts'

export const workloadConfig = {
  workload: workloadSchema(z.strictObject({ kind: z.enum(['StatefulSet', 'Deployment']), name: ObjectName }))
    .nullable()
    .optional(),
  service: ObjectName.nullable().optional(),
  enrolment: z.enum(['rolling', 'in-place']).optional(),
}

export const workloadState = {
  /** The changes of units that are slowed, and the values that wait. */
  slowed: part(Slowed.optional(), 'dropped'),
  /** The kind that was found without a configured one. A StatefulSet is tried first. */
  workloadKind: part(z.literal('Deployment').optional(), 'dropped'),
}

type WorkloadConfig = z.infer<z.ZodObject<typeof workloadConfig>>
type WorkloadState = PartsOf<typeof workloadState>

declare module '../state/config.ts' {
  interface Config extends WorkloadConfig {}
}
declare module '../state/state.ts' {
  interface State extends WorkloadState {}
}
