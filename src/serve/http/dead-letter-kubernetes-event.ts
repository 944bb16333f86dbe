import { createHash } from 'node:crypto'
import * as z from 'zod'
import { memoryName } from '../../core/state/memory.ts'
import { Application, Namespace } from '../../platform/base/names.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { Event } from '../../platform/cloudevents/cloud-event.ts'
import { fromKnative, isFromKnative } from '../../platform/cloudevents/knative/knative.ts'
import { microTime, shortened } from '../../platform/kubernetes/event-fields.ts'
import { apiVersionOf, type KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { keptLetter } from './dead-letter-records.ts'

export const MANAGER = 'meshstep-dead-letter'

/**
 * Builds the Kubernetes Event for a dead letter, on the memory of its application. Returns undefined if the event names no application. The name is a
 * digest of the content, so that a repetition finds the same object. The object keeps the CloudEvent, so that it can be sent again.
 */
export const deadLetterKubernetesEvent = (
  event: Event,
  reason: string | undefined,
  now: Date,
): KubernetesObject | undefined => {
  const subject = subjectIn(event)
  if (subject === undefined) return undefined
  const { type, id, source } = event
  const annotations = keptLetter(event)
  const note = `${type} ${id} of ${source} was not delivered: ${reason ?? 'no reason was told'}`
  // all versions of a document share one Kubernetes Event
  const told = isFromKnative(event) ? [type, source, event.subject, event.extensions.name, reason].join('\n') : note
  const digest = createHash('sha256').update(told).digest('hex').slice(0, 16)
  const name = memoryName(subject.application)
  return {
    apiVersion: apiVersionOf('Event'),
    kind: 'Event',
    metadata: { name: `${name}.${digest}`, namespace: subject.namespace, ...(annotations && { annotations }) },
    eventTime: microTime(now),
    type: 'Warning',
    reason: 'DeadLetter',
    action: 'Deliver',
    note: shortened(note.replaceAll(/\p{Cc}+/gu, ' ')),
    regarding: { apiVersion: 'v1', kind: 'ConfigMap', namespace: subject.namespace, name },
    reportingController: 'meshstep.dev/dead-letter',
    reportingInstance: MANAGER,
  }
}

const About = z.object({ namespace: Namespace, application: Application })

const subjectIn = (event: Event): Subject | undefined => {
  const { subject, data } = isFromKnative(event) ? translated(event) : event
  const [namespace, application] = subject?.split('/') ?? []
  const fields = typeof data === 'object' && !(data instanceof Uint8Array) ? data : {}
  return About.safeParse({ namespace, application, ...fields }).data
}

/**
 * Translates an event of Knative only as far as its application. A document is treated as deleted, because the rest of its content may be the reason for
 * the dead letter.
 */
const translated = (event: Event): Partial<Event> => {
  const { kind } = z.looseObject({ kind: z.string() }).catch({ kind: '' }).parse(event.data)
  const type = kind === 'ConfigMap' ? event.type.replace(/\.(add|update)$/, '.delete') : event.type
  try {
    const own = fromKnative({ ...event, type })
    return 'ignored' in own ? {} : own
  } catch {
    return {} // it names no readable application
  }
}
