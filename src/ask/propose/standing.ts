import { type Policy, RELATED } from '../../core/policies/models.ts'
import { remoteSubject } from '../../core/relations/peer-entry.ts'
import { isOfMesh } from '../../core/state/interfaces.ts'
import { type RelationEntry, relationsIn } from '../../core/state/relation.ts'
import { stands } from '../../core/state/state.ts'
import { subjectName } from '../../platform/base/subject.ts'
import type { Application } from './cluster.ts'

export type PolicyType = Policy['type']

/** A relation that stands, as an application has it. */
export type Standing = Pick<RelationEntry, 'id' | 'endpoint' | 'interface' | 'role'> & {
  /** `namespace/application` */
  readonly remote: string
}

/** Lists the relations of an application that stand, by id. */
export const wordOf = ({ subject, state }: Application): Standing[] =>
  state === undefined
    ? []
    : relationsIn(state)
        .filter((entry) => stands(state, entry))
        .map((entry) => {
          const { id, endpoint, interface: name, role } = entry
          return { id, endpoint, interface: name, role, remote: subjectName(remoteSubject(subject, entry)) }
        })

/** Names the beacons that an application is related to, as a consumer. */
export const beaconsOf = (known: Application): string[] =>
  wordOf(known)
    .filter(({ interface: name, role }) => name === 'service_mesh' && role === 'requires')
    .map(({ remote }) => remote)

/** Lists the policies that the config of an application names. */
export const listedPolicies = ({ state }: Application): readonly Policy[] => {
  const { policies = [] } = state?.config ?? {}
  return policies === RELATED ? [] : policies
}

/** Tells if something was said about the clients of an application, so that those without a grant are refused on purpose. */
export const declaresClients = (known: Application): boolean => {
  const { meshPolicies = [], coordinator, worker } = known.state?.config ?? {}
  const isPart = coordinator !== undefined || worker !== undefined
  return known.isRelated === true || isPart || listedPolicies(known).length + meshPolicies.length > 0
}

/** Lists the types of the policies by which relations let a client in. */
export const declaredTypes = (target: Application, client: string): PolicyType[] => {
  const relations = wordOf(target).filter(({ remote }) => remote === client)
  if (target.isRelated) {
    const own = relations.filter((one) => !isOfMesh(one))
    return own.flatMap(({ role }) => (role === 'requires' ? [] : [role === 'peers' ? 'unit' : 'app']))
  }
  const endpoints = new Set(relations.map(({ endpoint }) => endpoint))
  return listedPolicies(target).flatMap(({ type, relation }) => (endpoints.has(relation) ? [type] : []))
}

/** Adds if the policies of an application follow from its relations. A list of its own counts before what its beacon says. */
export const withRelated = (known: Application, beacons: ReadonlyMap<string, Application>): Application => {
  const own = known.state?.config?.policies
  const isDefault = beaconsOf(known).some((name) => beacons.get(name)?.state?.config?.mesh?.policies === RELATED)
  return { ...known, isRelated: own === RELATED || (own === undefined && isDefault) }
}
