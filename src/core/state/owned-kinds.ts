import { groupOf, isKind } from '../../platform/kubernetes/objects.ts'
import { OwnedKind } from './state.ts'

/**
 * Names a kind that an application owns as kubectl does: `Deployment.apps`, `Service`. Kinds of one name in two groups stand side by side, and one that
 * this program does not know is kept.
 */
export const ownedName = (kind: string): string => {
  const group = isKind(kind) ? groupOf(kind) : ''
  return group === '' ? kind : `${kind}.${group}`
}

const KINDS: ReadonlyMap<string, OwnedKind> = new Map(OwnedKind.options.map((kind) => [ownedName(kind), kind]))

/** Tells if this program knows an owned kind; one that a newer program wrote stays as it is. */
export const isKnownKind = (name: string): boolean => KINDS.has(name)

/** Selects the kinds that this program knows. */
export const ownedKinds = (names: readonly string[] = []): OwnedKind[] => names.flatMap((name) => KINDS.get(name) ?? [])
