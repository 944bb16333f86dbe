import type { Authenticate, Sender } from '../../core/access/authenticate.ts'
import { createBudget, within } from '../../platform/base/budget.ts'
import type { Clock } from '../../platform/base/clock.ts'
import type { Trace } from '../../platform/base/trace.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'

/** The user of a question, if users are authenticated, and a client for the answer. */
export type Asker = { readonly kubernetes: Kubernetes; readonly sender: Sender | undefined }

/**
 * Answers a question of the user in the header `authorization`. Rejects with Refused, 401, and with Unavailable, 429, if too many questions
 * are being answered.
 */
type AnswerQuery = <T>(
  authorization: string | undefined,
  answer: (asker: Asker) => Promise<T>,
  trace?: Trace,
) => Promise<T>

type Dependencies = {
  /** Creates a client whose calls end at the deadline, in milliseconds since the epoch. */
  connect(deadline: number, trace?: Trace): Kubernetes
  /** Authenticates users. Without it, everybody who can reach the process may ask. */
  authenticate?: Authenticate | undefined
  clock: Pick<Clock, 'now'>
  /** The time limit for an answer. */
  timeoutMilliseconds: number
}

/** The limit of questions of one kind in progress, because each holds its data in memory. A browser asks six at once. */
const MOST_AT_ONCE = 16

/** Creates a limit of questions of one kind in progress, in total and for each user. */
export const createAnswerQuery = (
  { connect, authenticate, clock, timeoutMilliseconds }: Dependencies,
  most: number = MOST_AT_ONCE,
): AnswerQuery => {
  const budget = createBudget(most, 'too many questions of this kind are being answered here: ask again in a moment')
  return async (authorization, answer, trace) => {
    const kubernetes = connect(clock.now() + timeoutMilliseconds, trace)
    const sender = await authenticate?.(kubernetes, authorization)
    return await within(budget, sender?.author.username ?? '', () => answer({ kubernetes, sender }))
  }
}
