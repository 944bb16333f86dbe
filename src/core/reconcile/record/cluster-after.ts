import { ownValue } from '../../../platform/base/own-value.ts'
import { readLabels } from '../../../platform/kubernetes/apply-labels.ts'
import { objectKey } from '../../../platform/kubernetes/apply-objects.ts'
import { lookupsOf } from '../../../platform/kubernetes/lookups.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import type { ClusterView } from '../../feature/feature.ts'
import { isFailed, type Report } from '../apply/execute.ts'
import type { Operation } from '../decide/operation.ts'

/** The observed cluster as it is after the writes of a step. */
export const clusterAfter = ({ owned, lookups, ...seen }: ClusterView, reports: readonly Report[]): ClusterView => {
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
