import { type Conflict, labelManager, observe, type Place, reconcileLabels } from './kubernetes/apply-labels.ts'
import type { Kubernetes } from './kubernetes/client.ts'
import { isUnknown, type WantedLabels } from './kubernetes/label-difference.ts'
import { desiredLabels } from './labels/desired.ts'
import { type Content, isStored, loadMemory, type Memory, memoryObject, saveMemory } from './memory.ts'
import { at } from './record.ts'
import { isSameTarget, type State, type Subject, type Target, targetsOf } from './state.ts'

/** What bringing the cluster to the memory came upon. */
export type Settled = { conflicts: readonly Conflict[]; missing: readonly Target[]; messages: readonly string[] }

/** A target with the places where its labels are, or undefined where it does not exist. */
type Found = { target: Target; places: readonly Place[] | undefined }

/**
 * Brings the cluster to what the memory desires, then narrows the memory to what is held, and tells `wrote` the name of each object
 * it writes. Answers undefined, or rejects with an error that isStale, when the memory moved meanwhile: what was written may be
 * old by then, and the newest memory has to be settled.
 */
export const settle = async (
  kubernetes: Kubernetes,
  subject: Subject,
  memory: Memory,
  wrote: (name: string) => void,
): Promise<Settled | undefined> => {
  const { state } = memory
  const { messages, ...desired } = desiredLabels(state)
  const library = libraryTargets(subject, state)
  let writes = 0

  const reconcile = async (places: readonly Place[], { labels, unknown }: Desired): Promise<Conflict[]> => {
    const conflicts: Conflict[] = []
    for (const place of places) {
      const inherited = isAt(place, library) ? (state.inherited ?? {}) : {}
      const report = await reconcileLabels(
        kubernetes,
        place,
        { labels, unknown, inherited },
        labelManager(subject.application),
      )
      for (const name of report.written) wrote(name)
      writes += report.written.length
      conflicts.push(...report.conflicts)
    }
    return conflicts
  }

  const find = async (target: Target): Promise<Found> => ({
    target,
    places: await observe(kubernetes, subject.namespace, target, state.workloadKind),
  })
  const targets = targetsOf(subject.application, state.config)
  const former = [...(state.former ?? []), ...library].filter(
    (one) => !targets.some((other) => isSameTarget(one, other)),
  )
  const found = await Promise.all([...targets, ...former].map(find))
  const [current, earlier] = [found.slice(0, targets.length), found.slice(targets.length)]
  const onWorkload = await reconcile(placesOf(current.slice(0, 1)), desired)
  const onOthers = await reconcile(placesOf(current.slice(1)), desired)
  await reconcile(without(placesOf(earlier), placesOf(current)), RELEASED)

  const next = narrowed(memory, desired, current[0], onWorkload)
  if (!isStored(memory, next)) {
    await saveMemory(kubernetes, subject, memory, next)
    wrote(memoryObject(subject))
  } else if (writes > 0 && versionOf(await loadMemory(kubernetes, subject)) !== versionOf(memory)) {
    return undefined
  }
  const isWanted = Object.keys(desired.labels).length > 0
  const missing = current.filter(({ places }) => isWanted && places === undefined).map(({ target }) => target)
  return { conflicts: [...onWorkload, ...onOthers], missing, messages }
}

type Desired = Omit<WantedLabels, 'inherited'>

const RELEASED: Desired = { labels: {}, unknown: [] }

/** The charm library labels the StatefulSet and the Service of the application's name, whatever the config says. */
const libraryTargets = ({ application }: Subject, { inherited }: State): Target[] =>
  inherited === undefined
    ? []
    : [
        { kind: 'StatefulSet', name: application },
        { kind: 'Service', name: application },
      ]

const isAt = ({ object: { kind, metadata } }: Place, targets: readonly Target[]): boolean =>
  targets.some((target) => target.kind === kind && target.name === metadata.name)

const placesOf = (found: readonly Found[]): Place[] => found.flatMap(({ places }) => places ?? [])

/** A former target may be found at an object that is a target again, under another name for it. */
const without = (places: readonly Place[], others: readonly Place[]): Place[] =>
  places.filter(
    ({ object, path }) =>
      !others.some((other) => other.object.metadata.uid === object.metadata.uid && other.path === path),
  )

const versionOf = ({ stored }: Memory): string | undefined => stored?.metadata.resourceVersion

/** The memory once the cluster is settled: the labels that are held, and of the inherited ones those that are wanted yet. */
const narrowed = (
  { state, labels }: Memory,
  desired: Desired,
  workload: Found | undefined,
  conflicts: readonly Conflict[],
): Content => {
  const refused = new Set(conflicts.map(({ key }) => key))
  const held = [
    ...Object.entries(desired.labels).filter(([key]) => !refused.has(key)),
    ...Object.entries(labels).filter(([key]) => isUnknown(desired, key)),
  ]
  const inherited = Object.entries(state.inherited ?? {}).filter(
    ([key, value]) => at(desired.labels, key) === value || isUnknown(desired, key),
  )
  return { state: withInherited(withWorkloadKind(state, workload), inherited), labels: Object.fromEntries(held) }
}

const withInherited = ({ inherited: _, ...state }: State, entries: readonly [string, string][]): State =>
  entries.length === 0 ? state : { ...state, inherited: Object.fromEntries(entries) }

/** Remembers which kind to look for first; a workload that is away for now does not change it. */
const withWorkloadKind = (state: State, workload: Found | undefined): State => {
  if (workload?.target.kind !== 'Workload' || workload.target.on === 'pods' || workload.places?.[0] === undefined)
    return state
  const { workloadKind: _, ...others } = state
  return workload.places[0].object.kind === 'Deployment' ? { ...others, workloadKind: 'Deployment' } : others
}
