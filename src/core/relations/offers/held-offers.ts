import { ownValue } from '../../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import { publishedIn, type State } from '../../state/state.ts'
import { offersLabels, requestedLabels } from '../requested-labels.ts'
import { requesterNames } from '../requester-names.ts'
import type { ResolvedRelations } from '../resolve-relations.ts'

/** The writes that a step is about to make. Objects are `missing` that do not stand yet; a late write of another step could remove those that are `touched`. */
export type DueWrites = {
  readonly isAny: boolean
  /** Something denies all that no policy allows, and is about to go. */
  readonly isDenialEnding: boolean
  readonly missing: readonly KubernetesObject[]
  readonly touched: readonly KubernetesObject[]
}

/** Tells for whom an object was made: for all that labels lead to it, or for the requesters that it names. */
type Judge = { isBasis(object: KubernetesObject): boolean; requestersOf(object: KubernetesObject): string[] }

/**
 * Lists the relations whose offer rests on objects that do not stand yet: the waypoint, the policies of a cluster, and those that a beacon
 * writes for the relation. Such an offer is published once they do. One that takes no labels back also waits until no late write of another step can
 * remove them, and if it hands on labels of a beacon, until it is saved that these are claimed: before that the beacon may take away what they rest on.
 * While something denies all that no policy allows, and is about to go, each offer is as it was: by the next one, consumers may allow less.
 */
export const offersToHold = (
  mesh: Judge,
  subject: Subject,
  before: State,
  state: State,
  resolved: Pick<ResolvedRelations, 'state'>,
  due: DueWrites,
): string[] => {
  if (due.isDenialEnding)
    return Object.entries(state.relations).flatMap(([key, entry]) => (offersLabels(entry) ? [key] : []))
  const resting = (objects: readonly KubernetesObject[]) => restingOn(mesh, subject, state, resolved, objects)
  const early = [...resting(due.touched), ...(due.isAny ? unclaimedIn(state, resolved) : [])]
  return [...resting(due.missing), ...early.filter((key) => isGrowing(before, state, key))]
}

/** Lists the relations whose offer rests on one of the objects. */
const restingOn = (
  mesh: Judge,
  subject: Subject,
  state: State,
  { state: { relations } }: Pick<ResolvedRelations, 'state'>,
  objects: readonly KubernetesObject[],
): string[] => {
  if (objects.length === 0) return []
  const requesters = new Set(objects.flatMap(mesh.requestersOf))
  const isBare = objects.some(mesh.isBasis)
  return Object.entries(state.relations).flatMap(([key, entry]) => {
    const relation = relations[key]
    if (!offersLabels(entry) || relation === undefined) return []
    const names = [...requesterNames(subject, relation), `cluster of ${subjectName(subject)}`]
    return isBare || names.some((name) => requesters.has(name)) ? [key] : []
  })
}

/** Lists the offers of a coordinator while labels of a beacon are not claimed. Policies of the cluster may stand already, by late writes. */
const unclaimedIn = (state: State, { state: { relations } }: Pick<ResolvedRelations, 'state'>): string[] => {
  const isUnclaimed = Object.entries(relations).some(
    ([key, { interface: name, role, remote }]) =>
      name === 'service_mesh' &&
      role === 'requires' &&
      Object.hasOwn(remote.data, 'labels') &&
      state.relations[key]?.claim === undefined,
  )
  return Object.entries(state.relations).flatMap(([key, entry]) =>
    isUnclaimed && offersLabels(entry) && entry.interface === 'cluster' ? [key] : [],
  )
}

/** Tells if an offer keeps all labels that it had. One that takes labels back is published at once, so that nobody takes them any more. */
const isGrowing = (before: State, state: State, key: string): boolean => {
  const next = labelsIn(state, key)
  return Object.entries(labelsIn(before, key)).every(([label, value]) => ownValue(next, label) === value)
}

const labelsIn = (state: State, key: string): Readonly<Record<string, unknown>> => {
  const entry = ownValue(state.relations, key)
  const published = entry && publishedIn(state, entry)
  return entry && published ? requestedLabels({ ...entry, remote: { data: published.data } }) : {}
}
