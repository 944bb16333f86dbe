import type { OwnSide } from '../../core/feature/feature.ts'
import type { DatabagValue } from '../../core/relations/databags/databag.ts'
import { type Relation, relationName, relationsWith } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import type { WorkerConfig } from './config.ts'
import { type CoordinatorData, readCoordinator, workerDatabag, workerUnitDatabag } from './databag.ts'
import { selectProblems } from './read.ts'
import { compareUnits } from './relations.ts'
import { type ClusterStatus, type WorkerProgress, workerStatus } from './roles.ts'

/** The input of a worker's desired state. `address` is a host name or an IP address. */
export type WorkerInput = {
  readonly application: string
  readonly config: WorkerConfig
  readonly relations: EffectiveState['relations']
  readonly units: readonly { readonly unit: string; readonly address: string; readonly charmName: string }[]
}

/** The desired state of a worker. */
export type WorkerDesiredState = {
  /** The databags by relation key. */
  readonly databags: Readonly<Record<string, OwnSide>>
  readonly status: ClusterStatus
  readonly unserved: readonly string[]
}

/** Derives the desired state of a worker. Its labels come from `desiredLabels` of the same relations. */
export const workerDesiredState = ({ application, config, relations, units }: WorkerInput): WorkerDesiredState => {
  const { roles } = config
  const related = relationsWith(relations, { role: 'requires', interface: 'cluster' }).map((relation) => ({
    relation,
    told: readCoordinator(relation.remote.data, `${relationName(relation)}: data`),
  }))
  const own: OwnSide = {
    data: workerDatabag(roles),
    units: Object.fromEntries(
      units
        .toSorted((one, other) => compareUnits(one.unit, other.unit))
        .map(({ unit, address, charmName: charm_name }) => [
          unit,
          workerUnitDatabag({ juju_topology: { application, unit, charm_name }, address }),
        ]),
    ),
  }
  return {
    databags: Object.fromEntries(related.map(({ relation }) => [relation.key, own])),
    status: workerStatus({ application, roles, relation: furthest(related.map(findProgress)) }),
    unserved: selectProblems(related.map(({ told }) => told)),
  }
}

type Progress = WorkerProgress['relation']

const findProgress = ({ relation, told }: { relation: Relation; told: DatabagValue<CoordinatorData> }): Progress => {
  if (Object.keys(relation.remote.data).length === 0) return 'silent'
  return 'value' in told && told.value?.worker_config ? 'configured' : 'without config'
}

const furthest = (progress: readonly Progress[]): Progress =>
  (['configured', 'without config', 'silent'] as const).find((one) => progress.includes(one)) ?? 'missing'
