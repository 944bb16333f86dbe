import type { Desired } from './desire.ts'
import { isForbidden, isNotFound } from './kubernetes/api-error.ts'
import { type Conflict as LabelConflict, reconcileLabels, seenAt } from './kubernetes/apply-labels.ts'
import { applyObject, type ObjectConflict, type ObjectReport, objectDifference } from './kubernetes/apply-objects.ts'
import type { Kubernetes } from './kubernetes/client.ts'
import { type KubernetesObject, nameOf } from './kubernetes/objects.ts'
import { appliers } from './kubernetes/ownership.ts'
import { isLibrarys, librarySelector } from './mesh/library.ts'
import { modelLabels } from './mesh/model-labels.ts'
import { fieldManager, isOfNamesake, ownerSelector } from './owner.ts'
import { isDenying } from './policies/authorization-policy.ts'
import { requestersOf } from './policies/requested-by.ts'
import type { OwnedKind, State, Subject } from './state.ts'
import { WORKLOAD_KINDS, workloadManager } from './workload/objects.ts'

/** What is there of the kinds that an application may own; `live` is undefined where the API server does not know the kind. */
export type Owned = {
  readonly kinds: readonly { kind: OwnedKind; live: KubernetesObject[] | undefined; library: KubernetesObject[] }[]
  readonly namespace: KubernetesObject | undefined
}

/** Lists them: one call for each kind, and one more while the charm library's are to be taken over. */
export const observeOwned = async (kubernetes: Kubernetes, subject: Subject, state: State): Promise<Owned> => {
  const kinds = (state.owned ?? []).filter((kind) => kind !== 'Namespace')
  const find = () => kubernetes.find({ kind: 'Namespace', name: subject.namespace })
  const isAdopting = state.config?.mesh?.adopt === true
  const [namespace, ...listed] = await Promise.all([
    state.owned?.includes('Namespace') ? find() : undefined,
    ...kinds.map(async (kind) => {
      const [live, library = []] = await Promise.all([
        listKnown(kubernetes, { kind, namespace: subject.namespace, selector: ownerSelector(subject) }),
        isAdopting
          ? listKnown(kubernetes, { kind, namespace: subject.namespace, selector: librarySelector(subject) })
          : undefined,
      ])
      return { kind, live, library }
    }),
  ])
  return { kinds: listed, namespace }
}

type Query = { kind: OwnedKind; namespace: string; selector: string }

/**
 * Undefined for a kind that is not known. Policies are where their targets are, everything else in the application's namespace; who may
 * not list those of all namespaces has none in others.
 */
export const listKnown = async (
  kubernetes: Kubernetes,
  { kind, namespace, selector }: Query,
): Promise<KubernetesObject[] | undefined> => {
  if (kind !== 'AuthorizationPolicy') return await unlessUnknown(kubernetes.list(kind, namespace, selector))
  try {
    return await unlessUnknown(kubernetes.list(kind, undefined, selector))
  } catch (error) {
    if (!isForbidden(error)) throw error
    return await unlessUnknown(kubernetes.list(kind, namespace, selector))
  }
}

const unlessUnknown = async <T>(listed: Promise<T>): Promise<T | undefined> => {
  try {
    return await listed
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** What brings them to what is desired, to be called in the order of safety. Each writes, and collects what it came upon. */
export type OwnedObjects = {
  /** Applies what allows something, and what else there is to run. */
  allow(): Promise<void>
  /** Labels the namespace, or takes its labels off. */
  holdModelLabels(): Promise<void>
  /** Applies what denies. */
  deny(): Promise<void>
  removeStale(): Promise<void>
  readonly conflicts: readonly (ObjectConflict | LabelConflict)[]
  /** Kinds that the API server does not know yet. */
  readonly waiting: readonly string[]
  /** What the API server did not take. */
  readonly refused: readonly string[]
  /** Why it did not take the workload. */
  refusedSpec(): string | undefined
}

type Options = {
  kubernetes: Kubernetes
  subject: Subject
  state: State
  owned: Owned
  /** The objects in the order in which they are applied. */
  desired: Pick<Desired, 'objects' | 'unknown' | 'waiting'>
  /** Is told the name of each object that is written. */
  write(name: string): void
}

export const ownedObjects = ({ kubernetes, subject, state, owned, desired, write }: Options): OwnedObjects => {
  const mesh = state.config?.mesh
  const plans = owned.kinds.map(({ kind, live, library }) => {
    const wanted = desired.objects.filter((object) => object.kind === kind)
    return { kind, live, library, wanted, plan: objectDifference(live ?? [], wanted, managerOf(subject, kind)) }
  })
  const known = plans.filter(({ live }) => live !== undefined)
  const places = new Map(desired.objects.map((object, index) => [keyOf(object), index]))
  const placeOf = ({ desired: object }: { desired: KubernetesObject }) => places.get(keyOf(object)) ?? 0
  const pending = known.flatMap(({ plan }) => plan.apply).toSorted((one, other) => placeOf(one) - placeOf(other))
  const isUnknown = (object: KubernetesObject) => requestersOf(object).some((name) => desired.unknown.includes(name))
  const stale = known.flatMap(({ plan }) => plan.stale).filter((object) => !isUnknown(object))
  const library = known.flatMap((one) =>
    without(without(one.library, one.wanted), one.plan.stale).filter((object) => isLibrarys(subject, object)),
  )
  const conflicts: (ObjectConflict | LabelConflict)[] = known.flatMap(({ plan }) => plan.conflicts)
  const refused: string[] = []
  let refusedSpec: string | undefined
  let isReplaced = true

  const take = ({ written, conflict, refused: reason }: ObjectReport): void => {
    if (written !== undefined) write(written)
    if (conflict) conflicts.push(conflict)
    if (reason !== undefined) refused.push(reason)
  }
  const isOurs = (object: KubernetesObject) =>
    appliers(object).includes(managerOf(subject, object.kind as OwnedKind)) && !isOfNamesake(subject, object)
  const mayWrite = (object: KubernetesObject) => isOurs(object) || (mesh?.adopt === true && isLibrarys(subject, object))
  const applyAll = async (pairs: typeof pending): Promise<void> => {
    for (const pair of pairs) {
      const kind = pair.desired.kind as OwnedKind
      // what belongs to a workload goes together: a Service must not have moved to ports that its pods do not have
      if (isWorkload(kind) && refusedSpec !== undefined) continue
      const report = await applyObject(kubernetes, pair, managerOf(subject, kind), mayWrite)
      take(report)
      if (!isWorkload(kind)) continue
      refusedSpec = report.refused
      isReplaced &&= report.refused === undefined && report.conflict === undefined
    }
  }

  return {
    conflicts,
    refused,
    refusedSpec: () => refusedSpec,
    waiting: plans.flatMap(({ kind, live, wanted }) =>
      live === undefined && wanted.length > 0 ? [unknownKind(kind, wanted.length)] : [],
    ),
    allow: () => applyAll(pending.filter(({ desired: object }) => !isDenying(object))),
    deny: () => applyAll(pending.filter(({ desired: object }) => isDenying(object))),
    holdModelLabels: async () => {
      if (owned.namespace === undefined) return
      const place = { object: owned.namespace, path: ['metadata', 'labels'] }
      const manager = fieldManager(subject.application)
      const { conflict, ...labels } = modelLabels(subject, mesh, seenAt(place, manager))
      const report = await reconcileLabels(kubernetes, place, { ...labels, unknown: [] }, manager)
      report.written.map(write)
      conflicts.push(...report.conflicts, ...(conflict ? [{ object: keyOf(owned.namespace), ...conflict }] : []))
    },
    removeStale: async () => {
      // a workload that cannot be replaced runs on
      const going = stale.filter(({ kind }) => isReplaced || !isWorkload(kind as OwnedKind))
      const denying = going.filter(isDenying)
      // the charm library's go once ours stand
      const missing = [...refused, ...conflicts, ...desired.unknown, ...desired.waiting]
      const replaced = missing.length === 0 ? library : []
      for (const object of [...denying, ...without(going, denying), ...replaced]) {
        await kubernetes.remove(object)
        write(keyOf(object))
      }
    },
  }
}

const isWorkload = (kind: OwnedKind): boolean => WORKLOAD_KINDS.some((one) => one === kind)

/** Mesh labels on a workload are held by another manager than the workload itself: the two never fight. */
const managerOf = ({ application }: Subject, kind: OwnedKind): string =>
  isWorkload(kind) ? workloadManager(application) : fieldManager(application)

const keyOf = (object: KubernetesObject): string => nameOf({ kind: object.kind, ...object.metadata })

const without = (objects: readonly KubernetesObject[], others: readonly KubernetesObject[]): KubernetesObject[] => {
  const names = new Set(others.map(keyOf))
  return objects.filter((object) => !names.has(keyOf(object)))
}

const REMEDIES: Readonly<Record<string, string>> = {
  AuthorizationPolicy: 'install Istio',
  Gateway: 'install the Gateway API',
}

const unknownKind = (kind: OwnedKind, count: number): string =>
  `the API server does not know the kind ${kind}: ${REMEDIES[kind] ?? 'it is too old'}; the next event after that applies ${count}`
