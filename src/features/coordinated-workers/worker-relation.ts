import type { DatabagValue } from '../../core/relations/databags/databag.ts'
import { type Relation, relationName } from '../../core/state/relation.ts'
import { printValue } from '../../platform/base/printed.ts'
import { sortedGroups } from '../../platform/base/sorted-groups.ts'
import type { CoordinatorConfig } from './config.ts'
import { readRoles, readWorkerUnit, type WorkerUnitData } from './databag.ts'
import { andThen, selectProblems, selectValues } from './read.ts'
import { remoteUnits, unitTitle } from './relations.ts'
import { expandRoles } from './roles.ts'

/** A unit of a worker, and its address. */
export type WorkerUnit = {
  readonly namespace: string
  readonly application: string
  readonly unit: string
  readonly charm_name: string
  readonly address: string
}

/** A worker application with at least one unit, by the name of its identity. */
export type WorkerApplication = Pick<WorkerUnit, 'namespace' | 'application'>

/** The workers of one relation's peer. */
export type WorkerRelation = {
  /** The key of the relation in the memory. */
  readonly key: string
  readonly name: string
  /** The peer's namespace. */
  readonly namespace: string
  /** The announced roles, not expanded. Undefined if they cannot be read. */
  readonly announced: readonly string[] | undefined
  /** The announced roles that the cluster has, sorted, with meta roles expanded. */
  readonly roles: readonly string[]
  readonly units: readonly WorkerUnit[]
  readonly applications: readonly WorkerApplication[]
  readonly problems: readonly string[]
}

/** Reads the workers of one relation of a coordinator in `namespace`. */
export const readWorkers = (
  relation: Relation & { key: string },
  namespace: string,
  config: CoordinatorConfig,
): WorkerRelation => {
  const { application, namespace: home = namespace } = relation.remote
  const isKnown = home === namespace || relation.source === 'peer'
  const role = readRoles(relation.remote.data, 'data')
  const announced = 'unreadable' in role ? undefined : (role.value ?? [])
  const told = remoteUnits(relation).map(([unit, databag]) => {
    const data = readWorkerUnit(databag, unitTitle(unit))
    return isKnown ? andThen(data, (one) => checkNames(one, application, unit)) : data
  })
  const units = selectValues(told).map(({ juju_topology, address }) => ({ namespace: home, ...juju_topology, address }))
  return {
    key: relation.key,
    name: relationName(relation),
    namespace: home,
    announced,
    roles: expandRoles(announced ?? [], config).filter((one) => config.roles.includes(one)),
    units,
    // an application with an unreadable unit keeps its access
    applications: isKnown && told.some(isPresent) ? [{ namespace: home, application }] : findApplications(units),
    problems: [...selectProblems([role]), ...unknownRoles(announced ?? [], config), ...selectProblems(told)],
  }
}

const isPresent = (unit: DatabagValue<WorkerUnitData>): boolean => 'unreadable' in unit || unit.value !== undefined

/**
 * Checks a unit's own names. In the coordinator's namespace the platform gives the names, and a unit must not override them, because unit data grant
 * access. An application of another namespace may have an alias, which only its units can resolve.
 */
const checkNames = (data: WorkerUnitData, application: string, unit: string): DatabagValue<WorkerUnitData> => {
  const told = data.juju_topology
  const real = { application, unit }
  const field = (['application', 'unit'] as const).find((one) => told[one] !== real[one])
  if (field === undefined) return { value: data }
  return {
    unreadable: `${unitTitle(unit)}.juju_topology.${field}: expected ${printValue(real[field])}, got ${printValue(told[field])}`,
  }
}

const findApplications = (units: readonly WorkerUnit[]): WorkerApplication[] =>
  sortedGroups(units, ({ application }) => application).flatMap(([, having]) =>
    having.slice(0, 1).map(({ namespace, application }) => ({ namespace, application })),
  )

const unknownRoles = (announced: readonly string[], { roles }: CoordinatorConfig): string[] => {
  const [first, ...others] = announced.filter((role) => !roles.includes(role))
  const more = others.length > 0 ? ` (and ${others.length} more)` : ''
  return first === undefined ? [] : [`data.role: expected roles of the cluster, got ${printValue(first)}${more}`]
}
