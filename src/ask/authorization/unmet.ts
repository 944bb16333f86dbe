import type { Feature } from '../../core/feature/feature.ts'
import { condition } from '../../platform/base/condition.ts'
import { subjectName } from '../../platform/base/subject.ts'
import { ApiError } from '../../platform/kubernetes/api-error.ts'
import { readingOnce } from '../../platform/kubernetes/client.ts'
import { unmetSentences } from './check-expectations.ts'

/** Returns a condition for each expectation that the cluster does not meet. It reads the cluster only if the application has expectations. */
export const unmetExpectations: NonNullable<Feature['unmet']> = async (memories, kubernetes, subject, config) => {
  const unmet = (message: string) => condition('Waiting', 'ExpectationUnmet', subjectName(subject), message)
  try {
    return (await unmetSentences(memories, readingOnce(kubernetes), subject, config)).map(unmet)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return [unmet(`whether expectations are met is not known: ${error.message}`)]
  }
}
