import pMap from 'p-map'
import { describeRefusal, isRefusal, isVersionConflict } from '../../../platform/kubernetes/api-error.ts'
import { writeLabels } from '../../../platform/kubernetes/apply-labels.ts'
import { applyObject } from '../../../platform/kubernetes/apply-objects.ts'
import type { Kubernetes } from '../../../platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import { touch } from '../../../platform/kubernetes/touch.ts'
import { forget } from '../../workload/secret-store.ts'
import type { Overtaken } from '../attempts.ts'
import { type Conflict, isRelabelling, isRolling, type Operation, objectIn } from '../decide/operation.ts'

/** The result of an operation: if it wrote, its conflicts, its refusal, or the failed operation that it depends on. */
export type Report = {
  readonly operation: Operation
  readonly isWritten: boolean
  readonly conflicts: readonly Conflict[]
  readonly refused?: string
  readonly skipped?: string
}

type Conditions = {
  readonly isDenying: (policy: KubernetesObject) => boolean
  /** The ids of operations that have failed or cannot be done. */
  readonly failed: Iterable<string>
  /** Tells if no other step was faster. It is called before a pod template is written. */
  readonly confirmCurrent: () => Promise<boolean>
  /** The memory was saved a moment ago and no other writer is known, so the first operation needs no check. */
  readonly isFresh?: boolean
}

/** The reports of the executed operations. `overtaken` is set if another step was faster, and the rest was not executed. */
export type Execution = { readonly reports: readonly Report[]; readonly overtaken?: Overtaken }

/**
 * Executes the operations in order, and reports each. After a refusal or a conflict only the dependent operations are skipped. Rejects if
 * the API server cannot be reached.
 */
export const execute = async (
  kubernetes: Kubernetes,
  operations: readonly Operation[],
  { failed, confirmCurrent, isDenying, isFresh = false }: Conditions,
): Promise<Execution> => {
  const broken = new Set(failed)
  /** The objects created or changed in this run, because several writes to one object may follow each other. */
  const applied = new Map<string, KubernetesObject>()
  const reports: Report[] = []
  const report = (one: Report): void => {
    if (isFailed(one)) broken.add(one.operation.id)
    reports.push(one)
  }
  let looked = isFresh ? Promise.resolve(true) : undefined
  for (let left = operations; left.length > 0; left = operations.slice(reports.length)) {
    const [first] = left as [Operation]
    const skipped = first.needs.find((id) => broken.has(id))
    if (skipped !== undefined) {
      report({ operation: first, skipped, isWritten: false, conflicts: [] })
      continue
    }
    const together = sideBySide(left, broken, applied, isDenying)
    if (together.some(isRolling) && !(await (looked ?? confirmCurrent()))) return { reports, overtaken: {} }
    looked = lookAhead(left[together.length], confirmCurrent)
    const { reports: done, overtaken } = await attemptAll(kubernetes, together, applied)
    for (const one of done) report(one)
    if (overtaken) return { reports, overtaken }
  }
  return { reports }
}

/** Starts the check for the next operation early, while earlier ones are executed, if that operation restarts pods. */
const lookAhead = (
  next: Operation | undefined,
  isCurrent: Conditions['confirmCurrent'],
): Promise<boolean> | undefined => {
  const looked = next && isRolling(next) ? isCurrent() : undefined
  looked?.catch(() => undefined)
  return looked
}

/**
 * Selects the first operation and those after it that may run in parallel, because their order among each other does not matter. These are
 * touches, changes of labels on an object that stays on the mesh, and new ALLOW policies: each only adds access to that of its target's
 * other policies.
 */
const sideBySide = (
  operations: readonly Operation[],
  broken: ReadonlySet<string>,
  applied: ReadonlyMap<string, KubernetesObject>,
  isDenying: Conditions['isDenying'],
): Operation[] => {
  const [ids, objects] = [new Set<string>(), new Set<string>()]
  const together: Operation[] = []
  const [first] = operations
  for (const operation of operations) {
    const { id, object, needs, verb } = operation
    const isFree = isFreelyOrdered(operation, isDenying) && !applied.has(object) && !objects.has(object)
    const isNext = isFree && verb === first?.verb && !needs.some((one) => ids.has(one) || broken.has(one))
    if (operation !== first && !isNext) break
    ids.add(id)
    objects.add(object)
    together.push(operation)
    if (!isFree) break
  }
  return together
}

const isFreelyOrdered = (operation: Operation, isDenying: Conditions['isDenying']): boolean =>
  operation.verb === 'touch' ||
  isRelabelling(operation) ||
  (operation.verb === 'apply' &&
    operation.found === undefined &&
    operation.desired.kind === 'AuthorizationPolicy' &&
    !isDenying(operation.desired))

const AT_ONCE = 8

/** Attempts all operations. After an error no more are started, and those in flight are completed. */
const attemptAll = async (
  kubernetes: Kubernetes,
  operations: readonly Operation[],
  applied: Map<string, KubernetesObject>,
): Promise<Execution> => {
  const errors: unknown[] = []
  const reports = await pMap(
    operations,
    async (operation) => {
      if (errors.length > 0) return []
      return await tryOperation(kubernetes, operation, applied).catch((error: unknown) => {
        errors.push(error)
        return []
      })
    },
    { concurrency: AT_ONCE },
  )
  const failure = errors.find((error) => !isVersionConflict(error))
  if (failure !== undefined) throw failure
  return { reports: reports.flat(), ...(errors.length > 0 && { overtaken: { cause: errors[0] } }) }
}

/** Reports the operations that depend on failed ones as skipped. */
export const skipAll = (operations: readonly Operation[], failed: Iterable<string>): Report[] => {
  const broken = new Set(failed)
  return operations.flatMap((operation) => {
    const skipped = operation.needs.find((id) => broken.has(id))
    if (skipped === undefined) return []
    broken.add(operation.id)
    return [{ operation, skipped, isWritten: false, conflicts: [] }]
  })
}

/** Tells if the operations that depend on this one have to wait. */
export const isFailed = ({ operation, conflicts, refused, skipped }: Report): boolean =>
  refused !== undefined || skipped !== undefined || (operation.verb === 'apply' && conflicts.length > 0)

const tryOperation = async (
  kubernetes: Kubernetes,
  operation: Operation,
  applied: Map<string, KubernetesObject>,
): Promise<Report> => {
  try {
    return { operation, ...(await perform(kubernetes, operation, applied)) }
  } catch (error) {
    if (isVersionConflict(error) || !isRefusal(error)) throw error
    return { operation, isWritten: false, conflicts: [], refused: describeRefusal(error) }
  }
}

type Performed = Pick<Report, 'isWritten' | 'conflicts'>

const perform = async (
  kubernetes: Kubernetes,
  operation: Operation,
  applied: Map<string, KubernetesObject>,
): Promise<Performed> => {
  const { manager, object } = operation
  if (operation.verb === 'apply') {
    const live = operation.found ?? applied.get(object)
    const report = await applyObject(kubernetes, { desired: operation.desired, live }, manager, operation.releases)
    if (report.applied) applied.set(object, report.applied)
    return { isWritten: report.written !== undefined, conflicts: report.conflict ? [report.conflict] : [] }
  }
  if (operation.verb === 'remove') {
    await kubernetes.remove(operation.found)
    return { isWritten: true, conflicts: [] }
  }
  if (operation.verb === 'forget') {
    await forget(kubernetes, operation)
    return { isWritten: true, conflicts: [] }
  }
  if (operation.verb === 'touch') {
    await touch(kubernetes, operation.found, operation.fence)
    return { isWritten: false, conflicts: [] }
  }
  const { written, conflicts } = await writeLabels(kubernetes, operation.place, operation.difference, manager)
  return { isWritten: written !== undefined, conflicts }
}

/** Explains in a sentence why an operation was skipped. Undefined if it was not. */
export const skippedMessage = ({ operation: { verb, object }, skipped }: Report): string | undefined => {
  if (skipped === undefined) return undefined
  const cause = objectIn(skipped)
  if (verb === 'remove' || verb === 'forget') return `${object} stays: ${cause}, which comes first, is not applied`
  if (verb === 'apply') return `${object} is not applied: it waits for ${cause}`
  return `the labels of ${object} wait for ${cause}`
}
