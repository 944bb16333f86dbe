import { createHash } from 'node:crypto'
import type { Sender } from '../../core/access/authenticate.ts'
import { maySee } from '../../core/access/visibility.ts'
import type { Feedback } from '../../core/events/handle.ts'
import type { Handled } from '../../core/reconcile/outcome.ts'
import { memoryName } from '../../core/state/memory.ts'
import { createBoundedMap } from '../../platform/base/bounded-map.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { Refused } from '../../platform/base/errors.ts'
import type { Log } from '../../platform/base/log.ts'
import type { Trace } from '../../platform/base/trace.ts'
import { type Event, InvalidEvent } from '../../platform/cloudevents/cloud-event.ts'
import { traceOf } from '../../platform/cloudevents/trace.ts'
import { isVersionConflict } from '../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { microTime, shortened } from '../../platform/kubernetes/event-fields.ts'
import { recordEvent } from '../../platform/kubernetes/event-series.ts'
import { apiVersionOf, type Kind, type KubernetesObject } from '../../platform/kubernetes/objects.ts'

type Dependencies = {
  connect(deadline: number, trace?: Trace): Kubernetes
  clock: Clock
  log: Log
}

type Counted = { at: number; met: number }

type Told = { readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly note: string }

const MANAGER = 'meshstep'

/** The time that a step waits for its Event to be written. */
const MILLISECONDS = 2_000

/** The time between two writes of one Event. The API server forgets an Event an hour after the last write. */
const QUIET_MILLISECONDS = 10 * 60 * 1_000
const MOST_KEPT = 1_000

/**
 * Creates feedback that reports each message as one Event, named by the hash of its content. Repetitions are counted in its series, which
 * all processes together write at most once in ten minutes. If a process ends, the repetitions that it has not written are lost.
 */
export const createFeedback = ({ connect, clock, log }: Dependencies): Feedback => {
  /** For each message, the time of its last report and the repetitions since. */
  const told = createBoundedMap<Counted>(MOST_KEPT)

  /** Counts a message. Undefined if it was reported recently. */
  const count = (digest: string): Counted | undefined => {
    const known = told.get(digest) ?? { at: Number.NEGATIVE_INFINITY, met: 0 }
    known.met += 1
    if (clock.now() - known.at < QUIET_MILLISECONDS) return undefined
    known.at = clock.now()
    told.set(digest, known, 1)
    return known
  }

  const tell = async (
    namespace: string,
    regarding: Regarding,
    { type, reason, note }: Told,
    trace: Trace,
  ): Promise<void> => {
    const digest = createHash('sha256')
      .update(JSON.stringify([namespace, regarding, reason, note]))
      .digest('hex')
    const counted = count(digest)
    if (!counted) return
    const { met } = counted
    const kubernetes = connect(clock.now() + MILLISECONDS, trace)
    const now = new Date(clock.now())
    try {
      const object = await objectOf(kubernetes, namespace, regarding)
      const event = {
        apiVersion: apiVersionOf('Event'),
        kind: 'Event',
        metadata: { name: `${object.name}.${digest.slice(0, 16)}`, namespace },
        eventTime: microTime(now),
        ...{ type, reason, action: 'Reconcile', note: shortened(note.replaceAll(/\p{Cc}+/gu, ' ')) },
        regarding: { ...object, namespace },
        reportingController: 'meshstep.dev/functions',
        reportingInstance: MANAGER,
      }
      const occurrence = { manager: MANAGER, now, met, quietMilliseconds: QUIET_MILLISECONDS }
      if (await recordEvent(kubernetes, event, occurrence)) counted.met -= met
    } catch (error) {
      // another process has reported it meanwhile
      if (!isVersionConflict(error))
        log.warn({ namespace, reason, problem: (error as Error).message }, 'Event not written')
    }
  }

  /** Tells if the sender may send events for the whole namespace, and so about any object of it. False if the check fails. */
  const maySpeakOf = async (sender: Sender | undefined, namespace: string): Promise<boolean> => {
    try {
      return await maySee(sender, { namespace })
    } catch (error) {
      log.warn({ namespace, problem: (error as Error).message }, 'Event not written')
      return false
    }
  }

  return {
    stepped: async (event, handled, sender) => {
      const { namespace, application } = handled
      const news = newsOf(handled)
      if (namespace === undefined || application === undefined || news === undefined) return
      const about = documentOf(event) && namesOf(event)
      const isDocuments = about?.namespace === namespace && (await maySpeakOf(sender, namespace))
      await tell(namespace, isDocuments ? about : { application }, news, traceOf(event))
    },
    refused: async (event, error, sender) => {
      const about = namesOf(event)
      if (about === undefined || !isOwnFault(event, error) || !(await maySpeakOf(sender, about.namespace))) return
      const { namespace, ...regarding } = about
      const told = { type: 'Warning', reason: 'Refused', note: (error as Error).message } as const
      await tell(namespace, regarding, told, traceOf(event))
    },
  }
}

/** Tells if the event itself is invalid, or exceeds the rights of its document's author. Rights of the sender and the state of the cluster do not count. */
const isOwnFault = (event: Event, error: unknown): boolean =>
  error instanceof InvalidEvent ||
  (error instanceof Refused && [400, 413, ...(documentOf(event) ? [403] : [])].includes(error.status))

/** Returns the worst finding of a step. Undefined if nobody has to act. */
const newsOf = ({ status, conflicts, messages, applicationStatus }: Handled): Told | undefined => {
  if (conflicts.length > 0) {
    const names = conflicts.map((one) => `${one.object}${'key' in one ? ` ${one.key}` : ''} is held by ${one.manager}`)
    return { type: 'Warning', reason: 'Conflict', note: names.join('; ') }
  }
  if (applicationStatus?.status === 'blocked')
    return { type: 'Warning', reason: 'Blocked', note: applicationStatus.message }
  return status === 'waiting' ? { type: 'Normal', reason: 'Waiting', note: messages.join('; ') } : undefined
}

/** A document by its name, or an application by its workload. */
type Regarding = { readonly document: string } | { readonly application: string }

const documentOf = ({ extensions }: Event): Regarding | undefined =>
  extensions.kind === 'ConfigMap' && extensions.name !== undefined ? { document: extensions.name } : undefined

const NAME = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/

const namesOf = (event: Event): ({ readonly namespace: string } & Regarding) | undefined => {
  const document = documentOf(event)
  const [namespace = '', application] = document ? [event.extensions.namespace] : (event.subject ?? '').split('/')
  const regarding = document ?? (application === undefined ? undefined : { application })
  const names = [namespace, ...Object.values(regarding ?? {})]
  return regarding && names.every((name) => NAME.test(name)) ? { namespace, ...regarding } : undefined
}

type ObjectReference = Pick<KubernetesObject, 'apiVersion' | 'kind'> & { name: string; uid?: string }

/** Returns the workload of an application, or its memory if it has no workload. */
const objectOf = async (kubernetes: Kubernetes, namespace: string, regarding: Regarding): Promise<ObjectReference> => {
  if ('document' in regarding) return referenceTo('ConfigMap', regarding.document)
  const name = regarding.application
  for (const kind of ['StatefulSet', 'Deployment'] as const) {
    const found = await kubernetes.find({ kind, namespace, name })
    if (found) return { ...referenceTo(kind, name), ...(found.metadata.uid && { uid: found.metadata.uid }) }
  }
  return referenceTo('ConfigMap', memoryName(name))
}

const referenceTo = (kind: Kind, name: string): ObjectReference => ({ apiVersion: apiVersionOf(kind), kind, name })
