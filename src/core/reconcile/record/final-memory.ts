import { changed, ownValue } from '../../../platform/base/own-value.ts'
import { readLabels } from '../../../platform/kubernetes/apply-labels.ts'
import { isUnknown } from '../../../platform/kubernetes/label-difference.ts'
import { objectKey } from '../../../platform/kubernetes/objects.ts'
import type { Features } from '../../feature/combine.ts'
import type { Content, Memory } from '../../state/memory.ts'
import { isKnownKind, ownedName } from '../../state/owned-kinds.ts'
import type { State } from '../../state/state.ts'
import { labelsHeldAt } from '../../workload/pod-labels.ts'
import type { Report } from '../apply/execute.ts'
import type { Desired } from '../decide/desired-state.ts'
import type { Conflict, Operation, Plan } from '../decide/operation.ts'
import type { Found } from '../observe/units.ts'

/** The result of labelling: the workload, its conflicts, and the failed operations on labels. */
type Labelling = {
  readonly application: string
  readonly workload: Found | undefined
  /** An object that may carry labels cannot be read, or running pods still have them. */
  readonly isCarried: boolean
  readonly conflicts: readonly Conflict[]
  readonly failed: readonly Operation[]
  /** Labels that the application has handed on, and that its workers still carry. */
  readonly handedOn: Readonly<Record<string, string>>
}

/** Computes the memory of a settled cluster: the held labels and kinds, and the labels of the charm library that are still desired. */
export const finalMemory = (
  memory: Memory,
  { writeToken: _, awaiting: _a, ...state }: State,
  { labels: desired }: Desired,
  { application, workload, isCarried, conflicts, failed, handedOn }: Labelling,
): Content => {
  const places = workload?.places ?? []
  const names = places.map(({ object }) => objectKey(object))
  const isFailed = failed.some(({ object }) => names.includes(object))
  const libraryLabels = Object.entries(state.libraryLabels ?? {}).filter(
    ([key, value]) => isFailed || ownValue(desired.labels, key) === value || isUnknown(desired, key),
  )
  const next = changed(withWorkloadKind(state, workload), {
    libraryLabels: libraryLabels.length === 0 ? undefined : Object.fromEntries(libraryLabels),
  })
  // an application whose traffic these labels lead must know that they exist
  const left = { ...(isCarried && memory.labels), ...handedOn, ...leftOn(failed) }
  if (isFailed) return { state: next, labels: { ...left, ...seenOn(places, application, state.libraryLabels) } }
  const refused = new Set(
    conflicts.flatMap((conflict) => (names.includes(conflict.object) && 'key' in conflict ? [conflict.key] : [])),
  )
  const held = [
    ...Object.entries(desired.labels).filter(([key]) => !refused.has(key)),
    ...Object.entries({ ...memory.labels, ...seenOn(places, application, undefined) }).filter(([key]) =>
      isUnknown(desired, key),
    ),
  ]
  return { state: next, labels: { ...left, ...Object.fromEntries(held) } }
}

/** Lists the labels that could not be removed or replaced. */
const leftOn = (failed: readonly Operation[]): Record<string, string> =>
  Object.fromEntries(
    failed.flatMap((operation) => {
      if (!('difference' in operation)) return []
      const { place, difference, manager } = operation
      const { labels, holders } = readLabels(place, manager)
      const { apply, remove } = difference
      const isLeft = (key: string, value: string) =>
        Object.hasOwn(remove, key) || (apply !== undefined && holders.own.has(key) && ownValue(apply, key) !== value)
      return Object.entries(labels).filter(([key, value]) => isLeft(key, value))
    }),
  )

/** Lists the labels that are held where a change failed. */
const seenOn = (
  places: NonNullable<Found['places']>,
  application: string,
  libraryLabels: State['libraryLabels'],
): Record<string, string> =>
  Object.assign({}, ...places.map((place) => labelsHeldAt(application, place, libraryLabels)))

const MOST_REMEMBERED = 20
const LONGEST_REMEMBERED = 500

/** Lists what the API server refused, by object or call, with the reason. */
export const refusalsOf = ({ problems }: Pick<Plan, 'problems'>, reports: readonly Report[]): [string, string][] => [
  // the call of a problem identifies it even if the wording changes
  ...problems.map((problem): [string, string] => [problem.split(': ')[0] ?? problem, problem]),
  ...reports.flatMap(({ refused, operation: { object } }): [string, string][] =>
    refused === undefined ? [] : [[object, refused]],
  ),
]

/** Remembers the refused operations, and the calls that were refused. */
export const withRefusals = (
  { refused: _, ...state }: State,
  planned: Pick<Plan, 'problems'>,
  reports: readonly Report[],
): State => {
  const told = refusalsOf(
    planned,
    reports.filter(({ operation }) => operation.verb !== 'touch'),
  )
  if (told.length === 0) return state
  const refused = told.slice(0, MOST_REMEMBERED).map(([name, text]) => [name, text.slice(0, LONGEST_REMEMBERED)])
  return { ...state, refused: Object.fromEntries(refused) }
}

/**
 * Keeps the kinds that are wanted, and those that were released within a day, because a step that began earlier may still write such
 * objects. Kinds of relations that are forgotten were released as long ago. Kinds of a newer program stay.
 */
export const withOwnedKinds = (
  features: Features,
  { owned = {}, ...state }: State,
  before: State,
  now: Date,
): State => {
  const wanted = features.kinds(state).map(ownedName)
  const asked = features.kinds({ config: state.config, relations: {} }).map(ownedName)
  const over = features
    .kinds({
      relations: without(before.relations, state.relations),
      tombstones: without(before.tombstones ?? {}, state.tombstones ?? {}),
    })
    .map(ownedName)
  const kinds = [...new Set([...Object.keys(owned), ...wanted])].toSorted().flatMap((kind) => {
    const since = asked.includes(kind) ? null : (ownValue(owned, kind) ?? null)
    const isKept = wanted.includes(kind) || since !== null || !isKnownKind(kind)
    if (!isKept && over.includes(kind)) return []
    return [[kind, isKept ? since : now.toISOString()] as const]
  })
  return kinds.length === 0 ? state : { ...state, owned: Object.fromEntries(kinds) }
}

const without = <T>(entries: Readonly<Record<string, T>>, others: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(entries).filter(([key]) => !Object.hasOwn(others, key)))

/** Remembers the kind to look for first. A temporarily missing workload does not change it. */
const withWorkloadKind = (state: State, workload: Found | undefined): State => {
  if (workload?.target.kind !== 'Workload' || workload.target.on === 'pods' || workload.places?.[0] === undefined)
    return state
  const isDeployment = workload.places[0].object.kind === 'Deployment'
  return changed(state, { workloadKind: isDeployment ? 'Deployment' : undefined })
}
