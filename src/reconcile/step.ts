import { isDeepStrictEqual } from 'node:util'
import type { CheckAdmissionPolicy } from '../access/admission-policy.ts'
import type { AuthorizeAuthor } from '../access/document-authors.ts'
import type { Budget } from '../base/budget.ts'
import type { Clock } from '../base/clock.ts'
import { NamespaceLeaving, Unavailable } from '../base/errors.ts'
import { createRecalls, type Recall, type Recalls } from '../base/recall.ts'
import { type Subject, subjectName } from '../base/subject.ts'
import type { Trace } from '../base/trace.ts'
import type { Features } from '../feature/combine.ts'
import type { Environment, FeatureInput } from '../feature/feature.ts'
import { isStale } from '../kubernetes/api-error.ts'
import { counting, type Kubernetes } from '../kubernetes/client.ts'
import { misspeltEndpoints } from '../relations/endpoints.ts'
import { withoutForgotten } from '../relations/forget.ts'
import { withDeparting } from '../relations/resolve-relations.ts'
import { isInherited, type Memory } from '../state/memory.ts'
import { ownedName } from '../state/owned-kinds.ts'
import { type State, withPreviousTargets } from '../state/state.ts'
import type { Change, ChangeResult } from './change.ts'
import { limitDatabags, type PublishInput, publicationsIn, publishDatabags } from './decide/databags.ts'
import { admit } from './fold/admit.ts'
import { isDue } from './fold/derive.ts'
import { type FoldedMemory, foldChanges } from './fold/fold-changes.ts'
import { withLostEndpoints, withLostMemory, withObservedLabels } from './fold/lost-memory.ts'
import { EMPTY_OUTBOX, type Outbox, outboxAfter } from './notify.ts'
import { withAuthors } from './observe/authorized-documents.ts'
import { isDeployed, type Observed, observeCluster, seenIn } from './observe/cluster.ts'
import { createLookBudget } from './observe/look-budget.ts'
import {
  type KnownMemories,
  type Prefetch,
  type PrefetchInput,
  prefetch,
  prefetchForKnown,
  recallResolved,
  withKnownMemories,
} from './observe/prefetch.ts'
import { isAboutPods, type Surroundings } from './observe/surroundings.ts'
import { dependsOnUnits, withUnits } from './observe/units.ts'
import { unknownRequesters } from './observe/unknown-consumers.ts'
import { type Outcome, outcomeOf } from './outcome.ts'
import { type Attempt, type ObjectWrite, type Reconciled, reconcile } from './reconcile.ts'
import { unmetExpectations } from './record/expectations.ts'

export type StepDependencies = {
  features: Features
  /** A client whose calls end at the deadline, in milliseconds since the epoch, and pass the trace on. */
  connect(deadline: number, trace?: Trace): Kubernetes
  clock: Clock
  environment: Environment
  /** Checks that writers of documents are authenticated, where senders are. */
  checkAdmissionPolicy?: CheckAdmissionPolicy | undefined
  /** Authorizes the authors of documents. Without it documents are taken, whoever wrote them. */
  authorizeAuthor?: AuthorizeAuthor | undefined
  /** The results that earlier steps made of the same input. */
  recalls?: Recalls
  /** The memories, with those that this process knows. */
  memories?: KnownMemories
  /** Bounds what all steps keep of lists, in characters. */
  budget?: Budget
}

/** The outcome of each change, in their order, or why it failed; and what others are to be told. */
export type Stepped = { outcomes: readonly (Outcome | Error)[]; due: Outbox }

/**
 * The changes for a step. They are taken once the memory has been read, with those that were told since: one that is not in that memory is
 * saved with it, which fails when it is not as it was read any more.
 */
export type Batch = {
  take(): readonly Change[]
  /** The change, where one waits that has a sender, and no other: what it is about is read beside the memory. */
  readonly alone?: Change | undefined
  /** In milliseconds since the epoch. */
  readonly deadline: number
  readonly trace?: Trace | undefined
}

/**
 * Takes changes into the memory and brings the cluster to it, by a client of its own unless one is given. Rejects with Unavailable when it is
 * not done by the deadline.
 */
export type Step = (subject: Subject, batch: Batch, on?: Kubernetes) => Promise<Stepped>

const FIRST_DELAY_MILLISECONDS = 20
const LONGEST_DELAY_MILLISECONDS = 1_000

/** The part of an attempt that outlives it, where somebody was faster: its changes, and all that was written for them. */
type Carried = {
  readonly changes: readonly Change[]
  /** The state before the first attempt. */
  readonly before: State
  /** The results of the changes, once the memory has these: starting over must not fold them in a second time. */
  readonly taken?: readonly ChangeResult[] | undefined
  /** Data of units that did not come to lead, a sentence each. */
  readonly dropped: readonly string[]
  readonly writes: readonly ObjectWrite[]
  /** The mark under which the last attempt wrote. */
  readonly mark?: string | undefined
  /** It took the place of another step's mark: what that may still write is to be fenced until an attempt has come to its end. */
  readonly isFencing?: boolean
  /** An attempt of this step tried again what was refused before. */
  readonly hasRetried?: boolean
  /** Somebody else writes as well. */
  readonly hasLost?: boolean
}

/** The end of an attempt: `attempted` where nobody was faster, else the answer of the API server that says who was, where there is one. */
type Turn = { readonly carried: Carried; readonly attempted?: Attempted; readonly cause?: unknown }

/**
 * One reconciliation step for one application: reads its memory and those of its remote applications, folds the changes in, and brings the
 * cluster to what follows; if anybody was faster, that starts over. A step that runs to its end leaves the cluster as the memory desires
 * it; after a crash at any point, so does the next one.
 */
export const createStep = ({
  features: combined,
  connect,
  clock,
  environment,
  checkAdmissionPolicy,
  authorizeAuthor,
  recalls = createRecalls(),
  memories = withKnownMemories(combined.memories),
  budget = createLookBudget(),
}: StepDependencies): Step => {
  const features = { ...combined, memories }
  const takeStep = async (
    subject: Subject,
    { take, alone, deadline }: Batch,
    kubernetes: Kubernetes,
    release: () => void,
  ): Promise<Stepped> => {
    const dependencies = {
      ...{ features, kubernetes, release, clock, environment, checkAdmissionPolicy, authorizeAuthor, recalls },
    }
    const ahead = aheadOf(memories.known(subject), alone)
    const first = await retryOnConflict(dependencies, subject, { take, deadline, ahead })
    const { attempted, carried } = isToBeRepeated(features, subject, first.attempted)
      ? await retryOnConflict(dependencies, subject, { take, deadline, carried: first.carried })
      : first
    const { reconciled, found } = attempted
    const { changes, before, taken = [], dropped, writes } = carried
    const unmet = reconciled ? await unmetExpectations(features, kubernetes, subject, reconciled.state) : []
    const written = [...new Set(writes.map(({ name }) => name))]
    const done = reconciled && {
      ...reconciled,
      problems: [...reconciled.problems, ...unmet],
      messages: [...reconciled.messages, ...misspeltEndpoints(subject, reconciled.state), ...new Set(dropped)],
      written,
      removed: written.filter((name) => writes.findLast((write) => write.name === name)?.isGone),
      drift: isResync(changes) ? writes.flatMap(({ drift }) => drift) : [],
    }
    const now = new Date(clock.now())
    return {
      outcomes: taken.map((one) => outcomeOf(subject, one, done)),
      due: reconciled
        ? outboxAfter(features, subject, reconciled.state, found.peers, changes, { before, written }, now)
        : EMPTY_OUTBOX,
    }
  }
  return async (subject, batch, kubernetes = connect(batch.deadline, batch.trace)) => {
    const account = budget.open(subjectName(subject))
    try {
      return await takeStep(subject, batch, counting(kubernetes, account.keep), account.close)
    } finally {
      account.close()
    }
  }
}

const aheadOf = (known: Memory | undefined, change: Change | undefined): PrefetchInput | undefined =>
  known && change && { known, change }

type Attempts = Pick<Batch, 'take' | 'deadline'> & {
  /** The memory and the change for which the first attempt reads ahead. */
  readonly ahead?: PrefetchInput | undefined
  readonly carried?: Carried
}

/** Attempts until nobody was faster. */
const retryOnConflict = async (
  dependencies: Dependencies,
  subject: Subject,
  { take, deadline, ahead, carried: before }: Attempts,
): Promise<Required<Pick<Turn, 'carried' | 'attempted'>>> => {
  const { clock, release } = dependencies
  let turn: Partial<Turn> = before === undefined ? {} : { carried: before }
  for (let delay = FIRST_DELAY_MILLISECONDS; ; delay = Math.min(2 * delay, LONGEST_DELAY_MILLISECONDS)) {
    // nothing is held of an attempt before
    release()
    const { carried, attempted, cause } = await takeTurn(dependencies, subject, take, turn.carried ?? ahead)
    if (attempted !== undefined) return { carried, attempted }
    turn = { carried: { ...carried, hasLost: true }, cause: cause ?? turn.cause }
    const wait = delay * (0.5 + clock.random())
    if (clock.now() + wait >= deadline) throw lostRace(subject, turn.cause)
    await clock.sleep(wait)
  }
}

/** Reads the memory, takes the changes unless an earlier attempt did, and attempts what follows. */
const takeTurn = async (
  dependencies: Dependencies,
  subject: Subject,
  take: Batch['take'],
  begun: Carried | PrefetchInput | undefined,
): Promise<Turn> => {
  const { features, kubernetes, clock, recalls } = dependencies
  const recall = recalls(subjectName(subject), kubernetes.answered)
  const known = begun && 'changes' in begun ? begun : undefined
  const begin = (...read: [Memory, readonly Change[]]) => prefetch(features, kubernetes, recall, subject, ...read)
  const readingOf = prefetchForKnown(begin, begun && 'known' in begun ? begun : undefined)
  const memory = await loadWritten({ features, kubernetes, clock }, subject, known)
  const carried = known ?? { changes: take(), before: memory.state, dropped: [], writes: [] }
  try {
    return await attempt({ ...dependencies, recall }, subject, memory, carried, readingOf)
  } catch (error) {
    if (error instanceof NamespaceLeaving) return endedWith(carried, error.message)
    if (!isStale(error)) throw error
    return { carried, cause: error }
  }
}

/** The mark that no other step has to be fenced for. */
const ownMarkOf = ({ mark, isFencing }: Carried): string | undefined => (isFencing ? undefined : mark)

const isResync = (changes: readonly Change[]): boolean => changes.some(({ look }) => look?.isResync === true)

/** `reconciled` is undefined where there is nothing to do: no change was taken, or just a note. */
type Attempted = {
  readonly reconciled: Reconciled | undefined
  readonly found: Surroundings
  /** The units from which followed what was said. */
  readonly units?: State['units']
  /** Something is said once the policies stand that were written just now. */
  readonly hasHeldBack?: boolean
}

/** The pods that were seen may have brought a leader back, or be others than were told of. */
const isToBeRepeated = (features: Features, subject: Subject, attempted: Attempted): boolean =>
  attempted.reconciled !== undefined &&
  (isDue(subject, attempted.reconciled.state) || isUnsaid(features, attempted) || attempted.hasHeldBack === true)

/** Tells if a unit came or went after the attempt, for an application that publishes its units. */
const isUnsaid = (features: Features, { reconciled, units }: Attempted): boolean =>
  reconciled !== undefined &&
  units !== undefined &&
  features.dependsOnUnits(reconciled.state) &&
  !isDeepStrictEqual(reconciled.state.units.present, units.present)

type Dependencies = Omit<StepDependencies, 'connect' | 'recalls' | 'memories'> & {
  kubernetes: Kubernetes
  /** Gives back what was counted of lists. */
  release: () => void
  recalls: Recalls
}

/** Takes the changes into the memory, and brings the cluster to it. */
const attempt = async (
  {
    features,
    kubernetes,
    clock,
    environment,
    checkAdmissionPolicy,
    authorizeAuthor,
    recall,
  }: Dependencies & {
    recall: Recall
  },
  subject: Subject,
  memory: Memory,
  carried: Carried,
  readingOf: (memory: Memory, changes: readonly Change[]) => Prefetch,
): Promise<Turn> => {
  const { changes } = carried
  if (isInherited(memory) && changes.every(({ observation }) => observation))
    return endedWith(carried, LIBRARY_KEEPS_IT)
  if (changes.every(({ note }) => note === true))
    return ended(carried, await saveNotes({ features, kubernetes, clock }, subject, memory, changes))
  const { once, early, finding } = readingOf(memory, changes)
  const found = await withAuthors(features, authorizeAuthor, subject, changes, await finding)
  const now = new Date(clock.now())
  const lost = await withLostMemory(memory, subject, early)
  const current = { ...memory, state: await withPodsOfNow(features, subject, lost, early, changes) }
  const admitted = await admit({
    features,
    kubernetes: once,
    clock,
    memory: current,
    subject,
    changes: carried.taken ? [] : changes,
    found,
    now,
    checkAdmissionPolicy,
    authorizeAuthor,
  })
  const { state } = admitted
  const taken = carried.taken ?? admitted.taken
  if (carried.taken === undefined && taken.every((one) => one instanceof Error)) return ended(carried, taken)
  const wanted = withTargets(features, memory, subject, state, now)
  const isWhole = isAboutPods(changes)
  const seen = recallResolved(recall, 'both sides', subject, { state, peers: found.peers })
  const observed = await observeCluster(features, once, subject, wanted, seen, isWhole).catch((error: unknown) =>
    saveOnly({ features, kubernetes }, subject, memory, state, error),
  )
  if (memory.stored === undefined && isStranger(subject, changes, state, found, observed))
    return endedWith(carried, `${subjectName(subject)} is not known: nothing is remembered of it`)
  const labelled = withObservedLabels(features, memory, subject, state, { seen, observed, found })
  const { carried: known, resolved } = withLostEndpoints(memory, subject, labelled, { observed, found })
  const input = { subject, resolved, environment, seen: seenIn(observed) }
  await clock.yieldTurn()
  const sayable = recall('said', (given: PublishInput) => publishDatabags(features, given), {
    ...{ subject, resolved: withDeparting(resolved), state: features.plan(known, resolved, now) },
    content: recall('publications', (given: FeatureInput) => publicationsIn(features, given), input),
  })
  const { state: said, problems } = limitDatabags(memory, known, sayable)
  const requesters = await unknownRequesters(features.mesh, once, subject, known, found.peers, observed)
  const next = withTargets(features, memory, subject, said, now)
  const tried = await reconcile(
    { features, kubernetes, clock, environment, recall },
    {
      subject,
      memory,
      next: isResync(changes)
        ? withoutForgotten(subject, next, found.peers, now, unwantedKinds(features, next, observed))
        : next,
      resolved,
      peers: found.peers,
      requesters,
      observed,
      isWhole,
      ownMark: ownMarkOf(carried),
      hasRetried: carried.hasRetried === true,
      hasLost: carried.hasLost === true,
    },
  )
  const left = carriedOn(carried, { ...admitted, taken }, tried, memory)
  const { reconciled, cause } = tried
  if (reconciled === undefined) return { carried: left, cause }
  return {
    carried: left,
    attempted: {
      ...{ reconciled: { ...reconciled, problems: [...reconciled.problems, ...problems] }, found, units: known.units },
      // what was refused again has changed nothing to look at
      hasHeldBack: !left.hasRetried && features.isHeldBack(input),
    },
  }
}

/** The progress with which the next attempt goes on. */
const carriedOn = (
  carried: Carried,
  { taken, dropped }: Pick<FoldedMemory, 'taken' | 'dropped'>,
  { reconciled, mark, writes, hasRetried = false }: Attempt,
  { state: { writeToken } }: Memory,
): Carried => ({
  ...carried,
  taken: mark !== undefined || reconciled !== undefined ? taken : carried.taken,
  dropped: [...carried.dropped, ...dropped],
  writes: [...carried.writes, ...writes],
  ...(mark !== undefined && { mark, isFencing: ![undefined, ownMarkOf(carried)].includes(writeToken) }),
  hasRetried: carried.hasRetried === true || hasRetried,
})

/** The kinds of objects that stand, or may, and that the config does not want. */
const unwantedKinds = (features: Features, { config }: State, { owned: { kinds } }: Observed): string[] => {
  const wanted: readonly string[] = features.kinds(config)
  return kinds.flatMap(({ kind, live = [], problem }) =>
    !wanted.includes(kind) && (live.length > 0 || problem !== undefined) ? [kind] : [],
  )
}

/** Updates the units by the live pods, which decide who leads and may publish. An event about a removed pod may be lost. */
const withPodsOfNow = async (
  features: Features,
  subject: Subject,
  state: State,
  early: Promise<Observed>,
  changes: readonly Change[],
): Promise<State> => {
  const isClaimed = changes.some(({ look }) => look?.isClaim === true)
  if (!isClaimed && !dependsOnUnits(features, state)) return state
  // what cannot be observed is met again once the event is remembered
  const running = await early.then(
    (observed) => observed.running,
    () => ({}),
  )
  return withUnits(features, subject, state, running, isClaimed)
}

const LOOK_MILLISECONDS = 60
const MOST_LOOKS = 8

/**
 * Reads the memory. While somebody else is writing what this step has saved as well, to wait for that restarts fewer pods than to write it
 * again; whoever does not end may have died.
 */
const loadWritten = async (
  { features: { memories }, kubernetes, clock }: Pick<Dependencies, 'features' | 'kubernetes' | 'clock'>,
  subject: Subject,
  { taken, mark }: Pick<Carried, 'taken' | 'mark'> = {},
): Promise<Memory> => {
  let memory = await memories.load(kubernetes, subject)
  const { writeToken } = memory.state
  const isOthers = taken !== undefined && writeToken !== undefined && writeToken !== mark
  for (let looks = 0; isOthers && memory.state.writeToken === writeToken && looks < MOST_LOOKS; looks += 1) {
    await clock.sleep(LOOK_MILLISECONDS * (0.5 + clock.random()))
    memory = await memories.load(kubernetes, subject)
  }
  return memory
}

const LIBRARY_KEEPS_IT =
  'the charm library keeps the labels of this application: its first relation or config event moves it over'

const NOTHING_FOUND: Surroundings = { peers: new Map(), documents: { found: [], looked: [], expected: [] } }

/** The end of an attempt after which there is nothing to do. */
const ended = (carried: Carried, taken: readonly ChangeResult[]): Turn => ({
  carried: { ...carried, taken: carried.taken ?? taken },
  attempted: { reconciled: undefined, found: NOTHING_FOUND },
})

/** The end of an attempt that has one answer to all changes. */
const endedWith = (carried: Carried, message: string): Turn =>
  ended(
    carried,
    carried.changes.map(() => ({ message })),
  )

/** Somebody has to repair first what cannot be observed: the event is remembered, and counts then. */
const saveOnly = async (
  { features: { memories }, kubernetes }: Pick<Dependencies, 'features' | 'kubernetes'>,
  subject: Subject,
  memory: Memory,
  state: State,
  problem: unknown,
): Promise<never> => {
  const content = { state, labels: memory.labels }
  const isPassing = isStale(problem) || problem instanceof Unavailable
  if (!isPassing && !memories.isStored(memory, content)) await memories.save(kubernetes, subject, memory, content)
  throw problem
}

/** Notes change nothing that is desired: they are saved, and that is all. */
const saveNotes = async (
  { features, kubernetes, clock }: Pick<Dependencies, 'features' | 'kubernetes' | 'clock'>,
  subject: Subject,
  memory: Memory,
  changes: readonly Change[],
): Promise<readonly ChangeResult[]> => {
  const now = new Date(clock.now())
  const { state, taken } = await foldChanges({ features, clock }, memory, subject, changes, NOTHING_FOUND, now)
  const content = { state, labels: memory.labels }
  const { memories } = features
  if (memory.stored !== undefined && !memories.isStored(memory, content))
    await memories.save(kubernetes, subject, memory, content)
  return taken
}

/** Write-ahead record: previous targets, and the kinds of the objects that may be made. */
const withTargets = (features: Features, memory: Memory, { application }: Subject, state: State, now: Date): State => {
  const since = now.toISOString()
  const places = features.targets(application, memory.state.config).map((target) => ({ ...target, since }))
  const former = [...(state.previousTargets ?? []), ...places]
  const owned = [
    ...new Set([
      ...(state.owned ?? []),
      ...features.kinds(state.config).map(ownedName),
      ...Object.keys(state.previouslyOwned ?? {}),
    ]),
  ]
  const next = withPreviousTargets(state, former, features.targets(application, state.config))
  return owned.length === 0 ? next : { ...next, owned: owned.toSorted() }
}

/**
 * An application of which no platform, document or workload has told, and of which others only know the name: an alias, perhaps. No memory
 * is made for it.
 */
const isStranger = (
  subject: Subject,
  changes: readonly Change[],
  state: State,
  { documents }: Surroundings,
  observed: Observed,
): boolean =>
  changes.every(({ nudge, look }) => nudge !== undefined || look?.isResync === true) &&
  Object.keys(state.relations).length > 0 &&
  [...(state.owned ?? []), ...(state.previousTargets ?? [])].length === 0 &&
  !documents.found.some((one) => one.application === subject.application && !('isForbidden' in one)) &&
  !isDeployed(observed)

const lostRace = ({ namespace, application }: Subject, cause: unknown): Unavailable => {
  const last = cause instanceof Error ? ` (${cause.message})` : ''
  return new Unavailable(`${namespace}/${application} is being written by others as well, every race was lost${last}`, {
    cause,
  })
}
