import type { Authenticate } from './authorize.ts'
import type { Clock } from './clock.ts'
import { requestersBehind } from './explain/memories.ts'
import { observe } from './explain/observe.ts'
import { type Question, readQuestion } from './explain/question.ts'
import { meshOf, situationOf } from './explain/situation.ts'
import type { Kubernetes } from './kubernetes/client.ts'
import { type Decision, decide } from './policies/decide.ts'

type Dependencies = {
  /** A client whose calls end at the deadline, in milliseconds since the epoch. */
  connect(deadline: number): Kubernetes
  /** Without it, whoever reaches the process may ask. */
  authenticate?: Authenticate | undefined
  clock: Clock
  /** How long an answer may take. */
  timeoutMilliseconds: number
}

type Subject = Question['to']

/** The decision, and the question with its defaults, both names as `{namespace}/{application}`. */
export type Explanation = Decision & {
  readonly request: Omit<Question, 'from' | 'to'> & { readonly from?: string; readonly to: string }
}

/**
 * Whether a request would pass in the cluster as it is now, and why. Throws Refused for a question that is not valid (400), is about
 * something that does not exist (404), or comes from somebody who may not send events about its destination (401, 403).
 */
export type Explain = (query: URLSearchParams, authorization: string | undefined) => Promise<Explanation>

export const createExplain =
  ({ connect, authenticate, clock, timeoutMilliseconds }: Dependencies): Explain =>
  async (query, authorization) => {
    const question = readQuestion(query)
    const kubernetes = connect(clock.now() + timeoutMilliseconds)
    const sender = await authenticate?.(kubernetes, authorization)
    await sender?.authorize(question.to)
    const observed = await observe(kubernetes, question)
    const { request, world, steps } = situationOf(question, observed)
    const decision = decide(request, world, requestersBehind(question.to, observed.memory, question.from))
    const { from, ...asked } = question
    return {
      ...decision,
      steps: [...steps, ...decision.steps],
      request: {
        ...(from && { from: nameOf(from) }),
        ...asked,
        to: nameOf(question.to),
        ...meshOf(question, observed),
      },
    }
  }

const nameOf = ({ namespace, application }: Subject): string => `${namespace}/${application}`
