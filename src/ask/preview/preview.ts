import type { Authenticate, Sender } from '../../core/access/authenticate.ts'
import type { AuthorizeAuthor } from '../../core/access/document-authors.ts'
import { maySee, visibleTo } from '../../core/access/visibility.ts'
import type { EventFunction } from '../../core/events/event-function.ts'
import type { Features } from '../../core/feature/combine.ts'
import type { Environment } from '../../core/feature/feature.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import type { Trace } from '../../platform/base/trace.ts'
import { createKubernetes, type Kubernetes, readingOnce, type Transport } from '../../platform/kubernetes/client.ts'
import { type KubernetesObject, referenceTo } from '../../platform/kubernetes/objects.ts'
import { APPLICATION_LABEL } from '../../platform/kubernetes/ownership-labels.ts'
import { type Expected, expected } from '../authorization/check-expectations.ts'
import { createAnswerQuery } from '../views/answer-query.ts'
import { authoredBy } from './authored.ts'
import { createPlannedCluster } from './cluster/planned-cluster.ts'
import type { ComparedAccess } from './compare.ts'
import type { AccessChange } from './difference/describe-changes.ts'
import type { Proposal } from './input.ts'
import type { ObjectChange } from './object-changes.ts'
import { plannableDocuments } from './plannable-documents.ts'
import { rehearse } from './rehearse.ts'
import { isTelling, type ReportedStep } from './reported-step.ts'

/** The effects of events and documents, as JSON. */
export type Plan = {
  /** The steps that would change something or wait, in their order. */
  readonly steps: readonly ReportedStep[]
  /** The last step of each application that would still wait or have a message at the end. */
  readonly outcomes: readonly ReportedStep[]
  readonly objects: readonly ObjectChange[]
  readonly access: readonly AccessChange[]
  readonly expectations: readonly Expected[]
  /** The targets that are not compared, each with the reason. Access to them may be lost as well. */
  readonly incomplete: readonly string[]
  /** Remarks on the answer itself. */
  readonly messages: readonly string[]
}

export type Preview = (proposal: Proposal, asked: Asked) => Promise<Plan>

/** The options of a plan. */
export type Asked = {
  readonly authorization?: string | undefined
  /** Documents are deleted instead of applied. */
  readonly isDeletion?: boolean
  /** The namespace for documents without one. */
  readonly namespace?: string | undefined
  readonly autoAllowWaypoint?: boolean | undefined
  readonly trace?: Trace
}

type Dependencies = {
  features: Features
  functions: readonly EventFunction[]
  transport: Transport
  connect(deadline: number, trace?: Trace): Kubernetes
  authenticate?: Authenticate | undefined
  authorizeAuthor?: AuthorizeAuthor | undefined
  clock: Clock
  environment: Environment
  timeoutMilliseconds: number
}

/** The time that is kept for the answer. A comparison that takes longer is cut. */
const ANSWER_MILLISECONDS = 2_000

/** The limit of concurrent plans. Each holds the objects that it reads in memory. */
const MOST_AT_ONCE = 2

/**
 * Plans the effect of events and documents. It reads the cluster, and lets the steps change plain objects in memory. It writes nothing: it only reads, and asks
 * the API server by dry runs what that takes. Rejects with Refused if an event would be refused, or the sender may not send the events. A document that
 * the API server refuses is named as incomplete. It leaves out objects that the sender may not see.
 */
export const createPreview = (dependencies: Dependencies): Preview => {
  const { transport, clock, timeoutMilliseconds } = dependencies
  const { memories } = dependencies.features
  const answerQuery = createAnswerQuery(dependencies, MOST_AT_ONCE)

  const plan = async (given: Proposal, asked: Asked, sender: Sender | undefined): Promise<Plan> => {
    const deadline = clock.now() + timeoutMilliseconds
    const { trace = {} } = asked
    const { changesBetween, compareAccess, decidesOtherwise } = await import('./comparison.ts')
    const known = plannableDocuments(given.objects, asked.namespace, asked.isDeletion === true)
    const authored = sender && !asked.isDeletion ? authoredBy(sender.author, known.objects) : undefined
    const proposal = { ...given, objects: authored?.objects ?? known.objects }
    const connect = (headers: Record<string, string>) =>
      createKubernetes({ transport: changingNothing(transport), clock, deadline, trace: { ...trace, ...headers } })
    const kubernetes = connect({})
    const planned = createPlannedCluster(kubernetes, clock, deadline)
    const rehearsed = await rehearse(dependencies, planned, {
      proposal,
      sender,
      asAsker: connect(credentialsOf(sender, asked)),
      isDeletion: asked.isDeletion === true,
    })
    const { steps } = rehearsed
    const objects = planned.objects()
    const all = changesBetween(objects.before, objects.after)
    const { changes, hidden } = await visibleChanges(sender, all)
    const { autoAllowWaypoint } = asked
    const compared =
      all.length === 0 && !decidesOtherwise(objects)
        ? NOTHING
        : await compareAccess(objects, {
            ...{ memories, kubernetes, autoAllowWaypoint },
            ...(sender && { sees: (about) => maySee(sender, about) }),
            near: namespacesOf(proposal, steps, all),
            hasTime: () => clock.now() < deadline - ANSWER_MILLISECONDS,
          })
    return {
      steps: await visibleSteps(sender, steps.filter(isTelling)),
      outcomes: await visibleSteps(sender, lastSteps(steps)),
      objects: changes,
      access: compared.access,
      expectations: await expected(memories, readingOnce(planned.kubernetes), proposal.expectations, sender, {
        autoAllowWaypoint,
        planned: new Set(all.map(({ object }) => object)),
      }),
      incomplete: [...(given.unreadable ?? []), ...known.incomplete, ...rehearsed.incomplete, ...compared.incomplete],
      messages: [
        ...known.messages,
        ...(authored?.messages ?? []),
        ...rehearsed.messages,
        ...compared.messages,
        ...hidden,
      ],
    }
  }

  return (proposal, asked) =>
    answerQuery(asked.authorization, ({ sender }) => plan(proposal, asked, sender), asked.trace)
}

/** The asker applies documents with their own rights. Where nobody is authenticated, the process has those that count. */
const credentialsOf = (sender: Sender | undefined, { authorization }: Asked): Record<string, string> =>
  sender && authorization !== undefined ? { authorization } : {}

const NOTHING: ComparedAccess = { access: [], incomplete: [], messages: [] }

/** Wraps the transport so that it refuses writes but for dry runs. */
const changingNothing =
  (transport: Transport): Transport =>
  async (request) => {
    if (request.method !== 'GET' && !request.path.includes('dryRun=All'))
      throw new Error(`a plan writes nothing: ${request.method} ${request.path}`)
    return await transport(request)
  }

const lastSteps = (steps: readonly ReportedStep[]): ReportedStep[] =>
  [...new Map(steps.map((step) => [`${step.namespace}/${step.application}`, step])).values()].filter(
    ({ status, messages }) => status === 'waiting' || status === 'conflict' || messages.length > 0,
  )

const visibleSteps = async (sender: Sender | undefined, steps: readonly ReportedStep[]): Promise<ReportedStep[]> =>
  await visibleTo(sender, steps, ({ namespace = '', application }) => ({ namespace, application }))

const visibleChanges = async (sender: Sender | undefined, changes: readonly ObjectChange[]) => {
  const visible = await visibleTo(sender, changes, whoseIs)
  const hidden = changes.length - visible.length
  const shown: ObjectChange[] = []
  for (const one of visible) shown.push((await mayRead(sender, one)) ? one : bare(one))
  return {
    changes: shown,
    hidden: [
      ...shown.flatMap(({ object, diff }) => (diff === '' ? [`${object} is not shown: you may not get it`] : [])),
      ...(hidden === 0
        ? []
        : [`${hidden} more objects would change, which belong to applications that you may not send events about`]),
    ],
  }
}

/** Tells if the sender may see the content of an object. The content of objects that meshstep writes follows from events, which the sender may send. */
const mayRead = async (sender: Sender | undefined, { before }: ObjectChange): Promise<boolean> =>
  sender === undefined ||
  before === undefined ||
  ownValue(before.metadata.labels, APPLICATION_LABEL) !== undefined ||
  (await sender.mayGet(referenceTo(before)))

const bare = ({ object, change }: ObjectChange): ObjectChange => ({ object, change, diff: '' })

/**
 * Names the application that an object belongs to. Objects of meshstep name it in a label. A workload or a Service belongs to the application of its name.
 * Any other object belongs to its namespace.
 */
const whoseIs = ({ before, after }: ObjectChange): { namespace: string; application?: string } => {
  const { kind, metadata } = (after ?? before) as KubernetesObject
  const { namespace = metadata.name, name, labels = {} } = metadata
  const owner = labels[APPLICATION_LABEL]
  const home = labels['meshstep.dev/namespace'] ?? namespace
  if (owner !== undefined) return { namespace: home, application: owner }
  return ['StatefulSet', 'Deployment', 'Service'].includes(kind) ? { namespace, application: name } : { namespace }
}

const namespacesOf = (
  { objects }: Proposal,
  steps: readonly ReportedStep[],
  changes: readonly ObjectChange[],
): Set<string> =>
  new Set([
    ...steps.flatMap(({ namespace }) => namespace ?? []),
    ...[...objects, ...changes.flatMap(({ before, after }) => after ?? before ?? [])].flatMap(
      ({ kind, metadata }) => (kind === 'Namespace' ? metadata.name : metadata.namespace) ?? [],
    ),
  ])
