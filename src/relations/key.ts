import type { Relation, State } from '../state.ts'

type Remote = { readonly application: string; readonly namespace?: string | undefined }

type Named = Pick<Relation, 'id'> & Partial<Pick<Relation, 'interface' | 'role'>>

/** Whether both name the same application, seen from `namespace`. */
export const isSameRemote = (namespace: string, one: Remote, other: Remote): boolean =>
  one.application === other.application && (one.namespace ?? namespace) === (other.namespace ?? namespace)

/** Where a relation is that the remote application told of: it counts its relations for itself, with ids of its own. */
export const publishedKey = (namespace: string, { id }: Named, remote: Remote): string =>
  `${remote.namespace ?? namespace}/${remote.application}/${id}`

/** Whether the relation of that key was known from the remote application before anybody else told of it. */
export const isToldByRemote = (key: string): boolean => key.includes('/')

/**
 * The key of a relation in the memory of an application of `namespace`. A platform or a document numbers the relations of a namespace:
 * the id is the key. What the remote application publishes has ids of its own where that is in another namespace, so it belongs to the
 * relation with it that is known, by the id or else by being the only one of its interface; and the other way round.
 */
export const relationKey = (
  namespace: string,
  { relations }: State,
  named: Named,
  { remote, isPublished }: { remote: Remote; isPublished: boolean },
): string => {
  const known = Object.entries(relations).filter(([, relation]) => isSameRemote(namespace, relation.remote, remote))
  const numbered = known.find(([, { id }]) => id === named.id)
  if (numbered) return numbered[0]
  const alike = known
    .filter(([, { interface: name, role }]) => name === named.interface && role === named.role)
    .filter(([key, relation]) => isPublished || key === publishedKey(namespace, relation, remote))
  if (alike.length === 1 && alike[0]) return alike[0][0]
  return isPublished ? publishedKey(namespace, named, remote) : String(named.id)
}
