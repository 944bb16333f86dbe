import type { Desired } from './desire.ts'
import { isForbidden, isNotFound } from './kubernetes/api-error.ts'
import { isDifferent, type Conflict as LabelConflict, reconcileLabels, seenAt } from './kubernetes/apply-labels.ts'
import {
  applyObject,
  namesakeConflict,
  type ObjectConflict,
  type ObjectReport,
  objectDifference,
  referenceTo,
} from './kubernetes/apply-objects.ts'
import type { Kubernetes } from './kubernetes/client.ts'
import { type KubernetesObject, nameOf } from './kubernetes/objects.ts'
import { appliers } from './kubernetes/ownership.ts'
import { touch } from './kubernetes/touch.ts'
import { isLibrarys, librarySelector } from './mesh/library.ts'
import { modelLabels } from './mesh/model-labels.ts'
import { fieldManager, isOfNamesake, ownerSelector } from './owner.ts'
import { isDenying } from './policies/authorization-policy.ts'
import { requestersOf } from './policies/requested-by.ts'
import type { OwnedKind, State, Subject } from './state.ts'
import { WORKLOAD_KINDS, workloadManager } from './workload/objects.ts'
import { withPresentReplicas } from './workload/replicas.ts'

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
  /** Fences what is as it is desired. */
  touch(): Promise<void>
  removeStale(): Promise<void>
  readonly conflicts: readonly (ObjectConflict | LabelConflict)[]
  /** Kinds that the API server does not know yet. */
  readonly waiting: readonly string[]
  /** What the API server did not take. */
  readonly refused: readonly string[]
  /** Why it did not take the workload. */
  refusedSpec(): string | undefined
  /** Whether nothing is to be written. */
  readonly isQuiet: boolean
  /** What others have to do first. */
  readonly awaits: State['awaits']
  /** Whose requests are not granted, as an object of theirs does not stand. */
  failed(): ReadonlySet<string>
}

type Options = {
  kubernetes: Kubernetes
  subject: Subject
  state: Pick<State, 'config'>
  owned: Owned
  /** The objects in the order in which they are applied. */
  desired: Pick<Desired, 'objects' | 'unknown' | 'waiting'>
  /** Nothing goes yet: the mesh of an application that is no beacon any more is left by its consumers first. */
  isHeld: boolean
  /** Consumers that carry no labels of their own yet: the namespace stays on the mesh for them. */
  namespaceAwaits: readonly string[]
  /** Objects that are as they are desired are written as well, so that no late write changes them. */
  fence?: string | undefined
  /** Is told the name of each object that is written. */
  write(name: string): void
}

/** What differs between the objects that are there and those that are desired, a pure function of both. */
const differences = ({ subject, owned, desired, isHeld }: Options) => {
  const plans = owned.kinds.map(({ kind, live, library }) => {
    const manager = managerOf(subject, kind)
    const wanted = desired.objects
      .filter((object) => object.kind === kind)
      .map((object) => withPresentReplicas(object, live ?? [], manager))
    return { kind, live, library, wanted, plan: objectDifference(live ?? [], wanted, manager) }
  })
  const known = plans.filter(({ live }) => live !== undefined)
  const places = new Map(desired.objects.map((object, index) => [keyOf(object), index]))
  const placeOf = ({ desired: object }: { desired: KubernetesObject }) => places.get(keyOf(object)) ?? 0
  const isUnknown = (object: KubernetesObject) =>
    [keyOf(object), ...requestersOf(object)].some((name) => desired.unknown.includes(name))
  const unwanted = known.flatMap(({ plan }) => plan.stale).filter((object) => !isUnknown(object))
  const held = isHeld ? unwanted.filter(({ kind }) => !isWorkload(kind as OwnedKind)) : []
  return {
    due: known
      .flatMap(({ plan }) => plan.apply)
      .filter(({ live }) => live === undefined || !isUnknown(live))
      .toSorted((one, other) => placeOf(one) - placeOf(other)),
    same: known.flatMap(({ plan }) => plan.same),
    held,
    stale: without(unwanted, held),
    library: known.flatMap((one) =>
      without(without(one.library, one.wanted), one.plan.stale).filter((object) => isLibrarys(subject, object)),
    ),
    conflicts: known.flatMap(({ plan }) => plan.conflicts),
    /** Desired objects of kinds that the API server does not know. */
    unservedKinds: plans.filter(({ live, wanted }) => live === undefined && wanted.length > 0),
  }
}

export const ownedObjects = async (options: Options): Promise<OwnedObjects> => {
  const { kubernetes, subject, state, owned, desired, fence, write } = options
  const mesh = state.config?.mesh
  const manager = fieldManager(subject.application)
  const { due, same, held, stale, library, unservedKinds, ...difference } = differences(options)
  const conflicts: (ObjectConflict | LabelConflict)[] = [...difference.conflicts]
  const refused: string[] = []
  const failed: KubernetesObject[] = unservedKinds.flatMap(({ wanted }) => wanted)
  const namespaceLabels = owned.namespace && labelsOfNamespace(options, owned.namespace)
  if (owned.namespace && namespaceLabels?.conflict)
    conflicts.push({ object: keyOf(owned.namespace), ...namespaceLabels.conflict })
  let refusedSpec: string | undefined

  const isOurs = (object: KubernetesObject) =>
    appliers(object).includes(managerOf(subject, object.kind as OwnedKind)) && !isOfNamesake(subject, object)
  const mayWrite = (object: KubernetesObject) => isOurs(object) || (mesh?.adopt === true && isLibrarys(subject, object))
  const take = (object: KubernetesObject, { written, conflict, refused: reason }: ObjectReport): void => {
    if (written !== undefined) write(written)
    if (conflict) conflicts.push(conflict)
    if (reason !== undefined) refused.push(reason)
    if (conflict || reason !== undefined) failed.push(object)
  }
  // a namesake that is not ours is known before anything is written
  const looked = await findNamesakes(kubernetes, due)
  const isFree = ({ live }: Pair) => live === undefined || mayWrite(live)
  for (const { desired: object, live } of looked)
    if (live !== undefined && !mayWrite(live))
      take(object, { conflict: namesakeConflict(object, live, managerOf(subject, object.kind as OwnedKind)) })
  const pending = looked.filter(isFree)
  let isReplaced = !looked.some((pair) => isWorkload(pair.desired.kind as OwnedKind) && !isFree(pair))
  const applyAll = async (pairs: readonly Pair[]): Promise<void> => {
    for (const pair of pairs) {
      const kind = pair.desired.kind as OwnedKind
      // what belongs to a workload goes together: a Service must not have moved to ports that its pods do not have
      if (isWorkload(kind) && refusedSpec !== undefined) continue
      const report = await applyObject(kubernetes, pair, managerOf(subject, kind))
      take(pair.desired, report)
      if (!isWorkload(kind)) continue
      refusedSpec = report.refused
      isReplaced &&= report.refused === undefined && report.conflict === undefined
    }
  }

  return {
    conflicts,
    refused,
    refusedSpec: () => refusedSpec,
    waiting: [
      ...unservedKinds.map(({ kind, wanted }) => unknownKind(kind, wanted.length)),
      ...(namespaceLabels?.isKept
        ? [`Namespace ${subject.namespace} ${STAYS_ON}: waiting for ${options.namespaceAwaits.join(', ')}`]
        : []),
    ],
    isQuiet:
      pending.length === 0 &&
      stale.length === 0 &&
      library.length === 0 &&
      (namespaceLabels === undefined || !isDifferent(namespaceLabels.place, namespaceLabels.wanted, manager)),
    awaits: awaited(namespaceLabels?.isKept === true, held.length > 0),
    failed: () => new Set(failed.flatMap(requestersOf)),
    allow: () => applyAll(pending.filter(({ desired: object }) => !isDenying(object))),
    deny: () => applyAll(pending.filter(({ desired: object }) => isDenying(object))),
    holdModelLabels: async () => {
      if (namespaceLabels === undefined) return
      const { place, wanted } = namespaceLabels
      const report = await reconcileLabels(kubernetes, place, wanted, manager, fence)
      report.written.map(write)
      conflicts.push(...report.conflicts)
    },
    touch: async () => {
      if (fence === undefined) return
      for (const { live } of same) await touch(kubernetes, live, fence)
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

const awaited = (isNamespaceKept: boolean, isHeld: boolean): State['awaits'] => {
  if (isNamespaceKept) return 'carried'
  return isHeld ? 'let-go' : undefined
}

type Pair = { desired: KubernetesObject; live: KubernetesObject | undefined }

const LOOKUPS_AT_ONCE = 16

/** What is there under the names of objects that are to be made: server-side apply would add ours to it. */
const findNamesakes = async (kubernetes: Kubernetes, pairs: readonly Pair[]): Promise<Pair[]> => {
  const found: Pair[] = []
  for (let first = 0; first < pairs.length; first += LOOKUPS_AT_ONCE) {
    const some = pairs.slice(first, first + LOOKUPS_AT_ONCE)
    found.push(
      ...(await Promise.all(
        some.map(async ({ desired, live }) => ({
          desired,
          live: live ?? (await kubernetes.find(referenceTo(desired))),
        })),
      )),
    )
  }
  return found
}

/** The labels of the namespace, which stay where it is not time to leave the mesh yet. */
const labelsOfNamespace = ({ subject, state, namespaceAwaits }: Options, object: KubernetesObject) => {
  const place = { object, path: ['metadata', 'labels'] }
  const seen = seenAt(place, fieldManager(subject.application))
  const { mesh } = state.config ?? {}
  const isKept = mesh !== undefined && namespaceAwaits.length > 0 && seen.holders.own.size > 0
  const { conflict, ...labels } = modelLabels(subject, isKept ? { ...mesh, modelOnMesh: true } : mesh, seen)
  return { place, wanted: { ...labels, unknown: [] as const }, conflict, isKept }
}

const STAYS_ON = 'stays on the mesh until its applications carry labels of their own'

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
