import { isDeepStrictEqual } from 'node:util'
import { Refused } from '../../platform/base/errors.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { CheckAdmissionPolicy } from '../access/admission-policy.ts'
import { type Document, titleOf } from '../relations/told/documents.ts'
import type { Config } from '../state/config.ts'
import { configsIn, type State } from '../state/state.ts'
import { ownWorkload, type PodWorkload } from '../workload/config.ts'
import { withOwnFiles } from '../workload/names.ts'
import { type Conceal, createSecretStore } from '../workload/secret-store.ts'
import { hasSecrets } from '../workload/secrets.ts'
import { type TrialResult, tryWorkload } from '../workload/trial.ts'
import type { Change, ChangeResult } from './change.ts'
import type { Context } from './context.ts'
import { type FoldedMemory, foldChanges } from './fold/fold-changes.ts'
import { withWriteAhead } from './fold/possible-writes.ts'
import { createPermits } from './fold/sender-permits.ts'
import type { Surroundings } from './observe/surroundings.ts'
import type { Observation } from './observe.ts'

/**
 * Folds the memories of peers, the documents and the changes into the state. A change is refused if the API server would refuse its
 * workload, or if its sender may not ask for its effects. Each is refused on its own, and leaves no trace in the memory. Secret values are
 * written to their Secret here, so that no memory refers to a missing one.
 */
export const fold = async (
  { subject, features, clock, checkAdmissionPolicy, authorizeAuthor }: Context,
  { memory: read, state: current, found, once: kubernetes, now }: Observation,
  changes: readonly Change[],
): Promise<FoldedMemory> => {
  const memory = { ...read, state: current }
  const verdicts = new Map<string, TrialResult>()
  const permits = createPermits(features, subject, authorizeAuthor)
  const secrets = createSecretStore({ kubernetes, subject, state: memory.state, now })
  const conceal: Conceal = (config) => secrets.conceal(withOwnNames(subject, config))
  const secretive = new Set<Change>()
  const concealTold = (config: Config, change: Change): Config => {
    const workload = ownWorkload(config)
    if (workload && hasSecrets(workload, subject.application)) secretive.add(change)
    return conceal(config)
  }
  const known = workloadsIn(memory.state)
  const isKnown = (workload: PodWorkload) => known.some((one) => isDeepStrictEqual(one, workload))
  for (;;) {
    const missing = new Map<string, PodWorkload>()
    const verdictOn = (workload: PodWorkload): TrialResult => {
      const key = JSON.stringify(workload)
      if (!verdicts.has(key) && !isKnown(workload)) missing.set(key, workload)
      return verdicts.get(key)
    }
    const judged = {
      ...found,
      documents: { ...found.documents, found: found.documents.found.map(judge(verdictOn, conceal)) },
    }
    const check = (change: Change, before: State, after: State) => {
      permits.check(change, before, after, secretive.has(change))
      for (const workload of workloadsIn(after)) refuse(verdictOn(workload))
    }
    const remembered = await foldChanges({ features, clock }, memory, subject, changes, judged, now, check, concealTold)
    // permission first: a sender without it must not learn if the workload would be accepted
    if ((await permits.ask()) || (await secrets.read())) continue
    if (missing.size === 0) {
      if (!(await secrets.save(remembered.state))) continue
      const unguarded = await unguardedIn(subject, found, checkAdmissionPolicy)
      const state = withWriteAhead(features, read, subject, remembered.state, now)
      return told({ ...remembered, state }, subject, changes, judged, [...verdicts.values()], unguarded)
    }
    for (const [key, workload] of missing) verdicts.set(key, await tryWorkload(kubernetes, subject, workload))
  }
}

/** Returns the reason why the authors of the found documents are not authenticated, if there is one. */
const unguardedIn = async (
  { namespace }: Subject,
  { documents }: Surroundings,
  checkAdmissionPolicy: CheckAdmissionPolicy | undefined,
): Promise<string | undefined> => (documents.found.length > 0 ? await checkAdmissionPolicy?.(namespace) : undefined)

/** Lists the workloads that may come to run: that of the config, and those of configs that wait for a leader. */
const workloadsIn = (state: State): PodWorkload[] => configsIn(state).flatMap((one) => ownWorkload(one) ?? [])

const withOwnNames = ({ application }: Subject, config: Config): Config => {
  const workload = ownWorkload(config)
  return workload ? { ...config, workload: withOwnFiles(application, workload) } : config
}

const refuse = (verdict: TrialResult): void => {
  if (verdict && 'refused' in verdict) throw new Refused(400, verdict.refused)
}

/** Turns a document whose workload is refused into an unreadable one: its earlier content stays in effect. */
const judge =
  (verdictOn: (workload: PodWorkload) => TrialResult, conceal: Conceal) =>
  (given: Document): Document => {
    const document = 'config' in given ? concealedIn(given, given.config, conceal) : given
    const workload = 'config' in document ? ownWorkload(document.config) : undefined
    const verdict = workload && verdictOn(workload)
    if (!verdict || !('refused' in verdict)) return document
    return { ...titleOf(document), problem: verdict.refused }
  }

const concealedIn = (document: Document, config: Config, conceal: Conceal): Document => {
  try {
    return { ...titleOf(document), config: conceal(config) }
  } catch (error) {
    return { ...titleOf(document), problem: (error as Error).message }
  }
}

/** Reports a refused document: as an error to its sender, and as a message to other changes that looked at it. */
const told = (
  { state, taken, dropped }: FoldedMemory,
  { application }: Subject,
  changes: readonly Change[],
  { documents }: Surroundings,
  verdicts: readonly TrialResult[],
  unguarded: string | undefined,
): FoldedMemory => {
  const notes = verdicts.flatMap((verdict) => (verdict && 'note' in verdict ? [verdict.note] : []))
  const answer = (one: ChangeResult, index: number): ChangeResult => {
    if (one instanceof Error) return one
    const { look } = changes[index] ?? {}
    const own = documents.found.filter((document) => (document.application ?? application) === application)
    const unread = own.flatMap((document) => ('problem' in document ? document : []))
    const sent = unread.find(({ name }) => name === look?.document)
    if (sent?.isForbidden) return new Refused(403, sent.problem)
    if (sent && verdicts.some((verdict) => isFor(verdict, sent.problem))) return new Refused(400, sent.problem)
    const message = [one.message, unguarded, ...notes, ...unread.map(({ problem }) => problem)]
      .filter((text) => text !== undefined)
      .join('; ')
    return message === '' ? one : { ...one, message }
  }
  return { state, taken: taken.map(answer), dropped }
}

const isFor = (verdict: TrialResult, problem: string): boolean =>
  verdict !== undefined && 'refused' in verdict && verdict.refused === problem
