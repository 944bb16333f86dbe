import pMap from 'p-map'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import type { Cluster } from './cluster.ts'

type Resource = { readonly name: string; readonly kind: string; readonly verbs: readonly string[] }
type Listable = { readonly path: string; readonly apiVersion: string; readonly kind: string }

/** What controllers say of others, and say anew at any time. */
const PASSING = ['ComponentStatus', 'Endpoints', 'EndpointSlice', 'Event', 'Lease']

/** Finds all that the API server can list, one version of each. */
export const findListable = async ({ get }: Cluster): Promise<Listable[]> => {
  const { groups } = (await get('/apis')) as { groups: { preferredVersion: { groupVersion: string } }[] }
  const versions = ['v1', ...groups.map(({ preferredVersion }) => preferredVersion.groupVersion)]
  const found = await pMap(
    versions,
    async (apiVersion) => {
      const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
      const { resources } = (await get(root)) as { resources: Resource[] }
      return resources
        .filter(({ kind, verbs }) => verbs.includes('list') && !PASSING.includes(kind))
        .map(({ name, kind }) => ({ path: `${root}/${name}`, apiVersion, kind }))
    },
    { concurrency: 8 },
  )
  return found.flat()
}

/**
 * Every object of these kinds that is in one of the namespaces, or names one, wherever it is: others use the cluster as well. Without what
 * changes by itself.
 */
export const readEverything = async (
  { get }: Cluster,
  listable: readonly Listable[],
  namespaces: readonly string[],
): Promise<KubernetesObject[]> => {
  const lists = await pMap(
    listable,
    async ({ path, apiVersion, kind }) => {
      const { items } = (await get(path)) as { items: KubernetesObject[] | null }
      return (items ?? []).map((item) => ({ ...item, apiVersion, kind }))
    },
    { concurrency: 8 },
  )
  const isOurs = (object: KubernetesObject): boolean => {
    const text = JSON.stringify(object)
    return namespaces.some((namespace) => text.includes(namespace))
  }
  return lists.flat().filter(isOurs).map(withoutPassing)
}

const withoutPassing = ({ status: _, ...object }: KubernetesObject): KubernetesObject => {
  const { managedFields: _fields, resourceVersion: _version, ...metadata } = object.metadata
  return { ...object, metadata } as KubernetesObject
}
