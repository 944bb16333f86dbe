import * as z from 'zod'
import { OwnExpectation } from './expectation.ts'

const expectationsConfig = {
  expect: z.array(OwnExpectation).max(100).optional(),
}

type ExpectationsConfig = z.infer<z.ZodObject<typeof expectationsConfig>>

declare module '../state/config.ts' {
  interface Config extends ExpectationsConfig {}
}

/** The requests that an application expects to pass, or not to. */
export const expectations = { name: 'expectations', config: expectationsConfig }
