import { ownValue } from '../base/own-value.ts'
import type { Trace } from '../base/trace.ts'
import type { Event } from './cloud-event.ts'

const NAMES = ['traceparent', 'tracestate'] as const

/** The limit is the length of a tracestate that must be passed on: https://www.w3.org/TR/trace-context/#tracestate-limits. */
const IN_HEADER = /^[!-~][ -~]{0,511}$/

/** Returns the trace context of an event, or an empty object without one. */
export const traceOf = ({ extensions }: Pick<Event, 'extensions'>): Trace => tracesIn(extensions)

/** Adds the trace context of the request to an event without its own. */
export const withTraceOf = (event: Event, headers: Readonly<Record<string, string>>): Event =>
  event.extensions.traceparent === undefined
    ? { ...event, extensions: { ...event.extensions, ...tracesIn(headers) } }
    : event

/** Returns the extensions for an event that follows from `cause`: https://github.com/cloudevents/spec/blob/main/cloudevents/extensions/correlation.md. */
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
