import type * as z from 'zod'
import { CoordinatorConfig, WorkerConfig } from './config.ts'

export const coordinatedWorkersConfig = {
  /** Makes the application the coordinator of a cluster of workers. */
  coordinator: CoordinatorConfig.optional(),
  /** Makes the application a worker of such a cluster. */
  worker: WorkerConfig.optional(),
}

type CoordinatedWorkersConfig = z.infer<z.ZodObject<typeof coordinatedWorkersConfig>>

declare module '../../core/state/config.ts' {
  interface Config extends CoordinatedWorkersConfig {}
}
