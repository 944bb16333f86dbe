import type { Feature } from '../../core/feature/feature.ts'
import { condition } from '../../platform/base/condition.ts'
import { subjectName } from '../../platform/base/subject.ts'
import { ApiError } from '../../platform/kubernetes/api-error.ts'
import { readingOnce } from '../../platform/kubernetes/client.ts'
import { expected } from './check-expectations.ts'
import { expectationsOf } from './expectation.ts'

/** Returns a condition for each expectation that the cluster does not meet. It reads the cluster only if the application has expectations. */
export const unmetExpectations: NonNullable<Feature['unmet']> = async (memories, kubernetes, subject, config) => {
  const unmet = (message: string) => condition('Waiting', 'ExpectationUnmet', subjectName(subject), message)
  const expectations = expectationsOf(subject, config)
  if (expectations.length === 0) return []
  try {
    const checked = await expected(memories, readingOnce(kubernetes), expectations, undefined)
    return checked.flatMap(({ met, allowed, sentence }) =>
      met ? [] : [unmet(`expected to be ${allowed ? 'allowed' : 'refused'}: ${sentence}`)],
    )
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return [unmet(`whether expectations are met is not known: ${error.message}`)]
  }
}
