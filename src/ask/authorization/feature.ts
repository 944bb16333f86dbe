import * as z from 'zod'
import type { Feature } from '../../core/feature/feature.ts'
import { OwnExpectation } from './expectation.ts'
import { unmetExpectations } from './unmet.ts'

const expectationsConfig = {
  expect: z.array(OwnExpectation).max(100).optional(),
}

type ExpectationsConfig = z.infer<z.ZodObject<typeof expectationsConfig>>

declare module '../../core/state/config.ts' {
  interface Config extends ExpectationsConfig {}
}

/** The feature that checks if the requests of an application pass or fail as its config expects. */
export const expectations = {
  name: 'expectations',
  config: expectationsConfig,
  unmet: unmetExpectations,
} satisfies Feature
