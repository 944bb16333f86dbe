import { remoteSubject } from '../../core/relations/peer-entry.ts'
import { type RelationEntry, relationsIn } from '../../core/state/relation.ts'
import { stands } from '../../core/state/state.ts'
import { subjectName } from '../../platform/base/subject.ts'
import type { Known } from './cluster.ts'

/** A relation that stands, as an application has it. */
export type Standing = Pick<RelationEntry, 'id' | 'endpoint' | 'interface' | 'role'> & {
  /** `namespace/application` */
  readonly remote: string
}

/** Lists the relations of an application that stand, by id. */
export const standingOf = ({ subject, state }: Known): Standing[] =>
  state === undefined
    ? []
    : relationsIn(state)
        .filter((entry) => stands(state, entry))
        .map((entry) => {
          const { id, endpoint, interface: name, role } = entry
          return { id, endpoint, interface: name, role, remote: subjectName(remoteSubject(subject, entry)) }
        })

/** Names the beacons that an application is related to, as a consumer. */
export const beaconsOf = (known: Known): string[] =>
  standingOf(known)
    .filter(({ interface: name, role }) => name === 'service_mesh' && role === 'requires')
    .map(({ remote }) => remote)

/** Tells if something was said about the clients of an application, so that those without a grant are refused on purpose. */
export const declaresClients = ({ state }: Known): boolean => {
  const { policies = [], meshPolicies = [], coordinator, worker } = state?.config ?? {}
  return policies.length + meshPolicies.length > 0 || coordinator !== undefined || worker !== undefined
}

/** Lists the types of the policies that name the endpoint of a relation with a client. */
export const declaredTypes = (target: Known, client: string): ('app' | 'unit')[] => {
  const endpoints = new Set(
    standingOf(target)
      .filter(({ remote }) => remote === client)
      .map(({ endpoint }) => endpoint),
  )
  return (target.state?.config?.policies ?? []).flatMap(({ type, relation }) => (endpoints.has(relation) ? [type] : []))
}
