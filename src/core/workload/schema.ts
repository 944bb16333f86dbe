import * as z from 'zod'
import { ObjectName } from '../../platform/base/names.ts'
import { type PartsOf, part } from '../state/state.ts'
import { DataChurn } from './churn/data-churn.ts'
import { ConfigChurn } from './churn/history.ts'
import { Churn } from './churn/limit.ts'
import { workloadSchema } from './config.ts'

export const workloadConfig = {
  workload: workloadSchema(z.strictObject({ kind: z.enum(['StatefulSet', 'Deployment']), name: ObjectName }))
    .nullable()
    .optional(),
  service: ObjectName.nullable().optional(),
  enrolment: z.enum(['rolling', 'in-place']).optional(),
  churn: Churn.optional(),
}

export const workloadState = {
  /** The changes that units made to the config, and the parts held back. */
  configChurn: part(ConfigChurn.optional(), 'dropped'),
  /** The changes that units made to settings and databag, and the values held back. */
  dataChurn: part(DataChurn.optional(), 'dropped'),
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
