import { Unavailable } from '../../platform/base/errors.ts'
import { subjectName } from '../../platform/base/subject.ts'
import { isVersionConflict } from '../../platform/kubernetes/api-error.ts'
import { workersAwaited } from '../relations/offers/awaited-peers.ts'
import { hasMoved, peersToReread } from '../relations/offers/claims.ts'
import { readPeers } from '../relations/peers.ts'
import { labelsHandedElsewhere } from '../relations/requested-labels.ts'
import { rememberedDocuments } from '../relations/told/documents.ts'
import { type Content, type Memory, memoryObject } from '../state/memory.ts'
import type { State } from '../state/state.ts'
import type { AttemptProgress, ObjectWrite, Overtaken } from './attempts.ts'
import type { Change, ChangeResult } from './change.ts'
import type { Context } from './context.ts'
import type { Decision } from './decide.ts'
import { foldChanges } from './fold/fold-changes.ts'
import type { Surroundings } from './observe/surroundings.ts'

/** The memory after it was saved for a decision. */
export type Saved = AttemptProgress & { readonly memory: Memory }

/**
 * Saves the memory with its claims and a new write token, before anything else is written (write-ahead). Of two steps that read the same
 * version, the second to save starts over. A step that saves after another one overtakes it: the later saves and writes of the other one
 * fail. Then the offers that it claims, and the claims of offers that it changes, are read again. Nothing is saved if there is nothing to
 * write.
 */
export const save = async (context: Context, decision: Decision): Promise<Saved> => {
  const { memory, next, isWriting } = decision
  if (!isWriting) return { memory, writes: [] }
  const writeToken = context.clock.random().toString(36).slice(2, 12)
  const saved = await saveContent(context, memory, writeAheadContent(context, decision, next, writeToken))
  if ('overtaken' in saved) return { memory, writes: [], overtaken: saved.overtaken }
  const progress = { memory: saved.memory, writeToken, writes: [memoryWrite(context)] }
  const hasMoved =
    (await isDocumentGone(context, memory, saved.memory)) || (await hasPeerMoved(context, decision, saved.memory))
  return hasMoved ? { ...progress, overtaken: {} } : progress
}

/** Tells if a document is gone that a first memory follows. Whoever heard of that before found no memory, and so nothing to end. */
export const isDocumentGone = async (
  { kubernetes, subject: { namespace } }: Context,
  { stored }: Memory,
  { state }: Memory,
): Promise<boolean> => {
  const names = stored === undefined ? rememberedDocuments(state) : []
  const found = [...names].map((name) => kubernetes.find({ kind: 'ConfigMap', namespace, name }))
  return (await Promise.all(found)).includes(undefined)
}

/** Saves the memory, unless another writer was faster. */
export const saveContent = async (
  { features, kubernetes, subject }: Context,
  memory: Memory,
  content: Content,
): Promise<{ readonly memory: Memory } | { readonly overtaken: Overtaken }> => {
  try {
    return { memory: await features.memories.save(kubernetes, subject, memory, content) }
  } catch (error) {
    if (!isVersionConflict(error)) throw error
    return { overtaken: { cause: error } }
  }
}

export const memoryWrite = ({ subject }: Context): ObjectWrite => ({
  name: memoryObject(subject),
  drift: [],
  isGone: false,
})

/** Reads the peers again whose offers are claimed, or whose claims are of an offer that changes, and tells if one has moved. */
const hasPeerMoved = async (
  { kubernetes, subject }: Context,
  { memory, peers }: Decision,
  { state: saved }: Memory,
): Promise<boolean> => {
  const known = peersToReread(subject, memory.state, saved).filter(({ remote }) => peers.has(subjectName(remote)))
  const remotes = new Map(known.map(({ remote }) => [subjectName(remote), remote]))
  const again = await readPeers(kubernetes, [...remotes.values()])
  return known.some(({ key }) => hasMoved(subject, saved, key, peers, again))
}

/** Builds the write-ahead record: the newly desired labels, the awaited labels of workers, and the write token. */
const writeAheadContent = (context: Context, decision: Decision, state: State, writeToken: string): Content => ({
  state: { ...state, writeToken, ...(isAwaitingWorkers(context, decision) && { awaiting: 'labels-applied' }) },
  labels: {
    ...decision.memory.labels,
    ...labelsHandedElsewhere(context.subject, decision.resolved.state),
    ...decision.situation.desired.labels.labels,
  },
})

/** Tells if workers of the application have yet to carry labels. */
export const isAwaitingWorkers = ({ subject }: Context, { next, resolved, peers }: Decision): boolean =>
  workersAwaited(subject, next, resolved, peers).length > 0

/** Saves a state whose cluster cannot be observed, and throws the problem. The changes are remembered, and take effect once the problem is repaired. */
export const saveUnobserved = async (
  { subject, features: { memories }, kubernetes }: Context,
  memory: Memory,
  state: State,
  problem: unknown,
): Promise<never> => {
  const content = { state, labels: memory.labels }
  const isPassing = isVersionConflict(problem) || problem instanceof Unavailable
  if (!isPassing && !memories.isStored(memory, content)) await memories.save(kubernetes, subject, memory, content)
  throw problem
}

/** Saves notes. They change nothing that is desired, so the step does nothing else. */
export const saveNotes = async (
  { subject, features, kubernetes, clock }: Context,
  memory: Memory,
  changes: readonly Change[],
): Promise<readonly ChangeResult[]> => {
  const now = new Date(clock.now())
  const { state, taken } = await foldChanges({ features, clock }, memory, subject, changes, NO_SURROUNDINGS, now)
  const content = { state, labels: memory.labels }
  const { memories } = features
  if (memory.stored !== undefined && !memories.isStored(memory, content))
    await memories.save(kubernetes, subject, memory, content)
  return taken
}

const NO_SURROUNDINGS: Surroundings = { peers: new Map(), documents: { found: [], looked: [] } }
