import * as z from 'zod'
import type { Feature } from '../../core/feature/feature.ts'
import { condition } from '../../platform/base/condition.ts'
import { subjectName } from '../../platform/base/subject.ts'
import { ApiError } from '../../platform/kubernetes/api-error.ts'
import { readingOnce } from '../../platform/kubernetes/client.ts'
import { unmetSentences } from './check-expectations.ts'
import { OwnExpectation } from './expectation.ts'

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
  unmet: async (memories, kubernetes, subject, config) => {
    const unmet = (message: string) => condition('Waiting', 'ExpectationUnmet', subjectName(subject), message)
    try {
      return (await unmetSentences(memories, readingOnce(kubernetes), subject, config)).map(unmet)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      return [unmet(`whether expectations are met is not known: ${error.message}`)]
    }
  },
} satisfies Feature
