import { type Relation, relationsWith } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'

type Relations = EffectiveState['relations']

/** Lists the relations of a beacon with its consumers. */
export const consumersOf = (relations: Relations): Relation[] =>
  relationsWith(relations, { interface: 'service_mesh', role: 'provides' })

/** Tells if a consumer writes the policies that guard it. */
export const isGuardingItself = ({ requirer }: Pick<Relation, 'requirer'>): boolean =>
  requirer !== undefined && requirer !== 'unmanaged' && requirer !== 'unreadable'

/** Lists the relations with consumers that write the policies that guard them. */
export const guardingConsumers = (relations: Relations): Relation[] => consumersOf(relations).filter(isGuardingItself)
