import { type JsonMap, listOf, mapOf } from '../../platform/base/json.ts'
import type { StoredObject } from '../../platform/kubernetes/managed-fields/object.ts'
import { kindOf } from '../kinds/kinds.ts'

/** The place of an object that owns others. */
export type Owner = { readonly kind: string; readonly namespace?: string | undefined; readonly name: string }

/** `{deployment}-{hash}` of a ReplicaSet, without the hash. */
const deploymentName = (replicaSet: string): string => replicaSet.slice(0, replicaSet.lastIndexOf('-'))

/** Returns the owner that a reference names. ReplicaSets are not stored, so theirs is their Deployment. */
export const ownerIn = ({ kind, name }: JsonMap): Pick<Owner, 'kind' | 'name'> =>
  kind === 'ReplicaSet'
    ? { kind: 'Deployment', name: deploymentName(String(name)) }
    : { kind: String(kind), name: String(name) }

/** The owners that an object names. Each is in the namespace of the object, or in none. */
export const ownersOf = ({ metadata: { namespace, ownerReferences } }: StoredObject): Owner[] =>
  listOf(ownerReferences).map((each) => {
    const reference = mapOf(each)
    const isAnywhere = kindOf(String(reference.apiVersion), String(reference.kind))?.namespaced === false
    return { ...ownerIn(reference), ...(isAnywhere ? {} : { namespace }) }
  })
