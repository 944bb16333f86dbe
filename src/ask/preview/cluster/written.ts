import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../../platform/base/clock.ts'
import { at, type JsonMap, withAt } from '../../../platform/base/json.ts'
import type { PatchOperation } from '../../../platform/kubernetes/client.ts'
import { serverSideApply } from '../../../platform/kubernetes/managed-fields/apply.ts'
import type { StoredObject } from '../../../platform/kubernetes/managed-fields/object.ts'
import {
  type Applicable,
  ownersAfterUpdate,
  ownersOf,
  withOwners,
} from '../../../platform/kubernetes/managed-fields/owners.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import { shapeOf } from './shape-of.ts'

type Writer = { readonly manager: string; readonly clock: Pick<Clock, 'now'> }

/** Applies an object over a live one by force, or as a new one. Nothing is defaulted, and nothing is checked. */
export const applied = (live: KubernetesObject | undefined, sent: KubernetesObject, by: Writer): KubernetesObject => {
  const writer = { manager: by.manager, operation: 'Apply', apiVersion: sent.apiVersion } as const
  const target = { live: live as StoredObject | undefined, config: sent as JsonMap, kind: kindOf(live, sent) }
  const { object, owners } = serverSideApply(target, { writer, time: timeOf(by) })
  return withOwners(object, owners) as KubernetesObject
}

/** Returns an object as it is after an update. What is sent may name the owners of fields anew. */
export const updated = (live: KubernetesObject | undefined, sent: KubernetesObject, by: Writer): KubernetesObject => {
  const writer = { manager: by.manager, operation: 'Update', apiVersion: sent.apiVersion } as const
  const change = { before: (live ?? {}) as JsonMap, after: sent as JsonMap, kind: kindOf(live, sent) }
  const owners = ownersAfterUpdate(
    change,
    ownersOf((sent.metadata.managedFields ? sent : live) as StoredObject | undefined),
    {
      writer,
      time: timeOf(by),
    },
  )
  return withOwners(sent as JsonMap, owners) as KubernetesObject
}

/** Returns an object after a JSON patch, or undefined if a test of it fails. */
export const patched = (
  live: KubernetesObject,
  operations: readonly PatchOperation[],
): KubernetesObject | undefined => {
  let object = live as JsonMap
  for (const { op, path, value } of operations) {
    const [, ...names] = path.split('/').map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    if (op !== 'test') object = withAt(object, names, op === 'add' ? (value as JsonMap) : undefined)
    else if (!isDeepStrictEqual(at(object, ...names), value)) return undefined
  }
  return object as KubernetesObject
}

const timeOf = ({ clock }: Writer): string => new Date(clock.now()).toISOString()

const kindOf = (live: KubernetesObject | undefined, sent: KubernetesObject): Applicable => {
  const owners = ownersOf(live as StoredObject | undefined)
  const shape = shapeOf(
    owners.map(({ fields }) => fields),
    [(live ?? {}) as JsonMap, sent as JsonMap],
  )
  return { shape, zero: {}, status: true, custom: false }
}
