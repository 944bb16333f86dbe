import { expected } from '../../authorization/check-expectations.ts'
import { expectationsOf } from '../../authorization/expectation.ts'
import type { Subject } from '../../base/subject.ts'
import type { Features } from '../../feature/combine.ts'
import { ApiError } from '../../kubernetes/api-error.ts'
import { type Kubernetes, readingOnce } from '../../kubernetes/client.ts'
import type { State } from '../../state/state.ts'

/** A sentence for each expectation that the cluster does not meet; it is read only for applications that expect anything. */
export const unmetExpectations = async (
  { memories }: Features,
  kubernetes: Kubernetes,
  subject: Subject,
  state: State,
): Promise<string[]> => {
  const expectations = expectationsOf(subject, state.config)
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
