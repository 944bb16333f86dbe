import { ownValue } from '../../../platform/base/own-value.ts'
import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import { readLabels } from '../../../platform/kubernetes/apply-labels.ts'
import { objectKey } from '../../../platform/kubernetes/apply-objects.ts'
import { lookupsOf } from '../../../platform/kubernetes/lookups.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import type { ClusterView } from '../../feature/feature.ts'
import type { Mesh } from '../../feature/mesh.ts'
import { requestersOf } from '../../relations/claims.ts'
import { grantsLabels } from '../../relations/requested-labels.ts'
import type { ResolvedRelations } from '../../relations/resolve-relations.ts'
import type { State } from '../../state/state.ts'
import { isFailed, type Report } from '../apply/execute.ts'
import type { Operation } from './operation.ts'
import { dueIn, type Plan } from './plan.ts'

/**
 * Lists the relations whose offer rests on objects that do not stand yet: the waypoint, the policies of a cluster, and those that a beacon
 * writes for the relation. Such an offer is published once they do.
 */
export const heldOffers = (
  mesh: Pick<Mesh, 'isBasis' | 'requestersOf'>,
  subject: Subject,
  state: State,
  resolved: ResolvedRelations,
  planned: Plan,
): string[] =>
  restingOn(mesh, subject, state, resolved, [
    ...planned.blocked.map(({ object }) => object),
    ...dueIn(planned).flatMap((operation) => (operation.verb === 'apply' ? [operation.desired] : [])),
  ])

/** Lists the relations whose offer rests on one of these objects, which are missing. */
export const restingOn = (
  mesh: Pick<Mesh, 'isBasis' | 'requestersOf'>,
  subject: Subject,
  state: State,
  { state: { relations } }: Pick<ResolvedRelations, 'state'>,
  missing: readonly KubernetesObject[],
): string[] => {
  if (missing.length === 0) return []
  const requesters = new Set(missing.flatMap(mesh.requestersOf))
  const isBare = missing.some(mesh.isBasis)
  return Object.entries(state.relations).flatMap(([key, entry]) => {
    const relation = relations[key]
    if (!grantsLabels(entry) || relation === undefined) return []
    const names = [...requestersOf(subject, relation), `cluster of ${subjectName(subject)}`]
    return isBare || names.some((name) => requesters.has(name)) ? [key] : []
  })
}

/** The observed cluster as it is after the writes of a step. */
export const seenAfter = ({ owned, lookups, ...seen }: ClusterView, reports: readonly Report[]): ClusterView => {
  const done = reports.filter((report) => report.isWritten && !isFailed(report)).map(({ operation }) => operation)
  if (done.length === 0) return { ...seen, owned, lookups }
  const gone = new Set(done.flatMap(({ verb, object }) => (verb === 'remove' ? [object] : [])))
  const written = new Map(done.flatMap((one) => (one.verb === 'apply' ? [[one.object, one.desired] as const] : [])))
  const labelled = done.flatMap((one) =>
    'place' in one && one.place.object.kind === 'Namespace' ? [labelledNow(one)] : [],
  )
  return {
    ...seen,
    owned: owned.map(({ kind, live, ...listed }) => ({
      ...listed,
      kind,
      live: live && [
        ...live.filter((object) => !gone.has(objectKey(object)) && !written.has(objectKey(object))),
        ...[...written.values()].filter((object) => object.kind === kind),
      ],
    })),
    lookups: labelled.length === 0 ? lookups : new Map([...lookups, ...lookupsOf(labelled)]),
  }
}

type Labelling = Extract<Operation, { readonly verb: 'label' | 'release' | 'annotate' }>

/** Returns the object with the labels that it has after the write. */
const labelledNow = ({ place, difference: { remove, apply }, manager }: Labelling): KubernetesObject => {
  const { labels, holders } = readLabels(place, manager)
  const isLeft = ([key]: [string, string]) =>
    !Object.hasOwn(remove, key) && (apply === undefined || !holders.own.has(key) || ownValue(apply, key) !== undefined)
  const { object } = place
  const now = { ...Object.fromEntries(Object.entries(labels).filter(isLeft)), ...apply }
  return { ...object, metadata: { ...object.metadata, labels: now } }
}
