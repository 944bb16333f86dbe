import { listProblems } from '../../../platform/kubernetes/lookups.ts'
import type { State } from '../../state/state.ts'
import { isWorkload } from '../../workload/objects.ts'
import { applyOf, type Operation, type Plan } from './operation.ts'
import { type Order, ordered, orderOf } from './order.ts'
import { planLabels } from './plan-labels.ts'
import { namespaceWait, planNamespace } from './plan-namespace.ts'
import { planObjects } from './plan-objects.ts'
import { planSecrets } from './plan-secret-store.ts'
import { planTemplates } from './plan-templates.ts'
import type { Situation } from './situation.ts'

export type PlanInput = { readonly situation: Situation; readonly failed: ReadonlySet<string> }

/**
 * Plans the writes that bring the cluster to its desired state. A pure function of the state and the observation. `failed` holds the ids of
 * operations that failed or cannot be done: if a workload was refused, the running one stays as it is.
 */
export const plan = ({ situation, failed }: PlanInput): Plan => planIn(situation, orderOf(situation), failed)

/** Nothing has failed yet. */
export const NOTHING_FAILED: ReadonlySet<string> = new Set()

const planIn = (situation: Situation, order: Order, failed: ReadonlySet<string>): Plan => {
  const planned = planWithout(situation, order, failed)
  const due = new Set(dueIn(planned, failed))
  const failing = planned.operations.filter((operation) => !due.has(operation)).map(({ id }) => id)
  const all = new Set([...failed, ...blockedIn(planned), ...failing])
  return all.size === failed.size ? planned : planIn(situation, order, all)
}

const planWithout = (before: Situation, order: Order, failed: ReadonlySet<string>): Plan => {
  const templates = planTemplates(before, order, failed)
  const situation = { ...before, desired: { ...before.desired, objects: templates.objects } }
  const { desired, observed } = situation
  const isSpecRefused = desired.objects.some((object) => isWorkload(object.kind) && failed.has(applyOf(object)))
  const labels = planLabels(situation, order, templates, isSpecRefused)
  const namespace = planNamespace(situation, order)
  const objects = planObjects(situation, templates)
  const secrets = planSecrets(situation, objects.later)
  // what rests on anything that stands comes after that is fenced
  const touches = [labels, namespace, objects].flatMap((one) => one.touches)
  // Where the list alone has the order, a failure skips nothing: policies before pods that join with their namespace, denials after labels
  // without which clients have no identity, removals last. Labels that leave go before any access is narrowed.
  const { allowing, own, later } = objects
  const [first, then] = order.labelsGoFirst ? [labels.operations, []] : [[], labels.operations]
  const isReleasing = order.labelsGoFirst && templates.releasing.length > 0
  const early = [touches, first, ...(isReleasing ? [own, allowing] : [allowing, own])].flat()
  const late = [then, namespace.operations, later, secrets.operations].flat()
  const operations = ordered(situation, order, [...early, ...late], templates.releasing)
  const isEarly = new Set(early.map(({ id }) => id))
  const { kinds, namespace: read } = observed.owned
  return {
    operations,
    early: operations.findLastIndex(({ id }) => isEarly.has(id)) + 1,
    blocked: objects.blocked,
    conflicts: [...labels.conflicts, ...templates.conflicts, ...objects.conflicts, ...namespace.conflicts],
    waiting: [...objects.waiting, ...namespaceWait(situation, namespace), ...labels.waiting, ...namespace.waiting],
    messages: objects.messages,
    problems: [
      ...new Set([
        ...[...observed.targets.current, ...observed.targets.earlier].flatMap(({ problem }) => problem ?? []),
        ...kinds.flatMap(({ problem }) => problem ?? []),
        ...(read && 'problem' in read ? [read.problem] : []),
        ...objects.blocked.flatMap(({ problem }) => problem ?? []),
        ...listProblems(observed.lookups),
        ...secrets.problems,
      ]),
    ],
    awaiting: awaited(desired, namespace.isKept, objects.isHolding),
  }
}

/** Lists the ids of applies that cannot be done from the outset. */
export const blockedIn = ({ blocked }: Pick<Plan, 'blocked'>): string[] => blocked.map(({ object }) => applyOf(object))

/** Selects the operations of a plan that can be executed although those in `failed` cannot. */
export const dueIn = (planned: Pick<Plan, 'operations' | 'blocked'>, failed: Iterable<string> = []): Operation[] => {
  const left = new Set([...blockedIn(planned), ...failed])
  return planned.operations.filter(({ id, needs }) => {
    const isDue = !left.has(id) && !needs.some((one) => left.has(one))
    if (!isDue) left.add(id)
    return isDue
  })
}

const awaited = ({ awaiting }: Situation['desired'], isKept: boolean, isHeld: boolean): State['awaiting'] => {
  if (isKept) return 'labels-applied'
  return awaiting ?? (isHeld ? 'labels-removed' : undefined)
}
