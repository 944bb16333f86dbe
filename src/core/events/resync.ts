import pMap from 'p-map'
import type { Clock } from '../../platform/base/clock.ts'
import { Unavailable } from '../../platform/base/errors.ts'
import type { Trace } from '../../platform/base/trace.ts'
import type { Event } from '../../platform/cloudevents/cloud-event.ts'
import { traceOf } from '../../platform/cloudevents/trace.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { createListed } from '../../platform/kubernetes/listed.ts'
import type { Features } from '../feature/combine.ts'
import { type FollowedStep, isSilent, type Outcome, UNCHANGED, withDelivered } from '../reconcile/outcome.ts'
import type { Step } from '../reconcile/step.ts'
import { type Deliver, effectOf, type Followed, type Send, withCause } from './deliver.ts'
import type { Received } from './event-function.ts'
import type { Result } from './queue.ts'
import { type Swept, sweep } from './sweep.ts'

type Dependencies = {
  features: Features
  connect(deadline: number, trace?: Trace): Kubernetes
  step: Step
  /** Reads an event of one application. */
  receive(event: Event): Received
  /** Takes an event whose result is known. */
  take(event: Event, result: Result, deadline: number): Promise<Followed | undefined>
  send: Send
  deliver: Deliver
  isOwnSink: boolean
  clock: Clock
  newId(): string
}

/** Resyncs all applications of a namespace. */
export type Resync = (namespace: string, cause: Event, deadline: number) => Promise<Outcome>

/** The limit of parallel resyncs. A slow application must not hold up all others. */
const AT_ONCE = 8

const MOST_FAILURES = 20

/**
 * Creates the resync of a namespace. It sends one `resync` for each application, so that each has its own step and its own failure. Each
 * step is rehearsed first, on lists that all of them share. A step that would write nothing and notify nobody is done with that, and its
 * event is sent to another process only if there is something to report. All other steps read for themselves. If time runs out, it is not
 * always the same applications that are left out.
 */
export const createResync =
  ({ features, connect, step, receive, take, send, deliver, isOwnSink, clock, newId }: Dependencies): Resync =>
  async (namespace, cause, deadline) => {
    const { listing, reading } = createListed(connect(deadline, traceOf(cause)))
    const { applications: swept, lost, unclaimed, problems } = await sweep(features, listing, namespace)
    const effects: FollowedStep[] = []

    /** Returns the result of an event if its receiver need not take a step. */
    const resultOf = async (event: Event): Promise<Result | undefined> => {
      const result = await rehearse(step, reading, receive(event), deadline)
      return result && (isOwnSink || isSilent(result.outcome)) ? result : undefined
    }
    /** Resolves with true if the event was sent. */
    const resync = async (one: Swept, index: number): Promise<boolean> => {
      if (index >= AT_ONCE) await clock.yieldTurn()
      if (clock.now() >= deadline) throw new Unavailable('there was no time left')
      const event = withCause(resyncOf(namespace, one, newId()), cause)
      const result = await resultOf(event)
      const followed = await (result ? take(event, result, deadline) : send(event, deadline))
      if (followed) effects.push(...effectOf(followed), ...(await deliver(followed.next, deadline)).effects)
      return result === undefined
    }

    const results = await pMap(
      fromAny(swept, clock),
      (one, index) => resync(one, index).catch((error: Error) => error),
      {
        concurrency: AT_ONCE,
      },
    )
    const failures = results.filter((result) => result instanceof Error)
    const lasting = failures.find((error) => error instanceof Unavailable)
    if (lasting)
      throw new Unavailable(`resync failed for ${failures.length} of ${swept.length} applications: ${lasting.message}`)
    const sent = results.filter((result) => result === true).length
    const messages = [
      `looked at ${swept.length} applications, and sent a resync to ${sent} of them`,
      ...lost,
      ...unclaimed.slice(0, MOST_FAILURES),
      ...problems.map((problem) => `${problem}. Until then nothing that a lost memory left behind is found`),
      ...failures.slice(0, MOST_FAILURES).map(({ message }) => message),
    ]
    const isWaiting = lost.length + unclaimed.length + problems.length + failures.length > 0
    const outcome: Outcome = { ...UNCHANGED, ...(isWaiting && { status: 'waiting' }), messages }
    return withDelivered(outcome, { published: [], refused: [], effects })
  }

/** Returns the result of a step that would write nothing and send no messages. Undefined if there is more to do. */
const rehearse = async (
  step: Step,
  kubernetes: Kubernetes,
  { namespace, application = '', change }: Received,
  deadline: number,
): Promise<Result | undefined> => {
  const stepped = await step({ namespace, application }, { take: () => [change], deadline }, kubernetes).catch(
    () => undefined,
  )
  const { outcomes: [outcome] = [], due } = stepped ?? {}
  const isQuiet = due?.nudges.length === 0 && due.announcements.length === 0
  return outcome === undefined || outcome instanceof Error || !isQuiet ? undefined : { outcome, due }
}

/** Rotates the items to begin at a random one. */
const fromAny = <T>(items: readonly T[], clock: Clock): T[] => {
  const first = Math.floor(clock.random() * items.length)
  return [...items.slice(first), ...items.slice(0, first)]
}

const resyncOf = (namespace: string, { application, former, owned, documents, named }: Swept, id: string): Event => ({
  id,
  source: `/meshstep/${namespace}/resync`,
  type: 'dev.meshstep.resync.v1',
  subject: `${namespace}/${application}`,
  datacontenttype: 'application/json',
  extensions: { partitionkey: `${namespace}/${application}` },
  data: {
    ...{ namespace, application, documents, named },
    ...(former.length > 0 && { former }),
    ...(owned.length > 0 && { owned }),
  },
})
