import * as z from 'zod'
import { ObjectName } from '../base/names.ts'
import { type PartsOf, part } from '../state/state.ts'
import { Churn } from './churn/config.ts'
import { SpecHistory } from './churn/history.ts'
import { workloadOf } from './config.ts'
import { DataChurn } from './data-churn.ts'

export const workloadConfig = {
  /**
   * The workload to label, by kind and name, or one that is ours to deploy, by its `podSpec`. Null for none. Found by the application's
   * name when absent: a StatefulSet, else a Deployment.
   */
  workload: workloadOf(z.strictObject({ kind: z.enum(['StatefulSet', 'Deployment']), name: ObjectName }))
    .nullable()
    .optional(),
  /** The Service to label; null for none. @default the application's name */
  service: ObjectName.nullable().optional(),
  /** `rolling` labels the pod template, which restarts the pods; `in-place` labels the running pods. @default rolling */
  enrolment: z.enum(['rolling', 'in-place']).optional(),
  /** How often units may change the pod spec before that is a loop. @default 5 changes of one place in 30 minutes */
  churn: Churn.optional(),
}

export const workloadState = {
  /** The pod specs that the application was given. */
  specs: part(SpecHistory.optional(), 'dropped'),
  /** Why the API server refuses the pod spec. */
  refusedSpec: part(z.string().optional(), 'dropped'),
  /** How often units change the settings and the databag, and what of these is held back. */
  dataChurn: part(DataChurn.optional(), 'dropped'),
  /** Seen when no kind is configured and it is not the StatefulSet that is looked for first. */
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
