import { createHash } from 'node:crypto'
import { maySee, type Sender } from '../access/authorize.ts'
import type { Clock } from '../base/clock.ts'
import { Refused } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { type Event, InvalidEvent } from '../cloudevents/cloud-event.ts'
import { isStale } from '../kubernetes/api-error.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import { microTime, shortened } from '../kubernetes/event-fields.ts'
import { apiVersionOf, type Kind, type KubernetesObject } from '../kubernetes/objects.ts'
import { memoryName } from '../state/memory.ts'
import type { Handled } from './handle.ts'

/** Makes what a person has to know a Kubernetes Event of the document or the workload that it is about. It rejects with nothing. */
export type Feedback = {
  /** Of a step that met a conflict, waits, or found its application blocked. */
  stepped(event: Event, handled: Handled): Promise<void>
  /** Of an event that was refused, from a sender who may send events for its namespace. */
  refused(event: Event, error: unknown, sender: Sender | undefined): Promise<void>
}

type Dependencies = {
  connect(deadline: number): Kubernetes
  clock: Clock
  log: Log
}

type Told = { readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly note: string }

const MANAGER = 'meshstep'

/** No step waits longer for somebody to be told of it. */
const MILLISECONDS = 2_000

/** The API server forgets Events after an hour. */
const KEPT_MILLISECONDS = 60 * 60 * 1_000
const MOST_KEPT = 1_000

/**
 * Creates feedback that reports each message once. An Event is named by the hash of its content, so neither this process nor another one
 * repeats it while it exists.
 */
export const createFeedback = ({ connect, clock, log }: Dependencies): Feedback => {
  const told = new Map<string, number>()

  const isNew = (name: string): boolean => {
    const now = clock.now()
    if ((told.get(name) ?? 0) > now) return false
    told.delete(name)
    told.set(name, now + KEPT_MILLISECONDS)
    for (const oldest of told.keys()) if (told.size > MOST_KEPT) told.delete(oldest)
    return true
  }

  const tell = async (namespace: string, regarding: Regarding, { type, reason, note }: Told): Promise<void> => {
    const digest = createHash('sha256')
      .update(JSON.stringify([namespace, regarding, reason, note]))
      .digest('hex')
    if (!isNew(digest)) return
    const kubernetes = connect(clock.now() + MILLISECONDS)
    try {
      const object = await objectOf(kubernetes, namespace, regarding)
      await kubernetes.create(
        {
          apiVersion: apiVersionOf('Event'),
          kind: 'Event',
          metadata: { name: `${object.name}.${digest.slice(0, 16)}`, namespace },
          eventTime: microTime(new Date(clock.now())),
          ...{ type, reason, action: 'Reconcile', note: shortened(note.replaceAll(/\p{Cc}+/gu, ' ')) },
          regarding: { ...object, namespace },
          reportingController: 'meshstep.dev/functions',
          reportingInstance: MANAGER,
        },
        MANAGER,
      )
    } catch (error) {
      // another process has told it
      if (!isStale(error)) log.warn({ namespace, reason, problem: (error as Error).message }, 'no Event of it')
    }
  }

  return {
    stepped: async (event, handled) => {
      const { namespace, application } = handled
      const news = newsOf(handled)
      if (namespace === undefined || application === undefined || news === undefined) return
      await tell(namespace, documentOf(event) ?? { application }, news)
    },
    refused: async (event, error, sender) => {
      const about = namesOf(event)
      if (about === undefined || !isOwnFault(error) || !(await maySee(sender, { namespace: about.namespace }))) return
      const { namespace, ...regarding } = about
      await tell(namespace, regarding, { type: 'Warning', reason: 'Refused', note: (error as Error).message })
    },
  }
}

/** Tells if the event itself is invalid: not its sender, nor the state that it found. */
const isOwnFault = (error: unknown): boolean =>
  error instanceof InvalidEvent || (error instanceof Refused && [400, 413].includes(error.status))

/** The worst of what there is to say; undefined for a step at which nobody has to do anything. */
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

/** The workload of an application, and its memory where it has none. */
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
