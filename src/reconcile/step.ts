import { isDeepStrictEqual } from 'node:util'
import type { CheckAdmissionPolicy } from '../access/admission-policy.ts'
import type { AuthorizeAuthor } from '../access/document-authors.ts'
import type { Budget } from '../base/budget.ts'
import type { Clock } from '../base/clock.ts'
import { NamespaceLeaving, Unavailable } from '../base/errors.ts'
import { createRecalls, type Recalls } from '../base/recall.ts'
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
import { admit } from './admit.ts'
import { limitDatabags, type PublishInput, publicationsIn, publishDatabags } from './databags.ts'
import { isDue } from './derive.ts'
import { unmetExpectations } from './expectations.ts'
import { type Change, type ChangeResult, foldChanges } from './fold-changes.ts'
import { withAuthors } from './judged-documents.ts'
import { createLookBudget } from './look-budget.ts'
import { withLostEndpoints, withLostMemory, withObservedLabels } from './lost-memory.ts'
import { dependsOnUnits, withUnits } from './observe-units.ts'
import { isDeployed, type Observed, observeCluster, seenIn } from './observed.ts'
import { EMPTY_OUTBOX, type Outbox, outboxAfter } from './outbox.ts'
import type { Drift } from './plan/drift.ts'
import {
  type KnownMemories,
  type PrefetchInput,
  prefetch,
  prefetchForKnown,
  recallResolved,
  withKnownMemories,
} from './prefetch.ts'
import { type Reconciled, reconcile } from './reconcile.ts'
import { type Outcome, outcomeOf } from './result.ts'
import { isAboutPods, type Surroundings } from './surroundings.ts'
import { unknownRequesters } from './unknown-consumers.ts'

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

/** The progress of a step over its attempts: the results of remembered changes, and all that was written for them. */
type Progress = {
  /** The memory and the change for which the first attempt reads ahead. */
  readonly ahead: PrefetchInput | undefined
  changes: readonly Change[] | undefined
  taken: readonly ChangeResult[] | undefined
  readonly written: Set<string>
  readonly drift: Drift[]
  /** Of what was written, what is gone. */
  readonly removed: Set<string>
  /** Data of units that did not come to lead, a sentence each. */
  dropped: readonly string[]
  /** The mark under which the last attempt wrote. */
  mark?: string
  /** It took the place of another step's mark: what that may still write is to be fenced until an attempt has come to its end. */
  isFencing?: boolean
  /** An attempt of this step tried again what was refused before. */
  hasRetried?: true
  /** Somebody else writes as well. */
  hasLost?: true
  /** The state before the first attempt. */
  before: State | undefined
}

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
    const progress: Progress = {
      ahead: aheadOf(memories.known(subject), alone),
      changes: undefined,
      taken: undefined,
      written: new Set(),
      removed: new Set(),
      dropped: [],
      drift: [],
      before: undefined,
    }
    const dependencies = {
      ...{ features, kubernetes, release, clock, environment, checkAdmissionPolicy, authorizeAuthor, recalls },
    }

    let attempted = await retryOnConflict(dependencies, subject, { take, deadline }, progress)
    if (isToBeRepeated(features, subject, attempted))
      attempted = await retryOnConflict(dependencies, subject, { take, deadline }, progress)
    const { reconciled, found } = attempted
    const { changes = [] } = progress
    const unmet = reconciled ? await unmetExpectations(features, kubernetes, subject, reconciled.state) : []
    const written = [...progress.written]
    const done = reconciled && {
      ...reconciled,
      problems: [...reconciled.problems, ...unmet],
      messages: [...reconciled.messages, ...misspeltEndpoints(subject, reconciled.state), ...new Set(progress.dropped)],
      written,
      removed: [...progress.removed],
      drift: isResync(changes) ? progress.drift : [],
    }
    const outcomes = (progress.taken ?? []).map((one) => outcomeOf(subject, one, done))
    return {
      outcomes,
      due: reconciled
        ? outboxAfter(features, subject, reconciled.state, found.peers, changes, progress, new Date(clock.now()))
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

/** Attempts until nobody was faster. */
const retryOnConflict = async (
  dependencies: Dependencies,
  subject: Subject,
  { take, deadline }: Batch,
  progress: Progress,
): Promise<Attempted> => {
  const { clock, release } = dependencies
  let lost: unknown
  for (let delay = FIRST_DELAY_MILLISECONDS; ; delay = Math.min(2 * delay, LONGEST_DELAY_MILLISECONDS)) {
    // nothing is held of an attempt before
    release()
    const won = await attempt(dependencies, subject, take, progress).catch((error: unknown) => {
      if (error instanceof NamespaceLeaving)
        return done(
          progress,
          (progress.changes ?? []).map(() => ({ message: error.message })),
        )
      if (!isStale(error)) throw error
      lost = error
    })
    if (won !== undefined) return won
    progress.hasLost = true
    const wait = delay * (0.5 + clock.random())
    if (clock.now() + wait >= deadline) throw lostRace(subject, lost)
    await clock.sleep(wait)
  }
}

/** The mark that no other step has to be fenced for. */
const ownMarkOf = ({ mark, isFencing }: Progress): string | undefined => (isFencing ? undefined : mark)

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

/** Answers undefined, or rejects with an error that isStale, when somebody was faster. */
const attempt = async (
  { features, kubernetes, clock, environment, checkAdmissionPolicy, authorizeAuthor, recalls }: Dependencies,
  subject: Subject,
  take: Batch['take'],
  progress: Progress,
): Promise<Attempted | undefined> => {
  const recall = recalls(subjectName(subject), kubernetes.answered)
  const begin = (...read: [Memory, readonly Change[]]) => prefetch(features, kubernetes, recall, subject, ...read)
  const readingOf = prefetchForKnown(begin, progress.changes ? undefined : progress.ahead)
  const memory = await loadWritten({ features, kubernetes, clock }, subject, progress)
  progress.changes ??= take()
  progress.before ??= memory.state
  const { changes } = progress
  const isNote = changes.every(({ note }) => note === true)
  if (isInherited(memory) && changes.every(({ observation }) => observation))
    return done(
      progress,
      changes.map(() => ({ message: LIBRARY_KEEPS_IT })),
    )
  if (isNote) return await note({ features, kubernetes, clock }, subject, memory, changes, progress)
  const { once, early, finding } = readingOf(memory, changes)
  const found = await withAuthors(features, authorizeAuthor, subject, changes, await finding)
  const now = new Date(clock.now())
  const lost = await withLostMemory(memory, subject, early)
  const current = { ...memory, state: await withPodsOfNow(features, subject, lost, early, changes) }
  // once saved the changes are in the memory: starting over must not fold them in a second time
  const left = progress.taken ? [] : changes
  const { state, taken, dropped } = await admit({
    features,
    kubernetes: once,
    clock,
    memory: current,
    subject,
    changes: left,
    found,
    now,
    checkAdmissionPolicy,
    authorizeAuthor,
  })
  progress.dropped = [...progress.dropped, ...dropped]
  if (progress.taken === undefined && taken.every((one) => one instanceof Error)) return done(progress, taken)
  const wanted = withTargets(features, memory, subject, state, now)
  const isWhole = isAboutPods(changes)
  const seen = recallResolved(recall, 'both sides', subject, { state, peers: found.peers })
  const observed = await observeCluster(features, once, subject, wanted, seen, isWhole).catch((error: unknown) =>
    saveOnly({ features, kubernetes }, subject, memory, state, error),
  )
  if (memory.stored === undefined && isStranger(subject, changes, state, found, observed))
    return done(
      progress,
      changes.map(() => ({
        message: `${subject.namespace}/${subject.application} is not known: nothing is remembered of it`,
      })),
    )
  const labelled = withObservedLabels(features, memory, subject, state, { seen, observed, found })
  const { carried, resolved } = withLostEndpoints(memory, subject, labelled, { observed, found })
  const input = { subject, resolved, environment, seen: seenIn(observed) }
  await clock.yieldTurn()
  const sayable = recall('said', (given: PublishInput) => publishDatabags(features, given), {
    ...{ subject, resolved: withDeparting(resolved), state: features.plan(carried, resolved, now) },
    content: recall('publications', (given: FeatureInput) => publicationsIn(features, given), input),
  })
  const { state: said, problems } = limitDatabags(memory, carried, sayable)
  const requesters = await unknownRequesters(features.mesh, once, subject, carried, found.peers, observed)
  const next = withTargets(features, memory, subject, said, now)
  const ownMark = ownMarkOf(progress)
  const reconciled = await reconcile(
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
      ownMark,
      hasRetried: progress.hasRetried === true,
      hasLost: progress.hasLost === true,
      retried: () => {
        progress.hasRetried = true
      },
      saved: (mark) => {
        progress.taken ??= taken
        progress.mark = mark
        progress.isFencing = ![undefined, ownMark].includes(memory.state.writeToken)
      },
      wrote: (name, { drift, isGone } = { drift: [], isGone: false }) => {
        progress.written.add(name)
        progress.drift.push(...drift)
        if (isGone) progress.removed.add(name)
        else progress.removed.delete(name)
      },
    },
  )
  if (reconciled === undefined) return undefined
  progress.taken ??= taken
  return {
    ...{ reconciled: { ...reconciled, problems: [...reconciled.problems, ...problems] }, found, units: carried.units },
    // what was refused again has changed nothing to look at
    hasHeldBack: progress.hasRetried !== true && features.isHeldBack(input),
  }
}

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
  { taken, mark }: Progress,
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

const done = (progress: Progress, taken: readonly ChangeResult[]): Attempted => {
  progress.taken ??= taken
  return { reconciled: undefined, found: NOTHING_FOUND }
}

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
const note = async (
  { features, kubernetes, clock }: Pick<Dependencies, 'features' | 'kubernetes' | 'clock'>,
  subject: Subject,
  memory: Memory,
  changes: readonly Change[],
  progress: Progress,
): Promise<Attempted> => {
  const { state, taken } = await foldChanges(
    { features, clock },
    memory,
    subject,
    changes,
    NOTHING_FOUND,
    new Date(clock.now()),
  )
  const content = { state, labels: memory.labels }
  const { memories } = features
  if (memory.stored !== undefined && !memories.isStored(memory, content))
    await memories.save(kubernetes, subject, memory, content)
  return done(progress, taken)
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
