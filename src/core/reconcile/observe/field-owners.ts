import { type Condition, waitFor } from '../../../platform/base/condition.ts'
import { Application } from '../../../platform/base/names.ts'
import { type Subject, subjectName } from '../../../platform/base/subject.ts'
import type { Kubernetes } from '../../../platform/kubernetes/client.ts'
import { listAppliers } from '../../../platform/kubernetes/field-managers.ts'
import type { Kind, KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import { fieldManager, ownerSelector } from '../../../platform/kubernetes/ownership-labels.ts'
import { OwnedKind, ownedKinds } from '../../state/owned-kinds.ts'
import { isRemoved, type State } from '../../state/state.ts'
import { BESIDE_WORKLOADS, WORKLOAD_KINDS, workloadManager } from '../../workload/objects.ts'
import { isOfOneNamespace, listOwned, unlessForbidden } from './cluster.ts'

/** An application that owns an object of a kind. Policies may be in other namespaces. */
export type Owner = { readonly application: string; readonly kind: OwnedKind; readonly isFar: boolean }

/** Lists objects page by page, and keeps only the result of `of` for each. */
export const listEach = async <T>(
  { pages }: Pick<Kubernetes, 'pages'>,
  kind: Kind,
  namespace: string | undefined,
  selector: string | undefined,
  of: (object: KubernetesObject) => readonly T[],
): Promise<readonly T[]> => (await pages(kind, namespace, selector, (objects) => objects.flatMap(of))).flat()

/** Lists the applications of a namespace that own objects, with the kinds. Kinds that may not be listed are left out. */
export const ownersIn = async (kubernetes: Kubernetes, namespace: string): Promise<Owner[]> => {
  const listed = await Promise.all(
    OwnedKind.options.map(async (kind) => {
      const owners = (object: KubernetesObject) => {
        const isFar = kind === 'AuthorizationPolicy' && object.metadata.namespace !== namespace
        const holders = [...holdersOf(object), ...holdersOf(object, WORKLOAD_PREFIX)]
        return holders.map((application) => ({ application, kind, isFar }))
      }
      if (kind === 'Namespace') {
        const found = await unlessForbidden(kubernetes.find({ kind, name: namespace }))
        return 'value' in found && found.value ? owners(found.value) : []
      }
      const query = { kind, namespace, selector: ownerSelector({ namespace }) }
      return (await listOwned({ ...query, list: (...where) => listEach(kubernetes, ...where, owners) })).live ?? []
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

/** Creates a test for objects that were left by a lost memory, as this one does not look for them. A workload runs on while its config is unknown. */
export const isLeftBy = (state: State): ((owner: Owner) => boolean) => {
  const isTold = state.config !== undefined || isRemoved(state)
  const kept = [...ownedKinds(state.owned), ...(isTold ? [] : [...WORKLOAD_KINDS, ...BESIDE_WORKLOADS])]
  const isNear = isOfOneNamespace(state)
  return ({ kind, isFar }) => !kept.includes(kind) || (isFar && isNear)
}

/** Lists the waits for a resync of the namespace, which removes objects that the application's memory does not know. */
export const orphanWaits = (subject: Subject, state: State, owners: readonly Owner[]): Condition[] => {
  const left = owners.filter(({ application }) => application === subject.application).filter(isLeftBy(state))
  const name = subjectName(subject)
  return [...new Set(left.map(({ kind }) => kind))]
    .toSorted()
    .map((kind) =>
      waitFor(
        [`a resync of ${subject.namespace}`],
        'MemoryLost',
        `each ${kind} of ${name}`,
        `objects of kind ${kind} that ${name} wrote stand, and its memory, which was lost once, does not know them: a resync of ${subject.namespace} removes them`,
      ),
    )
}
