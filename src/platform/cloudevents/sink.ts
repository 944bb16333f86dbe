import { existsSync } from 'node:fs'
import { changingFile } from '../base/changing-file.ts'
import type { Clock } from '../base/clock.ts'
import { ConfigurationError, Unavailable } from '../base/errors.ts'
import { type SendHttpRequest, sendHttpRequest } from '../base/http-request.ts'
import { type Event, writeEvent } from './cloud-event.ts'
import { parseSource } from './source.ts'
import { traceOf } from './trace.ts'

/**
 * Sends an event to the sink. Rejects with Unavailable if the sink has not accepted it by the deadline, in milliseconds since the epoch,
 * and with ConfigurationError if it never will.
 */
export type SendEvent = (event: Event, deadline: number) => Promise<void>

type Options = {
  sink: string
  clock: Clock
  /** The path of the token that Knative's SinkBinding mounts for a sink that requires one. The token rotates. */
  tokenFile?: string
  send?: SendHttpRequest
}

const FIRST_DELAY_MILLISECONDS = 100

/** Creates a client of the sink: a URL that takes CloudEvents in binary mode over HTTP, like Knative's K_SINK. */
export const createSink = ({ sink, clock, tokenFile = '/oidc/token', send = sendHttpRequest }: Options): SendEvent => {
  // mounts exist before the process starts, so one check avoids an exception for each event
  const readToken = existsSync(tokenFile) ? changingFile(tokenFile) : undefined
  const authorization = (): Record<string, string> => {
    const token = readToken && orNothing(readToken)
    return token === undefined ? {} : { authorization: `Bearer ${token.trim()}` }
  }
  return async (event, deadline) => {
    const { headers, body } = writeEvent(event)
    const url = sinkFor(sink, event)
    const attempt = async (): Promise<string | undefined> => {
      const response = await send(url, {
        method: 'POST',
        headers: { ...traceOf(event), ...headers, ...authorization() },
        body,
        timeoutMilliseconds: deadline - clock.now(),
      }).catch((error: Error) => error)
      if (response instanceof Error) return `did not answer: ${response.message}`
      if (response.status >= 200 && response.status < 300) return undefined
      const answer = describeAnswer(response)
      if (isRefusal(response.status))
        throw new ConfigurationError(`The sink ${url} refused ${event.type} for ${event.subject}: it ${answer}`)
      return answer
    }
    for (let delay = FIRST_DELAY_MILLISECONDS; ; delay *= 2) {
      const problem = await attempt()
      if (problem === undefined) return
      const wait = delay * (0.5 + clock.random())
      if (clock.now() + wait >= deadline)
        throw new Unavailable(`The sink ${url} did not accept ${event.type} for ${event.subject}: it ${problem}`)
      await clock.sleep(wait)
    }
  }
}

/** Reads a token. An unreadable one is left out: the sink's answer then reports what it requires. */
const orNothing = (read: () => string): string | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** Describes an answer: its status, the target of a redirect, and the beginning of the body. */
const describeAnswer = ({ status, headers: { location }, body }: Awaited<ReturnType<SendHttpRequest>>): string => {
  const target = location === undefined ? '' : ` (to ${location.slice(0, 200)})`
  return `answered ${status}${target}: ${body.slice(0, 200).trim()}`
}

/**
 * Tells if the sink will never accept the event: no hop of Knative retries after such a status
 * (https://github.com/knative/specs/blob/main/specs/eventing/data-plane.md). A redirect is a wrong setting, not a wrong event.
 */
const isRefusal = (status: number): boolean => status >= 400 && status < 500 && ![404, 408, 409, 429].includes(status)

/**
 * Returns the broker of an event's namespace, because only a namespace's own functions act in it. The path of a Knative broker has the
 * namespace as a segment. Any other sink takes the events of all namespaces.
 */
const sinkFor = (sink: string, { source, subject }: Event): string => {
  const from = parseSource(source)?.namespace
  const to = subject?.split('/')[0]
  if (from === undefined || to === undefined || from === to) return sink
  const url = new URL(sink)
  url.pathname = url.pathname
    .split('/')
    .map((segment) => (segment === from ? to : segment))
    .join('/')
  return url.href
}
