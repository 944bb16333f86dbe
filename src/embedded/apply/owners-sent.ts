import { equal, isMap, type Json, type JsonMap, listOf, mapOf, parsed } from '../../platform/base/json.ts'
import type { KubernetesObject } from '../../platform/kubernetes/apply/object.ts'
import { type Owner, ownersOf } from '../../platform/kubernetes/apply/owners.ts'

const isElement = (element: string): boolean =>
  element.startsWith('k:') ? isMap(parsed(element.slice(2))) : /^(\.$|[fvi]:)/.test(element)

/** The value of a client is a set of fields. */
const isFieldSet = (value: Json | undefined): boolean =>
  isMap(value) && Object.entries(value).every(([element, members]) => isElement(element) && isFieldSet(members))

/**
 * The owners that a client sends with an object. They replace the recorded ones; one empty entry resets them; none, or invalid ones,
 * leave them. A status write cannot send any.
 */
export const ownersSent = (live: KubernetesObject, sent: JsonMap, subresource: string | undefined): Owner[] => {
  const entries: Json | undefined = mapOf(sent.metadata).managedFields
  if (subresource !== undefined || listOf(entries).length === 0) return ownersOf(live)
  if (equal(entries, [{}])) return []
  const owners = ownersOf({ metadata: { managedFields: entries } } as unknown as KubernetesObject)
  return owners.every(({ manager, operation, fields }) => manager && operation && isFieldSet(fields))
    ? owners
    : ownersOf(live)
}
