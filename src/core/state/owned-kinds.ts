import { groupOf, isKind } from '../../platform/kubernetes/objects.ts'
import { OwnedKind, type State } from './state.ts'

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
