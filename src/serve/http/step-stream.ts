import * as z from 'zod'
import type { createAnswerQuery } from '../../ask/views/answer-query.ts'
import type { Sender } from '../../core/access/authenticate.ts'
import { maySee } from '../../core/access/visibility.ts'
import type { DoneStep } from '../../core/events/handle.ts'
import { type Account, createBudget } from '../../platform/base/budget.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { Unavailable } from '../../platform/base/errors.ts'
import { createExpiringCache, type ExpiringCache } from '../../platform/base/expiring-cache.ts'
import { parseInput } from '../../platform/base/issues.ts'
import { Namespace } from '../../platform/base/names.ts'
import { failureOf } from './failure.ts'

/** The steps of this process, for watchers. */
export type StepStream = {
  publish(step: DoneStep): void
  /**
   * Streams server-sent events, one for each step in the namespaces. Without a namespace, it streams the steps of all namespaces about which the sender may
   * send events, and leaves out all others. With the id `last`, it starts with the steps after that one. After a restart the older steps are lost, so all
   * kept ones are sent. Rejects with Refused if the sender may not send events about a whole named namespace. The right is checked again before steps are
   * sent. If that of a named one is gone, or one cannot be checked, an event of the type `end` gives the reason and ends the stream.
   */
  stream(query: URLSearchParams, authorization: string | undefined, last?: string | undefined): Promise<Response>
  /** Ends all streams. A later one is refused with Unavailable, because it would keep the process from its end. */
  close(): void
}

type Dependencies = Parameters<typeof createAnswerQuery>[0] & { clock: Clock }

const Query = z.strictObject({ namespace: z.array(Namespace) })

/** The limit of watchers. Each holds a connection, and its unread steps. */
const MOST_WATCHERS = 20

/** The limit of unread steps. A watcher with more is disconnected. */
const MOST_UNREAD = 1_000

/** The limit of steps that are kept for watchers that reconnect. */
const MOST_KEPT = 200

type Watcher = {
  /** The named namespaces. Empty for all that the user may see. */
  readonly namespaces: ReadonlySet<string>
  readonly account: Account
  readonly controller: ReadableStreamDefaultController<Uint8Array>
  /** The unread steps. The stream itself has no queue. */
  readonly unread: Part[]
  /** Tells of namespaces that the user may not see. Grants are cached elsewhere. */
  readonly refused: ExpiringCache<boolean>
  /** Wakes the stream if it waits for steps. */
  wake(): void
}

/** A text of the stream. One without a namespace is for everybody. */
type Part = { readonly namespace?: string; readonly text: string }

/** https://html.spec.whatwg.org/multipage/server-sent-events.html */
export const createStepStream = ({ connect, authenticate, clock, timeoutMilliseconds }: Dependencies): StepStream => {
  const watchers = new Set<Watcher>()
  let isClosed = false
  const budget = createBudget(MOST_WATCHERS, 'too many clients watch steps already')
  let begun: string | undefined
  // determined late, because a start-up snapshot must not fix the time
  const process = () => (begun ??= clock.now().toString(36))
  let kept: { readonly number: number; readonly step: DoneStep }[] = []
  let number = 0
  const encode = (text: string) => new TextEncoder().encode(text)
  const partsOf = (namespaces: ReadonlySet<string>, { number: own, step }: (typeof kept)[number]): Part[] => {
    const { namespace } = step
    if (namespace === undefined || (namespaces.size > 0 && !namespaces.has(namespace))) return []
    return [{ namespace, text: `id: ${process()}-${own}\ndata: ${JSON.stringify(step)}\n\n` }]
  }
  const missedSince = (last: string | undefined) => {
    if (last === undefined) return []
    const [own, seen] = last.split('-')
    return own === process() ? kept.filter((one) => one.number > Number(seen)) : kept
  }
  const leave = (watcher: Watcher): void => {
    watchers.delete(watcher)
    watcher.account.close()
    watcher.wake()
  }
  const drop = (watcher: Watcher): void => {
    watcher.unread.length = 0
    watcher.controller.error(new Error(`a watcher has not read more than ${MOST_UNREAD} steps`))
    leave(watcher)
  }
  /** Identifies the user, if they may watch. Rejects as `stream` does. */
  const admit = async (
    namespaces: Iterable<string>,
    authorization: string | undefined,
  ): Promise<Sender | undefined> => {
    const sender = await authenticate?.(connect(clock.now() + timeoutMilliseconds), authorization)
    for (const namespace of namespaces) await sender?.authorize({ namespace })
    return sender
  }
  const hasMore = (watcher: Watcher): boolean => watchers.has(watcher) || watcher.unread.length > 0
  /** Takes the unread steps that the user may see. Without unread steps it waits for the next ones. */
  const takeUnread = async (watcher: Watcher, authorization: string | undefined): Promise<string[]> => {
    if (watcher.unread.length === 0)
      await new Promise<void>((resolve) => {
        watcher.wake = resolve
      })
    if (watcher.unread.length === 0) return []
    return await visibleTo(watcher, await admit(watcher.namespaces, authorization))
  }
  /** Takes steps until the user may see some. If that cannot be checked, or not any more, it returns the reason instead, and ends the stream. */
  const takeVisible = async (watcher: Watcher, authorization: string | undefined): Promise<string[]> => {
    let texts: string[] = []
    try {
      while (texts.length === 0 && hasMore(watcher)) texts = await takeUnread(watcher, authorization)
      return texts
    } catch (error) {
      watcher.unread.length = 0
      leave(watcher)
      return [`event: end\ndata: ${failureOf(error).body}\n\n`]
    }
  }
  const send = async (watcher: Watcher, authorization: string | undefined): Promise<void> => {
    for (const text of await takeVisible(watcher, authorization)) watcher.controller.enqueue(encode(text))
    if (!hasMore(watcher)) watcher.controller.close()
  }
  return {
    publish: (step) => {
      number += 1
      const one = { number, step }
      kept = [...kept.slice(1 - MOST_KEPT), one]
      for (const watcher of watchers) {
        watcher.unread.push(...partsOf(watcher.namespaces, one))
        watcher.wake()
        if (watcher.unread.length > MOST_UNREAD) drop(watcher)
      }
    },
    stream: async (query, authorization, last) => {
      const { namespace: _, ...others } = Object.fromEntries(query)
      const asked = parseInput(Query, { ...others, namespace: query.getAll('namespace') }, 'query')
      const namespaces = new Set(asked.namespace)
      const sender = await admit(namespaces, authorization)
      if (isClosed) throw new Unavailable('this process is stopping: another one has the steps')
      const account = budget.open(sender?.author.username ?? '')
      account.keep(1)
      const missed = missedSince(last).flatMap((one) => partsOf(namespaces, one))
      const unread = [{ text: ': steps follow\n\n' }, ...missed]
      const refused = createExpiringCache<boolean>(clock)
      let watcher: Watcher | undefined
      const body = new ReadableStream<Uint8Array>(
        {
          start: (controller) => {
            watcher = { namespaces, account, controller, unread, refused, wake: () => undefined }
            watchers.add(watcher)
          },
          pull: async () => watcher && (await send(watcher, authorization)),
          cancel: () => watcher && leave(watcher),
        },
        { highWaterMark: 0 },
      )
      return new Response(body, { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' } })
    },
    close: () => {
      isClosed = true
      for (const watcher of watchers) leave(watcher)
    },
  }
}

/** Takes the unread steps that the sender may see. The rights to named namespaces are checked already. */
const visibleTo = async ({ namespaces, unread, refused }: Watcher, sender: Sender | undefined): Promise<string[]> => {
  const isRefused = async (namespace: string | undefined): Promise<boolean> =>
    sender !== undefined &&
    namespace !== undefined &&
    !namespaces.has(namespace) &&
    (await refused(namespace, async () => !(await maySee(sender, { namespace })), Boolean))
  const texts: string[] = []
  for (const { namespace, text } of unread.splice(0)) if (!(await isRefused(namespace))) texts.push(text)
  return texts
}
