import type { Sender } from '../../core/access/authenticate.ts'
import { maySee } from '../../core/access/visibility.ts'
import type { Memories } from '../../core/state/memory.ts'
import { Refused } from '../../platform/base/errors.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { evaluate } from './evaluate.ts'
import { buildInput } from './evaluation-input.ts'
import { type Expectation, expectationsOf } from './expectation.ts'
import { observeForQuery } from './observe.ts'
import { OUTSIDE, type Query } from './query.ts'
import { parseSide, sideName } from './side.ts'

/** An expectation, with its result and the reason. */
export type Expected = Expectation & { readonly met: boolean; readonly sentence: string }

type Options = {
  readonly autoAllowWaypoint?: boolean | undefined
  /** Names of objects that a plan has written. They count as taken by the mesh at once, because no mesh takes them in a plan. */
  readonly planned?: ReadonlySet<string>
}

/** Checks expectations against a cluster. An undecided request meets no expectation, because it is neither certainly allowed nor certainly denied. */
export const expected = async (
  memories: Pick<Memories, 'read'>,
  kubernetes: Kubernetes,
  expectations: readonly Expectation[],
  sender: Sender | undefined,
  options: Options = {},
): Promise<Expected[]> => {
  const results: Expected[] = []
  for (const expectation of expectations)
    results.push({ ...expectation, ...(await check(memories, kubernetes, expectation, sender, options)) })
  return results
}

/** Lists a sentence for each expectation in the config of an application that a cluster does not meet. */
export const unmetSentences = async (
  memories: Pick<Memories, 'read'>,
  kubernetes: Kubernetes,
  ...application: Parameters<typeof expectationsOf>
): Promise<string[]> =>
  (await expected(memories, kubernetes, expectationsOf(...application), undefined)).flatMap(
    ({ met, allowed, sentence }) => (met ? [] : [`expected to be ${allowed ? 'allowed' : 'refused'}: ${sentence}`]),
  )

const check = async (
  memories: Pick<Memories, 'read'>,
  kubernetes: Kubernetes,
  { from, to, port, method, path, allowed }: Expectation,
  sender: Sender | undefined,
  { autoAllowWaypoint, planned = new Set() }: Options,
): Promise<Pick<Expected, 'met' | 'sentence'>> => {
  const [client, target] = [from === undefined ? undefined : parseSide(from), parseSide(to)]
  for (const side of [client, target])
    if (side && !(await maySee(sender, side))) throw new Refused(403, `you may not ask about ${sideName(side)}`)
  const question: Query = {
    ...(client ? { from: client } : { address: OUTSIDE }),
    ...{ to: target, port, method, path, via: 'service', autoAllowWaypoint },
  }
  try {
    const observed = await observeForQuery(memories, kubernetes, question)
    const untaken = observed.untaken?.filter(({ condition }) => !planned.has(condition.object))
    const { request, snapshot } = buildInput(question, { ...observed, untaken })
    const decision = evaluate(request, snapshot)
    return { met: decision.decided && decision.allowed === allowed, sentence: decision.sentence }
  } catch (error) {
    if (error instanceof Refused) return { met: false, sentence: error.message.replace(/^query\.\w+: /, '') }
    throw error
  }
}
