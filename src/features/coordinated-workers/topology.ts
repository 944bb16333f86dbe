import { relationsWith } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import { sortedGroups } from '../../platform/base/sorted-groups.ts'
import type { CoordinatorConfig } from './config.ts'
import { endpointNames } from './settings.ts'
import { readWorkers, type WorkerRelation, type WorkerUnit } from './worker-relation.ts'

/** The workers of a coordinator, as in their databags. */
export type Topology = {
  /** The relations with workers, by id. */
  readonly relations: readonly WorkerRelation[]
  readonly units: readonly WorkerUnit[]
  /** The number of units for each role. Roles without units are absent. */
  readonly roles: Readonly<Record<string, number>>
  /** The distinct addresses, sorted. */
  readonly addresses: readonly string[]
  readonly addressesByRole: Readonly<Record<string, readonly string[]>>
  readonly problems: readonly string[]
}

/** Finds the workers of a coordinator in `namespace`. Unreadable data are named, and do not affect the rest. */
export const findTopology = (
  relations: EffectiveState['relations'],
  namespace: string,
  config: CoordinatorConfig,
): Topology => {
  const { cluster: endpoint } = endpointNames(config)
  const wanted = endpoint === undefined ? { interface: 'cluster' } : { endpoint }
  const workers = relationsWith(relations, { role: 'provides', ...wanted }).map((relation) =>
    readWorkers(relation, namespace, config),
  )
  const units = workers.flatMap((one) => one.units)
  const byRole = unitsByRole(workers)
  return {
    relations: workers,
    units,
    roles: Object.fromEntries(byRole.map(([role, having]) => [role, having.length])),
    addresses: uniqueAddresses(units),
    addressesByRole: Object.fromEntries(byRole.map(([role, having]) => [role, uniqueAddresses(having)])),
    problems: workers.flatMap(({ name, problems }) => problems.map((problem) => `${name}: ${problem}`)),
  }
}

type RoleUnit = { readonly role: string; readonly address: string }

const unitsByRole = (workers: readonly WorkerRelation[]): [role: string, units: RoleUnit[]][] =>
  sortedGroups(
    workers.flatMap(({ roles, units }) => roles.flatMap((role) => units.map(({ address }) => ({ role, address })))),
    ({ role }) => role,
  )

const uniqueAddresses = (units: readonly { readonly address: string }[]): string[] =>
  [...new Set(units.map(({ address }) => address))].toSorted()
