import * as z from 'zod'
import { groupOf, isKind } from '../../platform/kubernetes/objects.ts'
import type { State } from './state.ts'

/** The kinds of objects that an application may own. */
export const OwnedKind = z.enum([
  'AuthorizationPolicy',
  'ConfigMap',
  'Deployment',
  'Gateway',
  'HorizontalPodAutoscaler',
  'Namespace',
  'PodDisruptionBudget',
  'Service',
  'ServiceAccount',
  'StatefulSet',
])
export type OwnedKind = z.infer<typeof OwnedKind>

/**
 * Names an owned kind as kubectl does: `Deployment.apps`, `Service`. So kinds of one name in two groups differ, and kinds that this program
 * does not know are kept.
 */
export const ownedName = (kind: string): string => {
  const group = isKind(kind) ? groupOf(kind) : ''
  return group === '' ? kind : `${kind}.${group}`
}

const KINDS: ReadonlyMap<string, OwnedKind> = new Map(OwnedKind.options.map((kind) => [ownedName(kind), kind]))

/** Tells if this program knows an owned kind. Kinds that a newer program wrote stay as they are. */
export const isKnownKind = (name: string): boolean => KINDS.has(name)

/** Selects the kinds that this program knows. */
export const ownedKinds = (owned: State['owned'] = {}): OwnedKind[] =>
  Object.keys(owned).flatMap((name) => KINDS.get(name) ?? [])
