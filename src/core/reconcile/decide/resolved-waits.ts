import type { Subject } from '../../../platform/base/subject.ts'
import type { Mesh } from '../../feature/mesh.ts'
import type { Peers } from '../../relations/peers.ts'
import { silentProviders } from '../../relations/relation-waits.ts'
import { takesLabels } from '../../relations/requested-labels.ts'
import type { ResolvedRelations } from '../../relations/resolve-relations.ts'
import { configWait, unknownIn } from '../../relations/unknown.ts'
import type { State } from '../../state/state.ts'
import { type Observed, workloadLabelsIn } from '../observe/cluster.ts'
import { askingIds } from '../recover.ts'

/** Adds that the config is awaited, and the waits for providers that have yet to offer labels. */
export const withWaits = (
  mesh: Pick<Mesh, 'requestersOf'>,
  subject: Subject,
  state: State,
  resolved: ResolvedRelations,
  peers: Peers,
  observed: Pick<Observed, 'owned' | 'targets'>,
): ResolvedRelations => {
  const told = withConfigAwaited(mesh, subject, resolved, observed)
  const { own = [] } = workloadLabelsIn(subject, observed.targets)
  return { ...told, waiting: [...told.waiting, ...silentProviders(subject, state, told, peers, own)] }
}

/**
 * Notes that the config is awaited: the memory was lost, the application is related to a beacon, and policies of its own stand. Its labels
 * and these policies stay until the config says what it asks for.
 */
const withConfigAwaited = (
  { requestersOf }: Pick<Mesh, 'requestersOf'>,
  subject: Subject,
  resolved: ResolvedRelations,
  { owned }: Pick<Observed, 'owned'>,
): ResolvedRelations => {
  const { lost, relations } = resolved.state
  if (!resolved.unknown.config || lost === undefined) return resolved
  const hasBeacon = Object.values(relations).some((one) => one.interface === 'service_mesh' && takesLabels(one))
  const isGuarded = askingIds({ requestersOf }, subject, { owned }).length > 0
  if (!hasBeacon || !isGuarded) return resolved
  const waiting = [...resolved.waiting, configWait(subject)]
  return { ...resolved, unknown: unknownIn(resolved.state, true), waiting }
}
