import * as z from 'zod'
import type { Authenticate } from '../../core/access/authenticate.ts'
import type { DoneStep } from '../../core/events/handle.ts'
import { type Account, createBudget } from '../../platform/base/budget.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { Refused } from '../../platform/base/errors.ts'
import { describeIssues } from '../../platform/base/issues.ts'
import { Namespace } from '../../platform/base/names.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { failureOf } from './failure.ts'

/** The steps of this process, for watchers. */
export type StepStream = {
  publish(step: DoneStep): void
  /**
   * Streams server-sent events, one for each step in the namespaces. With the id `last`, it starts with the steps after that one. After a restart the
   * older steps are lost, so all kept ones are sent. Rejects with Refused if the sender may not send events about a whole namespace. The right is checked
   * again before steps are sent. If it is gone, or cannot be checked, an event of the type `end` gives the reason and ends the stream.
   */
  stream(query: URLSearchParams, authorization: string | undefined, last?: string | undefined): Promise<Response>
  /** Ends all streams. */
  close(): void
}

type Dependencies = {
  connect(deadline: number): Kubernetes
  authenticate?: Authenticate | undefined
  clock: Clock
  timeoutMilliseconds: number
}

const Query = z.strictObject({ namespace: z.array(Namespace).min(1, 'expected a namespace') })

/** The limit of watchers. Each holds a connection, and its unread steps. */
const MOST_WATCHERS = 20

/** The limit of unread steps. A watcher with more is disconnected. */
const MOST_UNREAD = 1_000

/** The limit of steps that are kept for watchers that reconnect. */
const MOST_KEPT = 200

type Watcher = {
  readonly namespaces: ReadonlySet<string>
  readonly account: Account
  readonly controller: ReadableStreamDefaultController<Uint8Array>
  /** The unread steps. The stream itself has no queue. */
  readonly unread: Uint8Array[]
  /** Wakes the stream if it waits for steps. */
  wake(): void
}

/** https://html.spec.whatwg.org/multipage/server-sent-events.html */
export const createStepStream = ({ connect, authenticate, clock, timeoutMilliseconds }: Dependencies): StepStream => {
  const watchers = new Set<Watcher>()
  const budget = createBudget(MOST_WATCHERS, 'too many clients watch steps already')
  let begun: string | undefined
  // determined late, because a start-up snapshot must not fix the time
  const process = () => (begun ??= clock.now().toString(36))
  let kept: { readonly number: number; readonly step: DoneStep }[] = []
  let number = 0
  const encode = (text: string) => new TextEncoder().encode(text)
  const textOf = (step: DoneStep, own: number) => `id: ${process()}-${own}\ndata: ${JSON.stringify(step)}\n\n`
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
  /** Names the user, if they may watch. Rejects as `stream` does. */
  const admit = async (namespaces: Iterable<string>, authorization: string | undefined): Promise<string> => {
    const sender = await authenticate?.(connect(clock.now() + timeoutMilliseconds), authorization)
    for (const namespace of namespaces) await sender?.authorize({ namespace })
    return sender?.author.username ?? ''
  }
  /** Takes the unread steps, or waits for the next ones. If the user may no longer see them, it returns the reason instead, and ends the stream. */
  const takeUnread = async (watcher: Watcher, authorization: string | undefined): Promise<Uint8Array[]> => {
    const { namespaces, unread } = watcher
    if (unread.length === 0 && watchers.has(watcher))
      await new Promise<void>((resolve) => {
        watcher.wake = resolve
      })
    try {
      if (unread.length > 0) await admit(namespaces, authorization)
      return unread.splice(0)
    } catch (error) {
      leave(watcher)
      return [encode(`event: end\ndata: ${failureOf(error).body}\n\n`)]
    }
  }
  const send = async (watcher: Watcher, authorization: string | undefined): Promise<void> => {
    for (const part of await takeUnread(watcher, authorization)) watcher.controller.enqueue(part)
    if (!watchers.has(watcher)) watcher.controller.close()
  }
  return {
    publish: (step) => {
      number += 1
      kept = [...kept.slice(1 - MOST_KEPT), { number, step }]
      const part = encode(textOf(step, number))
      for (const watcher of [...watchers].filter(({ namespaces }) => namespaces.has(step.namespace ?? ''))) {
        watcher.unread.push(part)
        watcher.wake()
        if (watcher.unread.length > MOST_UNREAD) drop(watcher)
      }
    },
    stream: async (query, authorization, last) => {
      const { namespace: _, ...others } = Object.fromEntries(query)
      const parsed = Query.safeParse({ ...others, namespace: query.getAll('namespace') })
      if (!parsed.success) throw new Refused(400, `query: ${describeIssues(parsed.error)}`)
      const namespaces = new Set(parsed.data.namespace)
      const account = budget.open(await admit(namespaces, authorization))
      account.keep(1)
      const missed = missedSince(last).filter(({ step }) => namespaces.has(step.namespace ?? ''))
      const texts = [': steps follow\n\n', ...missed.map(({ step, number: own }) => textOf(step, own))]
      const unread = texts.map(encode)
      let watcher: Watcher | undefined
      const body = new ReadableStream<Uint8Array>(
        {
          start: (controller) => {
            watcher = { namespaces, account, controller, unread, wake: () => undefined }
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
      for (const watcher of watchers) leave(watcher)
    },
  }
}
