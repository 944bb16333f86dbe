import * as z from 'zod'
import type { Authenticate } from '../access/authorize.ts'
import type { Clock } from '../base/clock.ts'
import { Refused, Unavailable } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { Namespace } from '../base/names.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import type { DoneStep } from '../reconcile/handle.ts'

/** The steps that this process takes, for whoever watches. */
export type Steps = {
  publish(step: DoneStep): void
  /** Server-sent events, one for each step of a namespace. Rejects with Refused for who may not send events about all of it. */
  stream(query: URLSearchParams, authorization: string | undefined): Promise<Response>
  /** Ends all streams. */
  close(): void
}

type Dependencies = {
  connect(deadline: number): Kubernetes
  authenticate?: Authenticate | undefined
  clock: Clock
  timeoutMilliseconds: number
}

/** Logs a step, whatever caused it, and what it repaired. */
export const logStep = (log: Log, { time: _, ...step }: DoneStep): void => {
  log.info(step, 'step done')
  const { namespace, application, drift } = step
  if (drift) log.warn({ namespace, application, drift }, 'drift repaired')
}

const Query = z.strictObject({ namespace: Namespace })

/** The limit of watchers: each holds a connection, and the steps that it has not read. */
const MOST_WATCHERS = 20

/** The limit of unread steps: a watcher with more is disconnected. */
const MOST_WAITING = 1_000

type Watcher = { readonly namespace: string; readonly controller: ReadableStreamDefaultController<Uint8Array> }

/** https://html.spec.whatwg.org/multipage/server-sent-events.html */
export const createSteps = ({ connect, authenticate, clock, timeoutMilliseconds }: Dependencies): Steps => {
  const watchers = new Set<Watcher>()
  const encode = (text: string) => new TextEncoder().encode(text)
  const end = (watcher: Watcher): void => {
    watchers.delete(watcher)
    watcher.controller.close()
  }
  return {
    publish: (step) => {
      for (const watcher of [...watchers].filter(({ namespace }) => namespace === step.namespace)) {
        watcher.controller.enqueue(encode(`data: ${JSON.stringify(step)}\n\n`))
        if ((watcher.controller.desiredSize ?? 0) < -MOST_WAITING) end(watcher)
      }
    },
    stream: async (query, authorization) => {
      const parsed = Query.safeParse(Object.fromEntries(query))
      if (!parsed.success) throw new Refused(400, `query: ${z.prettifyError(parsed.error).replaceAll('\n', ' ')}`)
      const { namespace } = parsed.data
      const kubernetes = connect(clock.now() + timeoutMilliseconds)
      await (await authenticate?.(kubernetes, authorization))?.authorize({ namespace })
      if (watchers.size >= MOST_WATCHERS)
        throw new Unavailable(`${watchers.size} others watch already`, { status: 429 })
      let watcher: Watcher | undefined
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          watcher = { namespace, controller }
          watchers.add(watcher)
          controller.enqueue(encode(': steps follow\n\n'))
        },
        cancel: () => {
          if (watcher) watchers.delete(watcher)
        },
      })
      return new Response(body, { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' } })
    },
    close: () => {
      for (const watcher of watchers) end(watcher)
    },
  }
}
