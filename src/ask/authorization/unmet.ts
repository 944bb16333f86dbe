import type { Feature } from '../../core/feature/feature.ts'
import { ApiError } from '../../platform/kubernetes/api-error.ts'
import { readingOnce } from '../../platform/kubernetes/client.ts'
import { expected } from './check-expectations.ts'
import { expectationsOf } from './expectation.ts'

/** Writes a sentence for each expectation that the cluster does not meet. It reads the cluster only if the application has expectations. */
export const unmetExpectations: NonNullable<Feature['unmet']> = async (memories, kubernetes, subject, config) => {
  const expectations = expectationsOf(subject, config)
  if (expectations.length === 0) return []
  try {
    const checked = await expected(memories, readingOnce(kubernetes), expectations, undefined)
    return checked.flatMap(({ met, allowed, sentence }) =>
      met ? [] : [`expected to be ${allowed ? 'allowed' : 'refused'}: ${sentence}`],
    )
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return [`whether expectations are met is not known: ${error.message}`]
  }
}
