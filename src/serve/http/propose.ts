import type { Proposed } from '../../ask/propose/proposal.ts'
import { createAnswerQuery } from '../../ask/views/answer-query.ts'
import { maySee } from '../../core/access/visibility.ts'
import type { Features } from '../../core/feature/combine.ts'
import type { Traffic } from './traffic.ts'

/**
 * Proposes documents for the applications of a namespace, by the traffic that was seen. Rejects as `GET /traffic` does, and with Refused, 404, for an
 * application that does not run.
 */
export type Propose = (
  query: URLSearchParams,
  authorization: string | undefined,
  observed?: Uint8Array,
) => Promise<Proposed>

type Dependencies = Parameters<typeof createAnswerQuery>[0] & {
  readonly features: Pick<Features, 'memories'>
  readonly traffic: Traffic
}

/** Each proposal reads several namespaces. */
const MOST_AT_ONCE = 2

export const createPropose = ({ traffic, features: { memories }, ...dependencies }: Dependencies): Propose => {
  const answerQuery = createAnswerQuery(dependencies, MOST_AT_ONCE)
  return async (query, authorization, observed) => {
    // events need no proposals
    const { proposeFor, readAsked } = await import('../../ask/propose/propose.ts')
    const asked = readAsked(query)
    const view = await traffic(asked.traffic, authorization, observed)
    return await answerQuery(authorization, ({ kubernetes, sender }) =>
      proposeFor(view, asked.wanted, { memories, kubernetes, sees: (namespace) => maySee(sender, { namespace }) }),
    )
  }
}
