import { createBudget, within } from '../../platform/base/budget.ts'
import type { Clock } from '../../platform/base/clock.ts'
import type { Trace } from '../../platform/base/trace.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import type { Authenticate, Sender } from './authenticate.ts'

/** The user of a question, where users are authenticated, and a client for it. */
export type Asker = { readonly kubernetes: Kubernetes; readonly sender: Sender | undefined }

/** Answers a question of whoever `authorization`, a header, names. Rejects with Refused, 401, and with Unavailable, 429, when too many are being answered. */
export type AnswerQuery = <T>(
  authorization: string | undefined,
  answer: (asker: Asker) => Promise<T>,
  trace?: Trace,
) => Promise<T>

type Dependencies = {
  /** A client whose calls end at the deadline, in milliseconds since the epoch. */
  connect(deadline: number, trace?: Trace): Kubernetes
  /** Without it, whoever reaches the process may ask. */
  authenticate?: Authenticate | undefined
  clock: Pick<Clock, 'now'>
  /** The time limit for an answer. */
  timeoutMilliseconds: number
}

/** The limit of questions of one kind that are answered at a time: each holds in memory what it reads. A browser asks six at once. */
const MOST_AT_ONCE = 16

/** Bounds the questions of one kind that are being answered, in all and of each user. */
export const createAnswerQuery = (
  { connect, authenticate, clock, timeoutMilliseconds }: Dependencies,
  most: number = MOST_AT_ONCE,
): AnswerQuery => {
  const budget = createBudget(
    most,
    'as many questions of this kind as may be are being answered here: ask again in a moment',
  )
  return async (authorization, answer, trace) => {
    const kubernetes = connect(clock.now() + timeoutMilliseconds, trace)
    const sender = await authenticate?.(kubernetes, authorization)
    return await within(budget, sender?.author.username ?? '', () => answer({ kubernetes, sender }))
  }
}
