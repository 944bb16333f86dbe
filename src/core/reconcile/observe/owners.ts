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

/** Lists what `of` makes of each object. */
type ListOf = <T>(
  kind: Kind,
  namespace: string | undefined,
  selector: string | undefined,
  of: (object: KubernetesObject) => readonly T[],
) => Promise<readonly T[]>

/** Lists what each object comes to, page by page. */
export const pagesOf =
  ({ pages }: Pick<Kubernetes, 'pages'>): ListOf =>
  async (kind, namespace, selector, of) =>
    (await pages(kind, namespace, selector, (objects) => objects.flatMap(of))).flat()

/** Lists the applications of a namespace that own objects, and of which kinds. A kind that may not be listed is left out. */
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

const PREFIX = fieldManager('')
const WORKLOAD_PREFIX = workloadManager('')

/** Names the applications whose field manager holds something on the object. */
export const holdersOf = (object: KubernetesObject, prefix = PREFIX): string[] =>
  listAppliers(object)
    .filter((manager) => manager.startsWith(prefix))
    .map((manager) => manager.slice(prefix.length))
    .filter((application) => Application.safeParse(application).success)

/** Names the applications that hold labels of pods by their workload's field manager. */
export const podHoldersOf = (object: KubernetesObject): string[] => holdersOf(object, WORKLOAD_PREFIX)

/**
 * Selects the kinds of which an application keeps what it owns. Objects of any other kind were left by a memory that was lost. A workload runs on
 * while the config that demands it is unknown.
 */
export const keptKinds = (state: State): OwnedKind[] => {
  const isTold = state.config !== undefined || isRemoved(state)
  return [...ownedKinds(state.owned), ...(isTold ? [] : [...WORKLOAD_KINDS, ...BESIDE_WORKLOADS])]
}

/** The wait for a resync of the namespace, which removes what the memory of an application does not know of. */
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
