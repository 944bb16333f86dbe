import type { Databag, Relation } from '../../../src/core/state/relation.ts'
import type { EffectiveState } from '../../../src/core/state/state.ts'
import { CoordinatorConfig } from '../../../src/features/coordinated-workers/config.ts'
import { type CoordinatorInput, coordinate } from '../../../src/features/coordinated-workers/coordinator.ts'
import { coordinatorStatus } from '../../../src/features/coordinated-workers/roles.ts'
import { findTopology } from '../../../src/features/coordinated-workers/topology.ts'
import { TOLD } from '../../helpers/relations.ts'

export const CONFIG = CoordinatorConfig.parse({
  roles: ['all', 'read', 'write'],
  metaRoles: { all: ['read', 'write'] },
  minimalDeployment: ['read', 'write'],
  telemetryProxy: { httpPort: 3300, httpsPort: 3301 },
  workerConfig: 'target: all\n',
})

/** `CONFIG` but for `changes`, checked like any config. */
export const configWith = (changes: object): CoordinatorConfig => CoordinatorConfig.parse({ ...CONFIG, ...changes })

/** What the unit `reader/0` of an application `reader` tells, as Juju holds it. */
export const unitData = (unit: string, changes: Databag = {}): Databag => ({
  juju_topology: JSON.stringify({ application: unit.split('/')[0], unit, charm_name: 'worker-k8s' }),
  address: JSON.stringify(`${unit.replace('/', '-')}.endpoints.shop.svc.cluster.local`),
  ...changes,
})

type Units = Readonly<Record<string, Databag>>

/** A relation of a coordinator with the workers of `application`. */
export const workers = (
  id: number,
  application: string,
  role: unknown,
  units: readonly string[] | Units = [`${application}/0`],
): Relation => ({
  id,
  endpoint: 'cluster',
  interface: 'cluster',
  ...{ role: 'provides', ...TOLD },
  remote: {
    application,
    data: role === undefined ? {} : { role },
    units: Array.isArray(units) ? Object.fromEntries(units.map((unit) => [unit, unitData(unit)])) : (units as Units),
  },
})

export const inNamespace = (namespace: string, relation: Relation): Relation => ({
  ...relation,
  remote: { ...relation.remote, namespace },
})

/** A relation in which the coordinator asks something of `application`. */
export const provider = (id: number, endpoint: string, units: Units, data: Databag = {}): Relation => ({
  id,
  endpoint,
  interface: 'any',
  ...{ role: 'requires', ...TOLD },
  remote: { application: 'provider', data, units },
})

export const byId = (...relations: readonly Relation[]): EffectiveState['relations'] =>
  Object.fromEntries(relations.map((relation) => [relation.id, relation]))

export const topology = (relations: readonly Relation[], config = CONFIG) =>
  findTopology(byId(...relations), 'shop', config)

/** The status of the coordinator `tempo` of `shop`. */
export const status = (relations: readonly Relation[], config = CONFIG) => {
  const { relations: related, roles } = topology(relations, config)
  return coordinatorStatus(config, related.length > 0, roles)
}

/** The desired state of the coordinator `tempo` of `shop`. */
export const coordination = (relations: readonly Relation[], changes: Partial<CoordinatorInput> = {}) =>
  coordinate({
    namespace: 'shop',
    application: 'tempo',
    config: CONFIG,
    relations: byId(...relations),
    ...changes,
  })

export const READER = workers(4, 'reader', 'read')
export const WRITER = workers(5, 'writer', 'write', ['writer/0', 'writer/1'])
