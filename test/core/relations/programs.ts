import { MeshPolicy } from '../../../src/core/policies/models.ts'
import { crossModelDatabag, readCrossModelIdentity } from '../../../src/core/relations/databags/cross-model.ts'
import { policiesDatabag, readPolicies } from '../../../src/core/relations/databags/policies-databag.ts'
import { decodePayload, publishable } from '../../../src/core/relations/databags/relation-data.ts'
import type { Version } from '../../../src/core/state/config.ts'
import type { Databag } from '../../../src/core/state/relation.ts'
import { emptyState } from '../../../src/core/state/state.ts'
import { desiredLabels } from '../../../src/features/service-mesh/desired-labels.ts'
import { readAddress } from '../../../src/features/services/codec.ts'
import { serviceHost } from '../../../src/features/services/host.ts'
import { pythonJson } from '../../../src/platform/base/python-json.ts'
import { TOLD } from '../../helpers/relations.ts'

/** What one side of a relation tells the other: its flat keys on the wire, and what the other side makes of them. */
export type Message = {
  readonly name: string
  /** Something else for each `revision`. */
  readonly write: (revision: number) => Record<string, string>
  readonly read: (databag: Databag) => unknown
}

const labelsOf = (name: string) => (data: Databag) => {
  const remote = { application: 'other', data }
  const relation = { id: 7, endpoint: 'any', interface: name, role: 'requires' as const, ...TOLD, remote }
  return desiredLabels({ namespace: 'shop', application: 'web' }, { ...emptyState(), relations: { 7: relation } })
}

const policy = (revision: number) =>
  MeshPolicy.parse({
    source_namespace: 'clients',
    source_app_name: `wéb-${revision}`,
    target_namespace: 'shop',
    target_app_name: 'db',
    endpoints: [{ ports: [5432], paths: ['/{*}'] }],
  })

/** What each side of each interface says. The provider of `cross_model_mesh` and the requirer of `k8s-service` say nothing. */
export const messages: readonly Message[] = [
  {
    name: 'service_mesh, provider: labels',
    write: (revision) => ({ labels: pythonJson({ 'istio.io/use-waypoint': `${revision}` }), mesh_type: '"istio"' }),
    read: labelsOf('service_mesh'),
  },
  {
    name: 'service_mesh, requirer: policies',
    write: (revision) => ({ policies: policiesDatabag([policy(revision)]) }),
    read: readPolicies,
  },
  {
    name: 'cross_model_mesh, requirer: identity',
    write: (revision) => ({ cmr_data: crossModelDatabag({ namespace: 'clients', application: `wéb-${revision}` }) }),
    read: readCrossModelIdentity,
  },
  {
    name: 'cluster, provider: labels',
    write: (revision) => ({
      worker_config: pythonJson(`{"revision": ${revision}}`),
      worker_ports: '[8080, 9095]',
      worker_labels: pythonJson({ 'istio.io/use-waypoint': `${revision}` }),
    }),
    read: labelsOf('cluster'),
  },
  {
    name: 'cluster, provider: configuration',
    write: (revision) => ({ worker_config: pythonJson(`{"revision": ${revision}}`), worker_ports: '[8080, 9095]' }),
    read: (databag) => [jsonOf(databag.worker_config), jsonOf(databag.worker_ports)],
  },
  {
    name: 'cluster, requirer: role',
    write: (revision) => ({ role: pythonJson(`read,write-${revision}`) }),
    read: (databag) => jsonOf(databag.role),
  },
  {
    name: 'k8s-service, provider: address',
    write: (revision) => ({ 'service-name': serviceHost(`db-${revision}`, 'shop'), 'service-port': '5432' }),
    read: (databag) => readAddress(databag, 'shop'),
  },
]

const jsonOf = (value: unknown): unknown => (typeof value === 'string' ? JSON.parse(value) : value)

/** A program that one side runs: the charm library, or this one with some of its versions. */
export type Program = 'library' | readonly Version[]

export const isLibrary = (program: Program): program is 'library' => program === 'library'

/** The versions that a program speaks, whether it says so or not. */
export const spokenBy = (program: Program): readonly Version[] => (isLibrary(program) ? [0] : program)

/**
 * The databag after `program` has written. The library knows its own keys alone and leaves all others; where the old form was given up,
 * it begins with an empty databag, as that of a new relation.
 */
export const written = (program: Program, content: Record<string, string>, before: Databag): Databag => {
  if (!isLibrary(program)) return publishable(content, program)
  return before._supported_versions === '["v1"]' ? content : { ...before, ...content }
}

/** What `program` makes of a databag, or why it can make nothing of it. */
export const understood = (program: Program, { read }: Message, databag: Databag): unknown => {
  if (isLibrary(program)) return read(databag)
  const said = decodePayload(databag, program)
  return 'data' in said ? read(said.data) : said
}

/** The version that two programs speak with each other, undefined when there is none. */
export const commonOf = (one: Program, other: Program): Version | undefined =>
  spokenBy(one)
    .filter((version) => spokenBy(other).includes(version))
    .toSorted()
    .at(-1)
