import * as z from 'zod'
import type { Finding } from '../../ask/lint/finding.ts'
import type { Dependencies as Resting } from '../../ask/lint/lint.ts'
import { createAnswerQuery } from '../../ask/views/answer-query.ts'
import { parseInput } from '../../platform/base/issues.ts'
import { Namespace } from '../../platform/base/names.ts'

/** Lists probable mistakes in a namespace. Rejects with Refused if the sender may not send events about the whole namespace. */
export type Lint = (query: URLSearchParams, authorization: string | undefined) => Promise<Finding[]>

type Dependencies = Parameters<typeof createAnswerQuery>[0] & Resting

const Query = z.strictObject({ namespace: Namespace })

/** Each question reads a whole namespace. */
const MOST_AT_ONCE = 4

export const createLint = (dependencies: Dependencies): Lint => {
  const answerQuery = createAnswerQuery(dependencies, MOST_AT_ONCE)
  return async (query, authorization) => {
    const { namespace } = parseInput(Query, Object.fromEntries(query), 'query')
    // events need no findings
    const { lintNamespace } = await import('../../ask/lint/lint.ts')
    return await answerQuery(authorization, (asker) => lintNamespace(dependencies, namespace, asker))
  }
}
