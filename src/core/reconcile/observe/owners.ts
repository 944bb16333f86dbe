import { Application } from '../../../platform/base/names.ts'
import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import type { Wait } from '../../../platform/base/wait.ts'
import type { Kubernetes } from '../../../platform/kubernetes/client.ts'
import { listAppliers } from '../../../platform/kubernetes/field-managers.ts'
import type { Kind, KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import { fieldManager, ownerSelector } from '../../../platform/kubernetes/ownership-labels.ts'
import { ownedKinds } from '../../state/owned-kinds.ts'
import { isRemoved, OwnedKind, type State } from '../../state/state.ts'
import { BESIDE_WORKLOADS, WORKLOAD_KINDS, workloadManager } from '../../workload/objects.ts'
import { listOwned, unlessForbidden } from './cluster.ts'

/** An application that owns objects of a kind. */
export type Owner = { readonly application: string; readonly kind: OwnedKind }

/** Lists the results of `of` for each object. */
type ListOf = <T>(
  kind: Kind,
  namespace: string | undefined,
  selector: string | undefined,
  of: (object: KubernetesObject) => readonly T[],
) => Promise<readonly T[]>

/** Lists objects page by page, and keeps only the result of `of` for each. */
export const pagesOf =
  ({ pages }: Pick<Kubernetes, 'pages'>): ListOf =>
  async (kind, namespace, selector, of) =>
    (await pages(kind, namespace, selector, (objects) => objects.flatMap(of))).flat()

/** Lists the applications of a namespace that own objects, with the kinds. Kinds that may not be listed are left out. */
export const ownersIn = async (kubernetes: Kubernetes, namespace: string): Promise<Owner[]> => {
  const list = pagesOf(kubernetes)
  const listed = await Promise.all(
    OwnedKind.options.map(async (kind) => {
      const owners = (object: KubernetesObject) =>
        [...holdersOf(object), ...holdersOf(object, WORKLOAD_PREFIX)].map((application) => ({ application, kind }))
      if (kind === 'Namespace') {
        const found = await unlessForbidden(kubernetes.find({ kind, name: namespace }))
        return 'value' in found && found.value ? owners(found.value) : []
      }
      const query = { kind, namespace, selector: ownerSelector({ namespace }) }
      return (await listOwned({ ...query, list: (...where) => list(...where, owners) })).live ?? []
    }),
  )
  return listed.flat()
}

/** Tells if an application owns objects, which a lost memory may have known. */
export const isOwner = async (kubernetes: Kubernetes, { namespace, application }: Subject): Promise<boolean> =>
  (await ownersIn(kubernetes, namespace)).some((owner) => owner.application === application)

const PREFIX = fieldManager('')
const WORKLOAD_PREFIX = workloadManager('')

/** Names the applications whose field manager holds a field of the object. */
export const holdersOf = (object: KubernetesObject, prefix = PREFIX): string[] =>
  listAppliers(object)
    .filter((manager) => manager.startsWith(prefix))
    .map((manager) => manager.slice(prefix.length))
    .filter((application) => Application.safeParse(application).success)

/** Names the applications that hold labels of pods by their workload's field manager. */
export const podHoldersOf = (object: KubernetesObject): string[] => holdersOf(object, WORKLOAD_PREFIX)

/** Lists the kinds whose owned objects stay. Objects of other kinds were left by a lost memory. A workload runs on while its config is unknown. */
export const keptKinds = (state: State): OwnedKind[] => {
  const isTold = state.config !== undefined || isRemoved(state)
  return [...ownedKinds(state.owned), ...(isTold ? [] : [...WORKLOAD_KINDS, ...BESIDE_WORKLOADS])]
}

/** Lists the waits for a resync of the namespace, which removes objects that the application's memory does not know. */
export const orphanWaits = (subject: Subject, state: State, owners: readonly Owner[]): Wait[] => {
  const kept = keptKinds(state)
  const left = owners.filter(({ application, kind }) => application === subject.application && !kept.includes(kind))
  const name = subjectName(subject)
  return [...new Set(left.map(({ kind }) => kind))].toSorted().map((kind) => ({
    held: `each ${kind} of ${name}`,
    for: [`a resync of ${subject.namespace}`],
    message: `objects of kind ${kind} that ${name} wrote stand, and its memory, which was lost once, does not know them: a resync of ${subject.namespace} removes them`,
  }))
}
