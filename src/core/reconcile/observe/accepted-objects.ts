import type { Condition } from '../../../platform/base/condition.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import type { Kubernetes } from '../../../platform/kubernetes/client.ts'
import { findLookup, observeLookups } from '../../../platform/kubernetes/lookups.ts'
import { type KubernetesObject, objectKey } from '../../../platform/kubernetes/objects.ts'
import type { Mesh } from '../../feature/mesh.ts'
import { isPending, type Unenforced } from '../../policies/unenforced.ts'
import { type Observed, placesOf } from './cluster.ts'

/** The objects of an application that the mesh has to accept, and other objects that show if the mesh reports acceptance at all. */
export type ToBeTaken = {
  readonly objects: readonly KubernetesObject[]
  readonly witnesses: readonly KubernetesObject[]
}

/** Selects the objects that the mesh has to accept: Services, and objects that are both live and desired. */
export const toBeTaken = (
  { owned, targets, lookups }: Pick<Observed, 'owned' | 'targets' | 'lookups'>,
  desired: readonly KubernetesObject[],
): ToBeTaken => {
  const live = owned.kinds.flatMap(({ live: there = [] }) => there)
  const wanted = new Set(desired.map(objectKey))
  const services = placesOf(targets.current).flatMap(({ object }) => (object.kind === 'Service' ? [object] : []))
  const known = [...lookups.values()].filter((one): one is KubernetesObject => one !== undefined && 'kind' in one)
  return {
    objects: [...live.filter((object) => wanted.has(objectKey(object))), ...services],
    witnesses: [
      ...live.filter((object) => !wanted.has(objectKey(object))),
      ...owned.kinds.flatMap(({ library }) => library),
      ...known.filter(({ kind }) => kind === 'Service' || kind === 'ConfigMap'),
    ],
  }
}

/**
 * Reads the objects that describe the mesh itself, to learn from its version if it reports acceptance. Empty if there are no policies, or
 * if some object has a condition of a mesh already.
 */
export const meshConfigs = async (
  mesh: Pick<Mesh, 'causeLookups'>,
  kubernetes: Kubernetes,
  namespace: string,
  { objects, witnesses }: ToBeTaken,
): Promise<KubernetesObject[]> => {
  const isAsked = objects.some(({ kind }) => kind === 'AuthorizationPolicy')
  if (!isAsked || [...objects, ...witnesses].some(hasConditions)) return []
  const lookups = await observeLookups(kubernetes, (seen) => mesh.causeLookups(namespace, seen))
  return [...lookups.keys()].flatMap((name) => findLookup(lookups, name) ?? [])
}

/** Conditions that are unknown are the API server's own, for a new object that waits for its controller. */
const hasConditions = ({ status }: KubernetesObject): boolean =>
  Array.isArray(status?.conditions) && status.conditions.some((condition) => condition?.status !== 'Unknown')

/** Adds the reason why the mesh has not accepted objects. Each namespace is looked up once. */
export const withCauses = async (
  mesh: Pick<Mesh, 'causeLookups' | 'causeIn' | 'withCause'>,
  kubernetes: Kubernetes,
  found: readonly Unenforced[],
): Promise<Condition[]> => {
  const namespaceOf = ({ live }: Unenforced): string => live.metadata.namespace ?? ''
  const namespaces = [...new Set(found.filter(isPending).map(namespaceOf))]
  const lookups = await observeLookups(kubernetes, (seen) =>
    namespaces.flatMap((namespace) => mesh.causeLookups(namespace, seen)),
  )
  const causes = new Map(namespaces.map((namespace) => [namespace, mesh.causeIn(namespace, lookups)]))
  return found.map((one) => mesh.withCause(one, causes.get(namespaceOf(one))))
}

/** Looks up if the mesh accepts objects of the application's namespace. Empty if `told` reports that already. */
export const namespaceCause = async (
  mesh: Pick<Mesh, 'causeLookups' | 'causeIn'>,
  kubernetes: Kubernetes,
  { namespace }: Subject,
  told: readonly Unenforced[],
): Promise<Condition[]> => {
  if (told.some((one) => isPending(one) && one.live.metadata.namespace === namespace)) return []
  const lookups = await observeLookups(kubernetes, (seen) => mesh.causeLookups(namespace, seen))
  const cause = mesh.causeIn(namespace, lookups)
  return cause === undefined ? [] : [cause]
}
