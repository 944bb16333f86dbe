import { type Condition, condition } from '../../platform/base/condition.ts'
import { changed, defined, ownValue } from '../../platform/base/own-value.ts'
import { isTemplate } from '../../platform/kubernetes/apply-labels.ts'
import { isLeavingPods } from '../../platform/kubernetes/rollout.ts'
import { isPending, isSettling } from '../policies/unenforced.ts'
import { isAwaitedByProvider } from '../relations/offers/awaited-peers.ts'
import { recordProgress } from '../relations/offers/claims.ts'
import { withSending } from '../relations/offers/nudges.ts'
import { withVersions } from '../relations/offers/published-version.ts'
import { labelsHandedElsewhere, labelsHandedOn, offersLabels } from '../relations/requested-labels.ts'
import { parseRequester } from '../relations/requester-names.ts'
import type { Content, Memory } from '../state/memory.ts'
import type { State } from '../state/state.ts'
import { isFailed, type Report, skippedMessage } from './apply/execute.ts'
import type { Applied } from './apply.ts'
import type { AttemptProgress } from './attempts.ts'
import type { Context } from './context.ts'
import { type Conflict, isLabelOperation, type Operation, objectOf } from './decide/operation.ts'
import { missingObjects } from './decide/writes-before-offers.ts'
import type { Decision } from './decide.ts'
import { withCauses } from './observe/accepted-objects.ts'
import { missingIn, observeTargets } from './observe/cluster.ts'
import { hasPodsWithout } from './observe/pods-on-mesh.ts'
import { type Found, observeRunning, type Running, withUnits } from './observe/units.ts'
import { heldOf, type Judgement, judge } from './record/conditions.ts'
import { finalMemory, refusalsOf, withOwnedKinds, withRefusals } from './record/final-memory.ts'
import { beginnings, isDatedAnew, waitsOf, withBeginnings } from './record/waits.ts'
import { isAwaitingWorkers, isDocumentGone, memoryWrite, saveContent } from './save.ts'

/** The result of a completed step: the memory as recorded, and the report of the cluster. */
export type Reconciled = {
  state: State
  conflicts: readonly Conflict[]
  /** Everything that the step holds back: until others act, or because it was refused or cannot be read, or depends on that. */
  held: readonly Condition[]
  messages: readonly string[]
} & Judgement

/** The progress of recording. `reconciled` is undefined if another writer was faster. */
export type Recorded = AttemptProgress & {
  readonly reconciled?: Reconciled | undefined
  /** Something was written that offers to other applications follow from. */
  readonly isOfferDue?: boolean
}

/** Records the progress of the plan: reduces the memory to the labels and kinds still held, adds the waits, and saves it if it differs. */
export const record = async (
  context: Context,
  decision: Decision,
  saved: Memory,
  applied: Applied,
): Promise<Recorded> => {
  const { features, subject, clock } = context
  const { memory, next, resolved, peers, situation, observed } = decision
  const { plan: planned, reports, targets, waitForPods } = applied
  await clock.yieldTurn()
  const [workload] = targets.current
  const running = saved === memory ? observed.running : await observeWritten(context, decision, workload)
  const now = new Date(clock.now())
  const conflicts = [...planned.conflicts, ...reports.flatMap((report) => report.conflicts)]
  const isBare = await isBareYet(context, decision)
  const content = contentAfter(context, decision, saved, applied, { running, conflicts, isBare, now })
  const waits = waitsOf({
    ...{ mesh: features.mesh, subject, state: next, resolved, peers, desired: situation.desired },
    plan: { waiting: planned.waiting, conflicts },
    ...{ waitForPods, running, missing: missingIn(features, subject, next, targets.current, situation.desired.labels) },
    unenforced: await unenforcedSince(context, decision, reports, now),
  })
  const waitingSince = beginnings(waits, content.state.waitingSince, now)
  const isStored = features.memories.isStored(saved, content) && !isDatedAnew(waitingSince, content.state)
  const dated = { ...content, state: changed(content.state, { waitingSince }) }
  const recorded = isStored ? { memory: saved } : await saveContent(context, saved, dated)
  if ('overtaken' in recorded) return { writes: [], overtaken: recorded.overtaken }
  if (!isStored && (await isDocumentGone(context, saved, recorded.memory)))
    return { writes: [memoryWrite(context)], overtaken: {} }
  const reconciled = reconciledOf(context, decision, applied, recorded.memory.state, {
    running,
    conflicts,
    waiting: withBeginnings(waits, recorded.memory.state),
    now,
  })
  return {
    reconciled,
    isOfferDue: isOfferDue(context, decision, reports),
    writes: isStored ? [] : [memoryWrite(context)],
  }
}

/**
 * Tells if an offer follows from what a step has written or touched: it rests on that, or that is the mesh's own. Labels of the application, and policies
 * that relations asked for, change no other offer.
 */
const isOfferDue = (
  { features: { mesh } }: Context,
  { next, heldOffers }: Decision,
  reports: readonly Report[],
): boolean => {
  const written = reports.flatMap(({ isWritten, operation }) => (isWritten ? [operation] : []))
  const isOfMesh = (operation: Operation) =>
    isLabelOperation(operation)
      ? operation.object.startsWith('Namespace ')
      : mesh.requestersOf(objectOf(operation)).every((name) => parseRequester(name) === undefined)
  const isHeldDue = heldOffers.length > 0 && reports.some((report) => report.isWritten || isTouched(report))
  return Object.values(next.relations).some(offersLabels) && (isHeldDue || written.some(isOfMesh))
}

const isTouched = (report: Report): boolean => report.operation.verb === 'touch' && !isFailed(report)

/** Computes the report of the application from the recorded state. */
const reconciledOf = (
  { features, subject }: Context,
  { situation: { desired }, resolved, noRoom }: Decision,
  { plan: planned, reports }: Applied,
  state: State,
  { running, conflicts, waiting, now }: Seen,
): Reconciled => {
  const refused = refusalsOf(planned, reports)
  const skipped = reports.flatMap((report) => {
    const message = skippedMessage(report)
    return message === undefined ? [] : [condition('Waiting', 'DependsOnRefused', report.operation.object, message)]
  })
  const held = heldOf(subject, state, { waiting, refused, running, noRoom, skipped })
  return {
    ...{ state, conflicts, held, messages: [...desired.messages, ...planned.messages] },
    ...judge(features, subject, state, resolved, { running, held, desired, now }),
  }
}

type Seen = {
  readonly running: Running
  readonly conflicts: readonly Conflict[]
  readonly waiting: readonly Condition[]
  readonly now: Date
}

/** Computes the memory after a plan was applied: the held labels, the progress of relations, and the refusals. */
const contentAfter = (
  context: Context,
  decision: Decision,
  saved: Memory,
  { plan: planned, reports, targets, waitForPods }: Applied,
  { running, conflicts, isBare, now }: { running: Running; conflicts: readonly Conflict[]; isBare: boolean; now: Date },
): Content => {
  const { features, subject } = context
  const { memory, next, resolved, peers, situation } = decision
  const failed = reports.filter(isFailed).map(({ operation }) => operation)
  const failedLabelling = failed.filter(isLabelOperation)
  const isUnread = [...targets.current, ...targets.earlier].some(({ problem }) => problem !== undefined)
  const elsewhere = labelsHandedElsewhere(subject, resolved.state)
  const handedOn = { ...labelsHandedOn(memory.labels, resolved.state), ...elsewhere }
  const wanted = { ...elsewhere, ...situation.desired.labels.labels }
  const isHandedOn = Object.keys(handedOn).some((key) => ownValue(wanted, key) === undefined)
  const isCarried = isUnread || waitForPods !== undefined
  const held = finalMemory(memory, next, situation.desired, {
    ...{ application: subject.application, workload: targets.current[0], isCarried, conflicts },
    ...{ failed: failedLabelling, handedOn },
  })
  const missing = missingObjects(planned, failed)
  const progressed = recordProgress(subject, held.state, resolved, peers, {
    requesters: new Set(missing.flatMap(features.mesh.requestersOf)),
    isUnlabelled: isBare || failedLabelling.length > 0,
    mayBeLabelled: failedLabelling.length > 0 || isCarried || isHandedOn || resolved.unknown.offers,
  })
  const { units } = withUnits(features, subject, next, running)
  const refused = withRefusals({ ...progressed, units }, planned, reports)
  const { state, labels } = withVersions(saved, {
    state: withOwnedKinds(features, refused, memory.state, now),
    labels: held.labels,
  })
  // requirers of relations that are over tell when they have let go
  const isLeft = Object.values(resolved.state.relations).some(({ standing }) => standing === 'leaving')
  const awaiting =
    planned.awaiting ??
    (isHandedOn || isAwaitingWorkers(context, decision) ? 'labels-applied' : isLeft ? 'labels-removed' : undefined)
  return { state: defined({ ...withSending(subject, state, peers), awaiting }), labels }
}

/** Tells if pods without the labels are left, where a provider waits for these: a namespace must not let go of them before. */
const isBareYet = async (
  { features: { mesh }, kubernetes, subject }: Context,
  { next, peers, situation }: Decision,
): Promise<boolean> =>
  Object.hasOwn(situation.desired.labels.labels, mesh.enrolment.key) &&
  isAwaitedByProvider(subject, next, peers) &&
  (await hasPodsWithout(mesh, kubernetes, subject))

/**
 * Observes the running pods again, because the step's writes may have replaced some. Reads the template again as well where it may keep old
 * pods, or where the targets are pods with labels of their own.
 */
const observeWritten = async (
  { features, kubernetes, subject }: Context,
  { next, isWhole }: Decision,
  workload: Found | undefined,
): Promise<Running> => {
  const isLeaving = workload?.places?.some((place) => isTemplate(place) && isLeavingPods(place.object)) === true
  const isByPods = isLeaving || workload?.target.on === 'pods'
  const [found] = isByPods ? (await observeTargets(features, kubernetes, subject, next)).current : [workload]
  return await observeRunning(features, kubernetes, subject, next, found, isWhole)
}

/**
 * Lists the waits for the mesh. Objects that were written in the last moments are left out, because the mesh may be about to accept them.
 */
const unenforcedSince = async (
  { features: { mesh }, kubernetes, subject: { namespace } }: Context,
  { observed, situation }: Decision,
  reports: readonly Report[],
  now: Date,
): Promise<Condition[]> => {
  const written = new Set(reports.flatMap(({ isWritten, operation }) => (isWritten ? [operation.object] : [])))
  const left = situation.unenforced.filter((one) => !written.has(one.condition.object) && !isSettling(one, now))
  const cause = mesh.causeIn(namespace, observed.lookups)
  const isTold = left.some((one) => isPending(one) && one.live.metadata.namespace === namespace)
  return [...(cause === undefined || isTold ? [] : [cause]), ...(await withCauses(mesh, kubernetes, left))]
}
