import type { Authorize } from './authorize.ts'
import type { Clock } from './clock.ts'
import type { EventFunction } from './define-function.ts'
import { Refused } from './errors.ts'
import { fromKnative, type Ignored, isFromKnative, referenceIn, withObject } from './events/api-server-source.ts'
import type { Event } from './events/cloud-event.ts'
import type { Kubernetes } from './kubernetes/client.ts'
import { nameOf } from './kubernetes/objects.ts'
import type { Outcome } from './outcome.ts'
import type { Publish } from './publish.ts'
import type { Enqueue } from './queue.ts'
import { sweep } from './sweep.ts'

export type HandlerDependencies = {
  /** The functions this process serves. */
  functions: readonly EventFunction[]
  enqueue: Enqueue
  /** A client whose calls end at the deadline, in milliseconds since the epoch. */
  connect(deadline: number): Kubernetes
  publish: Publish
  /** Without it, whoever reaches the process may send events. */
  authorize?: Authorize | undefined
  clock: Clock
  /** How long an event may take. */
  timeoutMilliseconds: number
  newId?: (() => string) | undefined
}

/** What became of an event: the data of a `dev.meshstep.reconciled.v1`. The names are absent when the event names none. */
export type Handled = { function?: string; namespace?: string; application?: string } & Outcome

/** How an event came: for one function, or for whichever takes its type, and with which Authorization header. */
export type Arrival = { only?: string | undefined; authorization?: string | undefined }

export type Handle = (event: Event, arrival: Arrival) => Promise<Handled>

/** Takes a CloudEvent to the function that takes its type, and answers when its step is done. */
export const createHandler = (dependencies: HandlerDependencies): Handle => {
  const { functions, enqueue, connect, publish, authorize, clock, timeoutMilliseconds } = dependencies
  const newId = dependencies.newId ?? (() => crypto.randomUUID())

  return async (sent, { only, authorization }) => {
    const deadline = clock.now() + timeoutMilliseconds
    const kubernetes = connect(deadline)
    const event = isFromKnative(sent) ? await translated(kubernetes, sent) : sent
    if ('ignored' in event) return { ...NOTHING, messages: [`ignored: ${event.ignored}`] }
    const { name, receive } = functionFor(functions, event, only)
    const { namespace, application, change } = receive(event, new Date(clock.now()))
    await authorize?.(kubernetes, authorization, { namespace, application })
    if (application === undefined)
      return { function: name, namespace, ...(await resyncAll(kubernetes, namespace, deadline)) }
    return { function: name, namespace, application, ...(await enqueue({ namespace, application }, change)) }
  }

  /** One `resync` for each application, so that each has a step, and a failure, of its own. */
  async function resyncAll(kubernetes: Kubernetes, namespace: string, deadline: number): Promise<Outcome> {
    const applications = await sweep(kubernetes, namespace)
    for (const { application, former } of applications)
      await publish(
        {
          id: newId(),
          source: `/meshstep/${namespace}/resync`,
          type: 'dev.meshstep.resync.v1',
          subject: `${namespace}/${application}`,
          datacontenttype: 'application/json',
          extensions: { partitionkey: `${namespace}/${application}` },
          data: { namespace, application, ...(former.length > 0 && { former }) },
        },
        deadline,
      )
    return { ...NOTHING, messages: [`resync was sent to ${applications.length} applications`] }
  }
}

const NOTHING: Outcome = { status: 'unchanged', written: [], conflicts: [], messages: [] }

const translated = async (kubernetes: Kubernetes, event: Event): Promise<Event | Ignored> => {
  const reference = referenceIn(event)
  if (!reference) return fromKnative(event)
  const object = await kubernetes.find(reference)
  return object ? fromKnative(withObject(event, object)) : { ignored: `${nameOf(reference)} is gone` }
}

const functionFor = (functions: readonly EventFunction[], { type }: Event, only: string | undefined): EventFunction => {
  const candidates = only === undefined ? functions : functions.filter(({ name }) => name === only)
  const names = functions.map(({ name }) => name).join(', ')
  if (candidates.length === 0) throw new Refused(400, `/${only}: no such function is served here, but ${names}`)
  const found = candidates.find((candidate) => candidate.type === type)
  if (found) return found
  throw new Refused(
    400,
    `type: expected ${candidates.map((candidate) => candidate.type).join(', ')}, got ${JSON.stringify(type.slice(0, 100))}`,
  )
}
