import { type CrossModelIdentity, crossModelDatabag } from '../../core/relations/databags/cross-model.ts'
import { isOfMesh } from '../../core/state/interfaces.ts'
import type { RelationIdentity } from '../../core/state/relation.ts'

/** A relation with an application of another model, as a document tells it. */
export type Crossed = {
  readonly id: number
  readonly application: string
  readonly role: RelationIdentity['role']
  readonly interface: string
  readonly identity: CrossModelIdentity
  /** The data of the peer in the document. */
  readonly data: Readonly<Record<string, unknown>>
}

/** The endpoint of the relations that name a peer for its charm. */
export const IDENTITY_ENDPOINT = 'juju-identity'

/** Juju counts its ids from 0, and reaches none of these. */
const FIRST_ID = 1_000_000_000

/** The id of the relation that names the peer of another one. */
export const identityId = (id: number): number => FIRST_ID + id

/**
 * Lists a relation of `cross_model_mesh` for each client of another model that has none. A policy for such a client waits until it is named, and a charm
 * that knows nothing of meshes does not name itself. Juju knows its name.
 */
export const identityRelations = (crossed: readonly Crossed[]) => {
  const named = new Set(crossed.filter(isNaming).map(pairOf))
  const clients = crossed.filter((one) => one.role === 'provides' && !isOfMesh(one))
  const unnamed = clients.filter((one) => !named.has(pairOf(one)))
  return [...Map.groupBy(unnamed, pairOf).values()]
    .flatMap(([first]) => first ?? [])
    .map(({ id, application, identity }) => ({
      ...{ id, application },
      relation: {
        id: identityId(id),
        endpoint: IDENTITY_ENDPOINT,
        interface: 'cross_model_mesh',
        role: 'provides',
      } satisfies RelationIdentity,
      remote: { ...identity, endpoint: IDENTITY_ENDPOINT, data: { cmr_data: crossModelDatabag(identity) } },
    }))
}

const isNaming = ({ interface: name, role, data }: Crossed): boolean =>
  name === 'cross_model_mesh' && role === 'provides' && data.cmr_data !== undefined

const pairOf = ({ application, identity }: Crossed): string =>
  `${application} ${identity.namespace}/${identity.application}`
