import { spokenVersions } from '../../core/relations/databags/protocol-versions.ts'
import { decodePayload } from '../../core/relations/databags/relation-data.ts'
import type { Versions } from '../../core/state/config.ts'
import { type Relation, relationName, relationsIn } from '../../core/state/relation.ts'
import type { EffectiveState } from '../../core/state/state.ts'
import { type Condition, waitFor } from '../../platform/base/condition.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { type Announced, nothingAnnounced, type Service } from './announced.ts'
import { readAddress } from './codec.ts'

export type Requirer = {
  readonly namespace: string
  readonly relations: readonly Relation[]
  readonly versions?: Versions | undefined
  /** Earlier announcements, for relations with unknown data. */
  readonly announced: Announced
}

/** The services that an application may use, and a wait for each relation without one. */
export type OfferedServices = {
  /** The services by relation id. */
  readonly services: readonly Service[]
  readonly waiting: readonly Condition[]
  /** Problems of unreadable data. The announced service stays. */
  readonly problems: readonly string[]
}

export const offeredServices = ({ namespace }: Subject, state: EffectiveState): OfferedServices =>
  readServices({
    namespace,
    // parsed from the interface's flat keys, in any version
    relations: relationsIn(state),
    announced: state.announced ?? nothingAnnounced(),
  })

type Read = { service?: Service | undefined; waiting?: Condition; problem?: string }

/** Reads the services that `k8s-service` relations currently offer to the application. Their order does not depend on the order of events. */
export const readServices = (requirer: Requirer): OfferedServices => {
  const read = requirer.relations
    .filter((relation) => relation.interface === 'k8s-service' && relation.role === 'requires')
    .toSorted((one, other) => one.id - other.id)
    .map((relation) => readService(relation, requirer))
  return {
    services: read.map(({ service }) => service).filter((service) => service !== undefined),
    waiting: read.flatMap(({ waiting }) => waiting ?? []),
    problems: read.flatMap(({ problem }) => problem ?? []),
  }
}

const readService = (
  { id, endpoint, remote, source, isPartial }: Requirer['relations'][number],
  { namespace, versions, announced }: Requirer,
): Read => {
  const name = relationName({ id, endpoint })
  const service = ownValue(announced.relations, String(id))?.service
  if (source === 'unknown') return { service }
  const said = decodePayload(remote.data, spokenVersions('k8s-service', versions))
  // the application's status reports the versions
  if ('incompatible' in said) return { service }
  const address = 'unreadable' in said ? said : readAddress(said.data, remote.namespace ?? namespace)
  if ('unreadable' in address)
    return { service, problem: `${name}: ${address.unreadable}; the announced service stays in effect` }
  if ('waiting' in address && isPartial && service) return { service }
  if ('waiting' in address) {
    const message = `${name}: waiting for ${address.waiting.join(' and ')}`
    return {
      waiting: waitFor([`${remote.namespace ?? namespace}/${remote.application}`], 'PeerDataUnknown', name, message),
    }
  }
  return { service: { relation: id, endpoint, application: remote.application, ...address } }
}
