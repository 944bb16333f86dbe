import { isDeepStrictEqual } from 'node:util'
import type { Budget } from '../../platform/base/budget.ts'
import type { Condition } from '../../platform/base/condition.ts'
import { NamespaceTerminating } from '../../platform/base/errors.ts'
import { createRecalls, type Recalls } from '../../platform/base/recall.ts'
import { type Subject, subjectName } from '../../platform/base/subject.ts'
import type { Trace } from '../../platform/base/trace.ts'
import { isVersionConflict } from '../../platform/kubernetes/api-error.ts'
import { counting, followingOwnWrites, type Kubernetes } from '../../platform/kubernetes/client.ts'
import type { Peers } from '../relations/peers.ts'
import { misspeltEndpoints } from '../relations/told/unmatched-endpoints.ts'
import { isInherited, type Memory } from '../state/memory.ts'
import type { State } from '../state/state.ts'
import { apply } from './apply.ts'
import {
  type AttemptEnd,
  type AttemptProgress,
  carryOn,
  foreignToken,
  loadMemory,
  retryWhenOvertaken,
  type StepProgress,
} from './attempts.ts'
import { type Change, type ChangeResult, isAboutPods, isResync } from './change.ts'
import type { Context } from './context.ts'
import { type Decision, decide } from './decide.ts'
import { isDue } from './fold/derive.ts'
import { fold } from './fold.ts'
import { createListBudget } from './observe/list-budget.ts'
import { prefetch } from './observe/prefetch.ts'
import type { Surroundings } from './observe/surroundings.ts'
import { isUnknownApplication } from './observe/unknown-application.ts'
import { observe, observeFolded } from './observe.ts'
import { EMPTY_OUTBOX, type Outbox, outboxAfter } from './outbox.ts'
import { type Outcome, outcomeOf } from './outcome.ts'
import { documentRefused, withConditions } from './record/conditions.ts'
import { type Reconciled, type Recorded, record } from './record.ts'
import { recoverLostMemory } from './recover.ts'
import { save, saveNotes, saveUnobserved } from './save.ts'

export type StepDependencies = Omit<Context, 'subject' | 'kubernetes' | 'recall'> & {
  /** Creates a client whose calls end at the deadline, in milliseconds since the epoch, and pass the trace on. */
  connect(deadline: number, trace?: Trace): Kubernetes
  /** The results of earlier steps for equal inputs. */
  recalls?: Recalls
  /** Bounds the lists that all steps keep, in characters. */
  budget?: Budget
}

/** The outcome of each change, in order, or its error; and the messages that are due to other applications. */
export type Stepped = { outcomes: readonly (Outcome | Error)[]; due: Outbox }

/**
 * The changes for a step. They are taken after the memory has been read, and include those that arrived meanwhile. A change that is not in
 * the memory yet is saved with it. That save fails if the memory has changed since it was read.
 */
export type Batch = {
  take(): readonly Change[]
  /** In milliseconds since the epoch. */
  readonly deadline: number
  readonly trace?: Trace | undefined
}

/**
 * Folds changes into the memory and brings the cluster to the desired state. Uses `on` as the client, or else a new one. Rejects with
 * Unavailable if the step is not done by the deadline.
 */
export type Step = (subject: Subject, batch: Batch, on?: Kubernetes) => Promise<Stepped>

/**
 * Creates the reconciliation step of an application. A step reads the memories of the application and its peers, folds the changes in, and
 * brings the cluster to the desired state. If another writer was faster, it starts over. A step that completes leaves the cluster as the
 * memory desires it. After a crash at any point, the next step does.
 */
export const createStep =
  ({ connect, recalls = createRecalls(), budget = createListBudget(), ...dependencies }: StepDependencies): Step =>
  async (subject, batch, kubernetes = connect(batch.deadline, batch.trace)) => {
    const account = budget.open(subjectName(subject))
    const counted = counting(kubernetes, account.keep)
    const contextOf = (): Context => ({
      ...{ ...dependencies, subject, kubernetes: followingOwnWrites(counted) },
      recall: recalls(subjectName(subject), counted.answered),
    })
    const { clock, features } = dependencies
    const { deadline } = batch
    const attempt = async (carried: StepProgress | undefined): Promise<AttemptEnd<Attempted>> => {
      // releases the lists of the attempt before
      account.close()
      return await runAttempt(contextOf(), batch, carried)
    }
    const attempts = { subject, clock, deadline, attempt }
    try {
      let last = await retryWhenOvertaken(attempts)
      for (let rounds = 1; rounds < MOST_ROUNDS && isToBeRepeated(features, subject, last.attempted); rounds += 1)
        last = await retryWhenOvertaken(attempts, last.carried)
      return await conclude(contextOf(), last)
    } finally {
      account.close()
    }
  }

/** The limit of rounds of a step. A switch takes two or three; another writer must not make it go on. */
const MOST_ROUNDS = 3

/** The end of an attempt. `reconciled` is undefined if there was nothing to do: no change was taken, or only notes. */
type Attempted = {
  readonly reconciled: Reconciled | undefined
  readonly peers: Peers
  /** The units that the published data were computed from. */
  readonly units?: State['units']
  /** The application's documents that were read and are refused. */
  readonly refused?: readonly Condition[]
} & Pick<Recorded, 'isOfferDue'>

/** Reads the memory, takes the changes unless an earlier attempt did, and runs the stages. */
const runAttempt = async (
  context: Context,
  { take }: Batch,
  carried: StepProgress | undefined,
): Promise<AttemptEnd<Attempted>> => {
  const memory = await loadMemory(context, carried)
  const progress = carried ?? { changes: take(), before: memory.state, dropped: [], writes: [] }
  try {
    return await runStages(context, memory, progress)
  } catch (error) {
    if (error instanceof NamespaceTerminating) return answeredWith(progress, error.message)
    if (!isVersionConflict(error)) throw error
    return { carried: progress, cause: error }
  }
}

/** Runs the stages of a step, each once. */
const runStages = async (context: Context, memory: Memory, progress: StepProgress): Promise<AttemptEnd<Attempted>> => {
  const { subject } = context
  const { changes } = progress
  if (isInherited(memory) && changes.every(({ observation }) => observation))
    return answeredWith(progress, LIBRARY_KEEPS_IT)
  if (changes.every(({ note }) => note === true)) return ended(progress, await saveNotes(context, memory, changes))
  const observation = await observe(context, memory, changes, prefetch(context, memory, changes))
  const folded = await fold(context, observation, progress.taken ? [] : changes)
  const taken = progress.taken ?? folded.taken
  if (progress.taken === undefined && taken.every((one) => one instanceof Error)) return ended(progress, taken)
  const observed = await observeFolded(context, observation, folded.state, changes).catch((problem: unknown) =>
    saveUnobserved(context, memory, folded.state, problem),
  )
  const recovered = recoverLostMemory(context.features, memory, subject, observed, observation.found)
  if (await isUnknownApplication(context.kubernetes, subject, changes, observation, recovered))
    return answeredWith(progress, `${subjectName(subject)} is not known: nothing is remembered of it`)
  const decision = await decide(context, observation, recovered, {
    ...{ isWhole: isAboutPods(changes), isResync: isResync(changes), fence: foreignToken(memory, progress) },
    wasOvertaken: progress.wasOvertaken === true,
  })
  const recorded = await carryOut(context, decision)
  const carried = carryOn(progress, { taken, dropped: folded.dropped }, recorded, memory)
  const { reconciled, isOfferDue, overtaken } = recorded
  if (overtaken) return { carried, cause: overtaken.cause }
  const refused = refusedDocuments(subject, observation.found)
  return { carried, attempted: { reconciled, isOfferDue, peers: decision.peers, units: decision.units, refused } }
}

const refusedDocuments = (subject: Subject, { documents }: Surroundings): Condition[] =>
  documents.found.flatMap((document) =>
    'problem' in document && document.application === subject.application ? [documentRefused(subject, document)] : [],
  )

/** Saves a decision, applies it, and records its progress, as long as no other writer is faster. */
const carryOut = async (context: Context, decision: Decision): Promise<Recorded> => {
  const saved = await save(context, decision)
  if (saved.overtaken) return saved
  const applied = await apply(context, decision, saved)
  const progress = joined(saved, applied)
  if (applied.overtaken) return progress
  const recorded = await record(context, decision, saved.memory, applied)
  return { ...recorded, ...joined(progress, recorded) }
}

const joined = (before: AttemptProgress, after: AttemptProgress): AttemptProgress => ({
  writeToken: before.writeToken,
  writes: [...before.writes, ...after.writes],
  overtaken: after.overtaken,
})

/** Computes the outcome of each change, and the messages that follow from the step. */
const conclude = async (
  { subject, features, kubernetes, clock }: Context,
  {
    attempted: { reconciled, peers, refused = [] },
    carried,
  }: { readonly attempted: Attempted; readonly carried: StepProgress },
): Promise<Stepped> => {
  const { changes, before, taken = [], dropped, writes } = carried
  if (reconciled === undefined) return { outcomes: taken.map((one) => outcomeOf(subject, one)), due: EMPTY_OUTBOX }
  const { state } = reconciled
  const unmet = await features.unmet(features.memories, kubernetes, subject, state.config)
  const written = [...new Set(writes.map(({ name }) => name))]
  const done = {
    ...reconciled,
    ...withConditions(reconciled, [...unmet, ...refused]),
    held: [...reconciled.held, ...unmet],
    messages: [...reconciled.messages, ...misspeltEndpoints(subject, state), ...new Set(dropped)],
    written,
    removed: written.filter((name) => writes.findLast((write) => write.name === name)?.isGone),
    drift: isResync(changes) ? writes.flatMap(({ drift }) => drift) : [],
  }
  const now = new Date(clock.now())
  return {
    outcomes: taken.map((one) => outcomeOf(subject, one, done)),
    due: outboxAfter(features, subject, state, peers, changes, { before, written }, now),
  }
}

/**
 * Tells if the step has to run another round: it wrote what an offer may rest on, or the observed pods brought a leader or other units than those published.
 */
const isToBeRepeated = (
  features: Context['features'],
  subject: Subject,
  { reconciled, isOfferDue = false, units }: Attempted,
): boolean => {
  if (reconciled === undefined) return false
  const { state } = reconciled
  // a unit came or went in an application that publishes its units
  const isUnpublished = features.dependsOnUnits(state) && !isDeepStrictEqual(state.units.present, units?.present)
  return isOfferDue || isDue(subject, state) || (units !== undefined && isUnpublished)
}

const LIBRARY_KEEPS_IT =
  'the charm library keeps the labels of this application: its first relation or config event moves it over'

/** Ends an attempt without work. */
const ended = (carried: StepProgress, taken: readonly ChangeResult[]): AttemptEnd<Attempted> => ({
  carried: { ...carried, taken: carried.taken ?? taken },
  attempted: { reconciled: undefined, peers: new Map() },
})

/** Ends an attempt with the same answer to all changes. */
const answeredWith = (carried: StepProgress, message: string): AttemptEnd<Attempted> =>
  ended(
    carried,
    carried.changes.map(() => ({ message })),
  )
