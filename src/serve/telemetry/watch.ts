import {
  type Attributes,
  defaultTextMapGetter,
  defaultTextMapSetter,
  type Histogram,
  INVALID_SPAN_CONTEXT,
  type Meter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace as traceApi,
} from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import type { Handled } from '../../core/reconcile/outcome.ts'
import type { Trace } from '../../platform/base/trace.ts'
import type { Event } from '../../platform/cloudevents/cloud-event.ts'
import { traceOf } from '../../platform/cloudevents/trace.ts'
import type { TransportRequest } from '../../platform/kubernetes/client.ts'
import type { Telemetry } from './telemetry.ts'

/** Boundaries in seconds, from a fast answer of the API server to the time limit of an event. */
const BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20]

/**
 * Reports events, steps, publications and calls by the names of events, applications and objects, and by outcome. It reports no messages, event data or
 * object contents, because these may be secret.
 */
export const createWatching = (tracer: Tracer, meter: Meter): Omit<Telemetry, 'stop'> => {
  const duration = (name: string, description: string): Histogram =>
    meter.createHistogram(name, { unit: 's', description, advice: { explicitBucketBoundaries: BOUNDARIES } })
  const events = duration('meshstep.event.duration', 'From the arrival of an event to its answer')
  const steps = duration('meshstep.step.duration', 'Steps by function and status')
  const calls = duration('meshstep.api.call.duration', 'Calls of the API server, each attempt')
  const publications = duration('meshstep.publication.duration', 'Events handed to the sink, with all attempts')
  const conflicts = meter.createCounter('meshstep.conflicts', { description: 'Labels and objects that others hold' })
  const retries = meter.createCounter('meshstep.api.retries', { description: 'Calls of the API server made again' })

  type Watched<T> = {
    kind: SpanKind
    attributes: Attributes
    /** Without a parent there is no span. */
    parent: Trace | undefined
    histogram: Histogram
    /** The outcome, on the span and on the measurement. It has few possible values. */
    outcome(result: T): Attributes
  }

  /** Runs the work, with the trace that it passes on. That is the trace of its own span, or the incoming one if there is no span. */
  const watched = async <T>(
    name: string,
    { kind, attributes, parent, histogram, outcome }: Watched<T>,
    work: (trace: Trace, span: Span) => Promise<T>,
  ): Promise<T> => {
    const started = performance.now()
    const span = parent
      ? tracer.startSpan(name, { kind, attributes }, propagator.extract(ROOT_CONTEXT, parent, defaultTextMapGetter))
      : traceApi.wrapSpanContext(INVALID_SPAN_CONTEXT)
    const end = (how: Attributes): void => {
      histogram.record((performance.now() - started) / 1_000, how)
      span.setAttributes(how).end()
    }
    try {
      const result = await work(traceIn(span), span)
      end(outcome(result))
      return result
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR })
      end({ 'error.type': errorType(error) })
      throw error
    }
  }

  return {
    handle: (handle) => (event, delivery) =>
      watched(
        `event ${shortType(event)}`,
        {
          kind: SpanKind.CONSUMER,
          attributes: attributesOf(event),
          parent: traceOf(event),
          histogram: events,
          outcome: ({ status }) => ({ 'meshstep.status': status }),
        },
        (trace) => handle(withTrace(event, trace), delivery),
      ),

    watch: (event, take) =>
      watched(
        `step ${shortType(event)}`,
        {
          kind: SpanKind.INTERNAL,
          attributes: attributesOf(event),
          parent: traceOf(event),
          histogram: steps,
          outcome: ({ handled }) => ({
            ...(handled.function !== undefined && { 'meshstep.function': handled.function }),
            'meshstep.status': handled.status,
          }),
        },
        async (trace, span) => {
          const taken = await take(withTrace(event, trace))
          span.setAttributes(detailsOf(taken.handled))
          conflicts.add(taken.handled.conflicts.length)
          return taken
        },
      ),

    publish: (publish) => (event, deadline) =>
      watched(
        `publish ${shortType(event)}`,
        {
          kind: SpanKind.PRODUCER,
          attributes: attributesOf(event),
          parent: traceOf(event),
          histogram: publications,
          outcome: () => ({}),
        },
        (trace) => publish(withTrace(event, trace), deadline),
      ),

    transport: (transport) => async (request) => {
      const { method, headers, resends = 0 } = request
      const { resource, ...about } = objectOf(request)
      if (resends > 0) retries.add(1, { 'http.request.method': method, 'meshstep.resource': resource })
      return await watched(
        `${method} ${resource}`,
        {
          kind: SpanKind.CLIENT,
          attributes: { ...about, ...(resends > 0 && { 'http.request.resend_count': resends }) },
          parent: 'traceparent' in headers ? headers : undefined,
          histogram: calls,
          outcome: ({ status }) => ({
            ...{ 'http.request.method': method, 'meshstep.resource': resource },
            'http.response.status_code': status,
          }),
        },
        async (trace, span) => {
          const answer = await transport({ ...request, headers: { ...headers, ...trace } })
          if (isFailure(answer.status)) span.setStatus({ code: SpanStatusCode.ERROR })
          return answer
        },
      )
    },
  }
}

const propagator = new W3CTraceContextPropagator()

const traceIn = (span: Span): Trace => {
  const trace: Record<string, string> = {}
  propagator.inject(traceApi.setSpan(ROOT_CONTEXT, span), trace, defaultTextMapSetter)
  return trace
}

const withTrace = (event: Event, trace: Trace): Event => ({ ...event, extensions: { ...event.extensions, ...trace } })

/** Shortens `dev.meshstep.relation-changed.v1` to `relation-changed`. */
const shortType = ({ type }: Event): string => type.replace(/^dev\.meshstep\.(.*)\.v1$/, '$1').slice(0, LONGEST_NAME)

const LONGEST_NAME = 100

/** https://opentelemetry.io/docs/specs/semconv/registry/attributes/cloudevents/ */
const attributesOf = ({ id, source, type, subject, extensions: { causationid } }: Event): Attributes => ({
  ...{ 'cloudevents.event_id': id, 'cloudevents.event_source': source, 'cloudevents.event_type': type },
  ...(subject !== undefined && { 'cloudevents.event_subject': subject }),
  ...(causationid !== undefined && { 'meshstep.causation_id': causationid }),
})

const detailsOf = ({ namespace, application, written, conflicts }: Handled): Attributes => ({
  ...(namespace !== undefined && { 'k8s.namespace.name': namespace }),
  ...(application !== undefined && { 'meshstep.application': application }),
  ...{ 'meshstep.written': written.length, 'meshstep.conflicts': conflicts.length },
})

const PATH =
  /^\/apis?\/(?:[^/]+\/)?v\d[^/]*\/(?:namespaces\/(?<namespace>[^/?]+)\/)?(?<resource>[^/?]+)(?:\/(?<name>[^/?]+))?/

const objectOf = ({ path }: TransportRequest): Attributes & { resource: string } => {
  const { namespace, resource = 'other', name } = PATH.exec(path)?.groups ?? {}
  return {
    resource,
    ...(namespace !== undefined && { 'k8s.namespace.name': namespace }),
    ...(name !== undefined && { 'meshstep.object': name }),
  }
}

/** Tells if a status is a failure. A step expects missing objects and lost races. */
const isFailure = (status: number): boolean => status >= 400 && status !== 404 && status !== 409

/** Returns the class or the code of an error, never its message. */
const errorType = (error: unknown): string => {
  if (!(error instanceof Error)) return 'Error'
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' ? code : error.name
}
