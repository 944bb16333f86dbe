import { isDeepStrictEqual } from 'node:util'
import { Refused } from '../../platform/base/errors.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { CheckAdmissionPolicy } from '../access/admission-policy.ts'
import type { Document } from '../relations/documents.ts'
import { pendingIn } from '../state/awaiting-leader.ts'
import type { Config } from '../state/config.ts'
import type { State } from '../state/state.ts'
import { type Conceal, createSecretStore } from '../workload/conceal.ts'
import { ownWorkload, type PodWorkload } from '../workload/config.ts'
import { withOwnFiles } from '../workload/names.ts'
import { hasSecrets } from '../workload/secrets.ts'
import { type TrialResult, tryWorkload } from '../workload/trial.ts'
import type { Change, ChangeResult } from './change.ts'
import type { Context } from './context.ts'
import { type FoldedMemory, foldChanges } from './fold/fold-changes.ts'
import { createPermits } from './fold/sender-permits.ts'
import { withWriteAhead } from './fold/write-ahead.ts'
import type { Surroundings } from './observe/surroundings.ts'
import type { Observation } from './observe.ts'

/**
 * Takes what others say and the changes into the state, but for changes that bring a workload which the API server would refuse, or that ask
 * for effects which their senders may not ask for: these are refused, each on its own, and nothing of them is remembered. Secret values are
 * written to their Secret here, so that no memory ever refers to one that is not there.
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
    // whoever may not ask for it need not know whether it would be taken
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

/** The reason why nobody asks who writes the documents that were found. */
const unguardedIn = async (
  { namespace }: Subject,
  { documents }: Surroundings,
  checkAdmissionPolicy: CheckAdmissionPolicy | undefined,
): Promise<string | undefined> => (documents.found.length > 0 ? await checkAdmissionPolicy?.(namespace) : undefined)

/** Those that may come to run: of the config, and of one that waits for a leader. */
const workloadsIn = ({ config, pending }: State): PodWorkload[] =>
  [config, ...pendingIn({ pending }).map(({ data }) => data.config)].flatMap((one) => ownWorkload(one) ?? [])

const withOwnNames = ({ application }: Subject, config: Config): Config => {
  const workload = ownWorkload(config)
  return workload ? { ...config, workload: withOwnFiles(application, workload) } : config
}

const refuse = (verdict: TrialResult): void => {
  if (verdict && 'refused' in verdict) throw new Refused(400, verdict.refused)
}

/** A document whose workload is refused is one that cannot be read: what it said before stays. */
const judge =
  (verdictOn: (workload: PodWorkload) => TrialResult, conceal: Conceal) =>
  (given: Document): Document => {
    const document = 'config' in given ? concealedIn(given, given.config, conceal) : given
    const workload = 'config' in document ? ownWorkload(document.config) : undefined
    const verdict = workload && verdictOn(workload)
    if (!verdict || !('refused' in verdict)) return document
    const { name, application } = document
    return { name, ...(application !== undefined && { application }), problem: verdict.refused }
  }

const concealedIn = ({ name, application }: Document, config: Config, conceal: Conceal): Document => {
  const named = { name, ...(application !== undefined && { application }) }
  try {
    return { ...named, config: conceal(config) }
  } catch (error) {
    return { ...named, problem: (error as Error).message }
  }
}

/** Reports a refused document: to its sender as an error, to others whose changes looked at it as a message. */
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
