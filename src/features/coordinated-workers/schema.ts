import type * as z from 'zod'
import { CoordinatorConfig, WorkerConfig } from './config.ts'

export const coordinatedWorkersConfig = {
  coordinator: CoordinatorConfig.optional(),
  worker: WorkerConfig.optional(),
}

type CoordinatedWorkersConfig = z.infer<z.ZodObject<typeof coordinatedWorkersConfig>>

declare module '../../core/state/config.ts' {
  interface Config extends CoordinatedWorkersConfig {}
}
