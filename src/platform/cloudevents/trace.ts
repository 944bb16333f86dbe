import { ownValue } from '../base/own-value.ts'
import type { Trace } from '../base/trace.ts'
import type { Event } from './cloud-event.ts'

const NAMES = ['traceparent', 'tracestate'] as const

/** As long as a tracestate has to be handed on: https://www.w3.org/TR/trace-context/#tracestate-limits */
const IN_HEADER = /^[!-~][ -~]{0,511}$/

/** The trace that an event is part of; empty where it is part of none. */
export const traceOf = ({ extensions }: Pick<Event, 'extensions'>): Trace => tracesIn(extensions)

/** The event with the trace of the request that brought it, where it has none of its own. */
export const withTraceOf = (event: Event, headers: Readonly<Record<string, string>>): Event =>
  event.extensions.traceparent === undefined
    ? { ...event, extensions: { ...event.extensions, ...tracesIn(headers) } }
    : event

/** The extensions of an event that follows from `cause`: https://github.com/cloudevents/spec/blob/main/cloudevents/extensions/correlation.md */
export const causedBy = (cause: Event): Record<string, string> => ({
  ...tracesIn(cause.extensions),
  causationid: cause.id,
  correlationid: ownValue(cause.extensions, 'correlationid') ?? cause.id,
})

const tracesIn = (values: Readonly<Record<string, string>>): Trace =>
  Object.fromEntries(
    NAMES.flatMap((name) => {
      const value = ownValue(values, name)
      return value !== undefined && IN_HEADER.test(value) ? [[name, value] as const] : []
    }),
  )
