import { isMap, type JsonMap, parsed } from '../../platform/base/json.ts'
import {
  type FieldSet,
  fieldsOf,
  unionFields,
  withoutFields,
} from '../../platform/kubernetes/managed-fields/field-set.ts'
import type { StoredObject } from '../../platform/kubernetes/managed-fields/object.ts'
import { ownersOf, tracked, withOwners } from '../../platform/kubernetes/managed-fields/owners.ts'
import type { KubernetesObject, ManagedFields } from '../../platform/kubernetes/objects.ts'
import { shapeOf } from './cluster/shape-of.ts'

/** The field manager of `kubectl apply --server-side`. */
export const KUBECTL = 'kubectl'

/** `kubectl apply` keeps in it what it was given, with all values. */
export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/**
 * Returns the field managers of an object after what it was given by client-side apply is held by kubectl alone. So what the next apply leaves out of
 * that is removed, and what the API server has defaulted stays. Returns undefined if the object was never applied client-side.
 */
export const takenOver = (found: KubernetesObject): ManagedFields[] | undefined => {
  const given = parsed(found.metadata.annotations?.[LAST_APPLIED] ?? '')
  if (!isMap(given)) return undefined
  const owners = ownersOf(found as StoredObject)
  const sets = owners.map(({ fields }) => fields)
  const shape = shapeOf(sets, [found as JsonMap, given])
  const fields = fieldsOf(tracked(given, { shape, zero: {}, status: true, custom: false }, undefined), shape)
  const isKubectl = (owner: (typeof owners)[number]) => owner.manager === KUBECTL && owner.operation === 'Apply'
  const others = owners.flatMap((owner) => {
    const left = isKubectl(owner) ? undefined : withoutFields(owner.fields, fields)
    return left === undefined ? [] : [{ ...owner, fields: left }]
  })
  const held = owners.filter(isKubectl).reduce<FieldSet | undefined>((sum, one) => unionFields(sum, one.fields), fields)
  const own = { manager: KUBECTL, operation: 'Apply', apiVersion: found.apiVersion, fields: held ?? {} } as const
  return withOwners(found as StoredObject, [...others, own]).metadata.managedFields as ManagedFields[]
}
