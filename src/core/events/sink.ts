import { existsSync } from 'node:fs'
import { changingFile } from '../../platform/base/changing-file.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { ConfigurationError, Unavailable } from '../../platform/base/errors.ts'
import { type SendHttpRequest, sendHttpRequest } from '../../platform/base/http-request.ts'
import { type Event, writeEvent } from '../../platform/cloudevents/cloud-event.ts'
import { parseSource } from '../../platform/cloudevents/source.ts'
import { traceOf } from '../../platform/cloudevents/trace.ts'

/**
 * Sends an event to the sink. Rejects with Unavailable when the sink has not accepted it by the deadline, in milliseconds since the
 * epoch, and with ConfigurationError when it never will.
 */
export type SendEvent = (event: Event, deadline: number) => Promise<void>

type Options = {
  sink: string
  clock: Clock
  /** The path at which Knative's SinkBinding mounts a token for a sink that asks for one; it rotates. */
  tokenFile?: string
  send?: SendHttpRequest
}

const FIRST_DELAY_MILLISECONDS = 100

/** A sink is a URL that takes CloudEvents in binary mode over HTTP, as Knative's K_SINK does. */
export const createSink = ({ sink, clock, tokenFile = '/oidc/token', send = sendHttpRequest }: Options): SendEvent => {
  // what is mounted is there before the process is; an exception for each event would cost more than the look
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
        timeoutMilliseconds: Math.max(1, deadline - clock.now()),
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

/** A token that cannot be read is as good as none: the sink says what it asks for. */
const orNothing = (read: () => string): string | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** A status and where it redirects to, if anywhere, with the beginning of the body. */
const describeAnswer = ({ status, headers: { location }, body }: Awaited<ReturnType<SendHttpRequest>>): string => {
  const target = location === undefined ? '' : ` (to ${location.slice(0, 200)})`
  return `answered ${status}${target}: ${body.slice(0, 200).trim()}`
}

/**
 * Tells if the sink will never accept the event: no hop of Knative sends again after such a status
 * (https://github.com/knative/specs/blob/main/specs/eventing/data-plane.md). A redirect says that a setting is wrong, not the event.
 */
const isRefusal = (status: number): boolean => status >= 400 && status < 500 && ![404, 408, 409, 429].includes(status)

/**
 * The broker of the namespace that an event is for: nobody acts in a namespace but its own functions. Knative's brokers have their namespace as a
 * segment of the path; a sink of another form takes the events for all namespaces.
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
