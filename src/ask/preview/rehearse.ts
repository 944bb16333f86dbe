import type { Sender } from '../../core/access/authenticate.ts'
import type { AuthorizeAuthor } from '../../core/access/document-authors.ts'
import type { EventFunction } from '../../core/events/event-function.ts'
import { createHandler, type Handle } from '../../core/events/handle.ts'
import { createQueue } from '../../core/events/queue.ts'
import type { Features } from '../../core/feature/combine.ts'
import type { Environment } from '../../core/feature/feature.ts'
import { isWithinMemory } from '../../core/reconcile/outcome.ts'
import { createStep } from '../../core/reconcile/step.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { Refused } from '../../platform/base/errors.ts'
import type { Event } from '../../platform/cloudevents/cloud-event.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { type KubernetesObject, objectKey, referenceTo } from '../../platform/kubernetes/objects.ts'
import type { PlannedCluster } from './cluster/planned-cluster.ts'
import type { Proposal } from './input.ts'
import { createWriter } from './kubectl.ts'
import { type ReportedStep, reportedStep } from './reported-step.ts'

type Dependencies = {
  features: Features
  functions: readonly EventFunction[]
  authorizeAuthor?: AuthorizeAuthor | undefined
  clock: Clock
  environment: Environment
  timeoutMilliseconds: number
}

type Performance = {
  readonly proposal: Proposal
  readonly sender: Sender | undefined
  /** Makes dry runs of the documents. */
  readonly asAsker: Pick<Kubernetes, 'apply'>
  readonly isDeletion: boolean
}

/** The limit of events that follow from one. More count as a loop. */
const MOST_EVENTS = 2_000

/** The limit of rounds in which waiting applications are checked again, as each event or ping would do. */
const MOST_LOOKS = 3

const TOO_MANY_EVENTS = `more than ${MOST_EVENTS} events follow: what comes after them is not planned`
const TOO_MANY_LOOKS = `applications that wait go on after ${MOST_LOOKS} looks: what comes after them is not planned`

type Rehearsed = {
  /** The steps, in their order. */
  readonly steps: readonly ReportedStep[]
  /** The reasons why the rehearsal is incomplete. */
  readonly incomplete: readonly string[]
  readonly messages: readonly string[]
}

/** Runs a proposal, and everything that follows from it, on a planned cluster. Resolves with the steps. */
export const rehearse = async (
  { features, functions, authorizeAuthor, clock, environment, timeoutMilliseconds }: Dependencies,
  planned: PlannedCluster,
  { proposal, sender, asAsker, isDeletion }: Performance,
): Promise<Rehearsed> => {
  const steps: ReportedStep[] = []
  const incomplete = new Set<string>()
  const messages: string[] = []
  const { kubernetes } = planned
  const connect = () => kubernetes
  const step = createStep({ features, connect, clock, environment, authorizeAuthor })
  const handlerFor = (one: Sender | undefined): Handle =>
    createHandler({
      features,
      functions,
      step,
      enqueue: createQueue(step),
      connect,
      authenticate: one && (async () => one),
      clock,
      timeoutMilliseconds,
      onStep: (step) => steps.push(reportedStep(step)),
    })
  const [asSender, asCluster] = [handlerFor(sender), handlerFor(undefined)]

  const write = createWriter(planned, asAsker, isDeletion)

  const settle = async (): Promise<void> => {
    if (!(await isSettled(planned, asCluster))) incomplete.add(TOO_MANY_EVENTS)
  }

  /** Writes an object, and handles the event of a document. Resolves to the reason if the API server or the function refuses it. */
  const take = async (object: KubernetesObject): Promise<string | undefined> => {
    try {
      await requireSight(sender, object)
      messages.push(...(await write(object)))
      // the asker is the author of documents; the events that follow have no author
      for (const event of planned.events()) await (isDocument(event) ? asSender : asCluster)(event, {})
      return undefined
    } catch (error) {
      if (!(error instanceof Refused) || error.status === 403) throw error
      return reasonIn(error, objectKey(object))
    }
  }

  for (const object of proposal.objects) {
    await sender?.authorize(namespaceOf(object))
    const refusal = await take(object)
    if (refusal !== undefined) incomplete.add(`${objectKey(object)} is not planned: ${refusal}`)
    await settle()
  }
  for (const event of proposal.events) {
    await asSender(event, {})
    await settle()
  }
  const look = async (): Promise<void> => {
    const before = steps.length
    for (const subject of waitingIn(steps)) {
      await asCluster(lookAgain(subject, `look-${before}-${subject}`), {})
      await settle()
    }
  }
  if (!(await isQuiet(steps, look)) && waitingIn(steps).length > 0) incomplete.add(TOO_MANY_LOOKS)
  return { steps, incomplete: [...incomplete], messages }
}

/** Handles the events that the cluster's sources send for the writes so far. Tells if they came to an end. */
const isSettled = async (planned: PlannedCluster, handle: Handle): Promise<boolean> => {
  let left = MOST_EVENTS
  for (let events = planned.events(); events.length > 0; events = planned.events()) {
    if (left <= 0) return false
    left -= events.length
    for (const event of events) await handle(event, {})
  }
  return true
}

/** Lets waiting applications check again. Tells if that came to an end. */
const isQuiet = async (steps: readonly ReportedStep[], look: () => Promise<void>): Promise<boolean> => {
  for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
    const before = steps.length
    await look()
    if (steps.slice(before).every(({ status }) => isWithinMemory(status) || status === 'waiting')) return true
  }
  return false
}

/** Rejects with Refused, 400, for a Secret that the asker may not get: they could try values of it. */
const requireSight = async (sender: Sender | undefined, object: KubernetesObject): Promise<void> => {
  if (object.kind !== 'Secret' || sender === undefined || (await sender.mayGet(referenceTo(object)))) return
  throw new Refused(400, 'you may not get it')
}

const isDocument = ({ extensions }: Event): boolean => extensions.kind === 'ConfigMap'

/** Returns the namespace of an object. A Namespace counts as its content. */
const namespaceOf = ({ kind, metadata: { name, namespace } }: KubernetesObject): { namespace: string } => {
  if (kind === 'Namespace') return { namespace: name }
  if (namespace === undefined) throw new Refused(400, `${kind} ${name}: expected metadata.namespace`)
  return { namespace }
}

/** The applications that waited when their last step ended. */
const waitingIn = (steps: readonly ReportedStep[]): string[] => {
  const last = new Map(steps.map(({ namespace, application, status }) => [`${namespace}/${application}`, status]))
  return [...last].flatMap(([subject, status]) => (status === 'waiting' ? [subject] : []))
}

const lookAgain = (subject: string, id: string): Event => ({
  id,
  source: '/meshstep/plan',
  type: 'dev.meshstep.resync.v1',
  subject,
  datacontenttype: 'application/json',
  extensions: {},
  data: {},
})

/** Returns the message of an error without the name of the object, which it may begin with. */
const reasonIn = ({ message }: Error, title: string): string =>
  message.startsWith(`${title}: `) ? message.slice(title.length + 2) : message
