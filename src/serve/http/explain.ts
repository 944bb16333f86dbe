import { type Decision, evaluate } from '../../ask/authorization/evaluate.ts'
import { buildInput, resolveMesh } from '../../ask/authorization/evaluation-input.ts'
import { humanRequesters } from '../../ask/authorization/memories.ts'
import { type ObservedCluster, observeForQuery } from '../../ask/authorization/observe.ts'
import { parseQuery, type Query } from '../../ask/authorization/query.ts'
import { sideName } from '../../ask/authorization/side.ts'
import { type Asker, createAnswerQuery } from '../../ask/views/answer-query.ts'
import type { Sender } from '../../core/access/authenticate.ts'
import type { Features } from '../../core/feature/combine.ts'

type Dependencies = Parameters<typeof createAnswerQuery>[0] & { features: Pick<Features, 'memories'> }

/** The decision, and the query with its defaults. Both sides are named as `{namespace}/{application}`. */
export type Explanation = Decision & {
  readonly request: Omit<Query, 'from' | 'to'> & { readonly from?: string; readonly to: string }
}

/**
 * Explains if the current cluster would allow a request. Rejects with Refused for an invalid query (400), a query about something that does not exist
 * (404), and a sender that may not send events about both sides (401, 403). If the sender may not read the policies of a namespace, they are not named.
 */
export type Explain = (query: URLSearchParams, authorization: string | undefined) => Promise<Explanation>

export const createExplain = ({ features, ...dependencies }: Dependencies): Explain => {
  const answerQuery = createAnswerQuery(dependencies)
  const answer = async (question: Query, { kubernetes, sender }: Asker): Promise<Explanation> => {
    await Promise.all([question.to, question.from].map(async (side) => side && (await sender?.authorize(side))))
    const observed = await observeForQuery(features.memories, kubernetes, question)
    const { request, snapshot, steps } = buildInput(question, observed)
    const decided = evaluate(request, snapshot, humanRequesters(question.to, observed.memory, question.from))
    const decision = { ...decided, steps: [...steps, ...decided.steps] }
    const { from, ...asked } = question
    const { rootNamespace, trustDomain } = resolveMesh(question, observed)
    return {
      ...(sender ? concealed(decision, await hiddenIn(decision, observed, sender)) : decision),
      request: {
        ...(from && { from: sideName(from) }),
        ...asked,
        to: sideName(question.to),
        ...{ rootNamespace, trustDomain },
      },
    }
  }
  return async (query, authorization) => {
    const question = parseQuery(query)
    return await answerQuery(authorization, (asker) => answer(question, asker))
  }
}

/** Lists the namespaces of policies that the answer names and the sender may not read. */
const hiddenIn = async (decision: Decision, { policies = [] }: ObservedCluster, sender: Sender): Promise<string[]> => {
  const text = JSON.stringify(decision)
  const namespaces = policies.flatMap(({ metadata: { namespace = '', name } }) =>
    text.includes(`${namespace}/${name}`) ? [namespace] : [],
  )
  const asked = [...new Set(namespaces)].toSorted()
  const readable = await Promise.all(
    asked.map((namespace) => sender.mayGet({ kind: 'AuthorizationPolicy', namespace })),
  )
  return asked.filter((_, index) => readable[index] === false)
}

/** Hides everything but the decision, if it names policies that the sender may not read. */
const concealed = ({ allowed, decided, at, ...decision }: Decision, hidden: readonly string[]): Decision =>
  hidden.length === 0
    ? { allowed, decided, at, ...decision }
    : {
        ...{ allowed, decided, at, relations: [], steps: [] },
        sentence: `A policy in ${hidden.join(' and ')} takes part in the decision, and you may not read the policies there.`,
      }
