import type { FieldSet, KubernetesObject, ManagedFields } from '../../platform/kubernetes/objects.ts'

/** The field manager of `kubectl apply --server-side`. */
export const KUBECTL = 'kubectl'

const LAST_APPLIED = 'f:kubectl.kubernetes.io/last-applied-configuration'

/**
 * Returns the field managers of an object after `kubectl apply --server-side` has migrated fields from client-side apply. Without this, fields that are
 * missing from the next apply would stay. Returns undefined if the object was never applied client-side.
 */
export const takenOver = ({ metadata: { managedFields = [] } }: KubernetesObject): ManagedFields[] | undefined => {
  const taken = managedFields.filter((one) => one.operation === 'Update' && keepsLastApplied(one))
  const [first] = taken
  if (first === undefined) return undefined
  const isKubectl = ({ manager, operation }: ManagedFields) => manager === KUBECTL && operation === 'Apply'
  const joined = [...taken.map(withoutLastApplied), ...managedFields.filter(isKubectl).map(fieldsOf)].reduce(union)
  return [
    ...managedFields.filter((one) => !taken.includes(one) && !isKubectl(one)),
    { ...first, fieldsV1: { 'f:metadata': { 'f:annotations': { [LAST_APPLIED]: {} } } } },
    { ...first, manager: KUBECTL, operation: 'Apply', fieldsV1: joined },
  ]
}

const fieldsOf = ({ fieldsV1 = {} }: ManagedFields): FieldSet => fieldsV1

const annotationsOf = (one: ManagedFields): FieldSet => fieldsOf(one)['f:metadata']?.['f:annotations'] ?? {}

const keepsLastApplied = (one: ManagedFields): boolean => Object.hasOwn(annotationsOf(one), LAST_APPLIED)

/** Removes the last-applied annotation: it stays with its manager, because no server-side apply sets it. */
const withoutLastApplied = (one: ManagedFields): FieldSet => {
  const { [LAST_APPLIED]: _, ...annotations } = annotationsOf(one)
  const { 'f:metadata': metadata, ...others } = fieldsOf(one)
  return { ...others, 'f:metadata': { ...metadata, 'f:annotations': annotations } }
}

const union = (some: FieldSet, others: FieldSet): FieldSet => ({
  ...some,
  ...Object.fromEntries(Object.entries(others).map(([key, members]) => [key, union(some[key] ?? {}, members)])),
})
