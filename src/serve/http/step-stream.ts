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

/** The steps that this process takes, for whoever watches. */
export type StepStream = {
  publish(step: DoneStep): void
  /**
   * Server-sent events, one for each step of the namespaces, after those that came after `last`, an id, where it is given. Those of an
   * earlier process are gone: for its ids all come that are kept here. Rejects with Refused for who may not send events about all of a namespace.
   * That is asked again before steps are sent: when it is so no longer, or not known, an event of the type `end` says why, and is the last one.
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

/** The limit of watchers: each holds a connection, and the steps that it has not read. */
const MOST_WATCHERS = 20

/** The limit of unread steps of a watcher: one with more is disconnected. */
const MOST_UNREAD = 1_000

/** The limit of steps that are kept for a watcher that comes back. */
const MOST_KEPT = 200

type Watcher = {
  readonly namespaces: ReadonlySet<string>
  readonly account: Account
  readonly controller: ReadableStreamDefaultController<Uint8Array>
  /** All that is kept for it: the stream itself has no queue. */
  readonly unread: Uint8Array[]
  /** Goes on where it waits for more. */
  wake(): void
}

/** https://html.spec.whatwg.org/multipage/server-sent-events.html */
export const createStepStream = ({ connect, authenticate, clock, timeoutMilliseconds }: Dependencies): StepStream => {
  const watchers = new Set<Watcher>()
  const budget = createBudget(MOST_WATCHERS, 'as many watch as may already')
  let begun: string | undefined
  // asked for late: a start-up snapshot has no time of its own
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
  /** Names the user who may watch. Rejects as `stream`. */
  const admit = async (namespaces: Iterable<string>, authorization: string | undefined): Promise<string> => {
    const sender = await authenticate?.(connect(clock.now() + timeoutMilliseconds), authorization)
    for (const namespace of namespaces) await sender?.authorize({ namespace })
    return sender?.author.username ?? ''
  }
  /** Takes what is unread, or comes next, for who may still see it by then; for anybody else the reason why not, and nothing more. */
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
