import {
  type Kind,
  type KubernetesObject,
  nameOf,
  objectKey,
  type Reference,
} from '../../../platform/kubernetes/objects.ts'

/** Objects in memory, by kind, namespace and name. */
export type Objects = {
  has(object: KubernetesObject): boolean
  find(reference: Reference): KubernetesObject | undefined
  /** Lists a kind in a namespace, or in all, by name. */
  list(kind: Kind, namespace: string | undefined): KubernetesObject[]
  all(): KubernetesObject[]
  put(object: KubernetesObject): void
  remove(object: KubernetesObject): void
}

export const createObjects = (): Objects => {
  const named = new Map<string, KubernetesObject>()
  const places = new Map<string, Set<string>>()
  const placesOf = ({ kind, metadata: { namespace } }: KubernetesObject) => [kind, `${kind} ${namespace}`]
  return {
    has: (object) => named.has(objectKey(object)),
    find: (reference) => named.get(nameOf(reference)),
    list: (kind, namespace) => {
      const keys = places.get(namespace === undefined ? kind : `${kind} ${namespace}`) ?? []
      return [...keys].toSorted().flatMap((key) => named.get(key) ?? [])
    },
    all: () => [...named.values()],
    put: (object) => {
      const key = objectKey(object)
      named.set(key, object)
      for (const place of placesOf(object)) places.set(place, (places.get(place) ?? new Set()).add(key))
    },
    remove: (object) => {
      const key = objectKey(object)
      named.delete(key)
      for (const place of placesOf(object)) places.get(place)?.delete(key)
    },
  }
}
