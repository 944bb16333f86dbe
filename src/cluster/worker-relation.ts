import type { Read } from '../databag.ts'
import { shown } from '../mesh/problem.ts'
import { groups } from '../policies/groups.ts'
import type { Databag, Relation } from '../state.ts'
import type { CoordinatorConfig } from './config.ts'
import { readRoles, readWorkerUnit, type WorkerUnitData } from './databag.ts'
import { andThen, problemsOf, valuesOf } from './read.ts'
import { nameOf, titleOf, unitsOf } from './relations.ts'
import { expandRoles } from './roles.ts'

/** A unit that works for the coordinator, and where it is reached. */
export type WorkerUnit = {
  readonly namespace: string
  readonly application: string
  readonly unit: string
  readonly charm_name: string
  readonly address: string
}

/** An application that works for the coordinator, with one unit at least. */
export type WorkerApplication = Pick<WorkerUnit, 'namespace' | 'application'>

/** The workers at the other side of one relation. */
export type WorkerRelation = {
  readonly id: number
  readonly name: string
  /** What the application announced, as it did; undefined while it did not, or cannot be read. */
  readonly announced: readonly string[] | undefined
  /** Of that what the cluster knows, with meta roles expanded, sorted. */
  readonly roles: readonly string[]
  readonly units: readonly WorkerUnit[]
  readonly applications: readonly WorkerApplication[]
  readonly problems: readonly string[]
}

/** The workers that `relation` tells of to the coordinator with `config` in `namespace`. */
export const workersOf = (relation: Relation, namespace: string, config: CoordinatorConfig): WorkerRelation => {
  const isLocal = (relation.remote.namespace ?? namespace) === namespace
  const role = readRoles(relation.remote.data, 'data')
  const announced = valuesOf([role])[0]
  const reads = unitsOf(relation).map(([unit, databag]) =>
    isLocal ? localUnit(unit, databag, relation, namespace) : foreignUnit(unit, databag, relation, namespace),
  )
  const units = valuesOf(reads)
  return {
    id: relation.id,
    name: nameOf(relation),
    announced,
    roles: expandRoles(announced ?? [], config).filter((one) => config.roles.includes(one)),
    units,
    applications: isLocal ? localApplication(relation, namespace, reads) : applicationsOf(units),
    problems: [...problemsOf([role]), ...unknownRoles(announced ?? [], config), ...problemsOf(reads)],
  }
}

/** The platform says which application it is, and a unit cannot say otherwise: its word opens doors. */
const localUnit = (unit: string, databag: Databag, { remote }: Relation, namespace: string): Read<WorkerUnit> =>
  andThen(readWorkerUnit(databag, titleOf(unit)), ({ juju_topology, address }) => {
    const problem = pretence(juju_topology, { application: remote.application, unit })
    return problem === undefined
      ? { value: { namespace, ...juju_topology, address } }
      : { unreadable: `${titleOf(unit)}.juju_topology.${problem}` }
  })

/** An application of another namespace may go by an alias here, and only its units know its name. */
const foreignUnit = (unit: string, databag: Databag, { remote }: Relation, home: string): Read<WorkerUnit> =>
  andThen(readWorkerUnit(databag, titleOf(unit)), ({ juju_topology, address }) => ({
    value: { namespace: remote.namespace ?? home, ...juju_topology, address },
  }))

const pretence = (
  told: WorkerUnitData['juju_topology'],
  real: { readonly application: string; readonly unit: string },
): string | undefined => {
  const field = (['application', 'unit'] as const).find((one) => told[one] !== real[one])
  return field && `${field}: expected ${shown(real[field])}, got ${shown(told[field])}`
}

/** A unit that cannot be read is there nevertheless, and its application does not lose its access by it. */
const localApplication = (
  { remote: { application } }: Relation,
  namespace: string,
  units: readonly Read<WorkerUnit>[],
): WorkerApplication[] =>
  units.some((unit) => 'unreadable' in unit || unit.value !== undefined) ? [{ namespace, application }] : []

const applicationsOf = (units: readonly WorkerUnit[]): WorkerApplication[] =>
  groups(units, ({ application }) => application).flatMap(([, having]) =>
    having.slice(0, 1).map(({ namespace, application }) => ({ namespace, application })),
  )

const unknownRoles = (announced: readonly string[], { roles }: CoordinatorConfig): string[] => {
  const [first, ...others] = announced.filter((role) => !roles.includes(role))
  const more = others.length > 0 ? ` (and ${others.length} more)` : ''
  return first === undefined ? [] : [`data.role: expected roles of the cluster, got ${shown(first)}${more}`]
}
