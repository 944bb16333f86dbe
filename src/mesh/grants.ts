import type { Facts } from '../facts.ts'
import { nameOf, type Reference } from '../kubernetes/objects.ts'
import type { PolicyRequest } from '../policies/grant.ts'
import { NAME_LABEL } from '../policies/target.ts'
import { at } from '../record.ts'
import { relationsWith } from '../relations/with.ts'
import { type EffectiveState, type Relation, relationName, type Subject } from '../state.ts'
import type { MeshPolicy } from './models.ts'
import { namesProblem } from './name-problem.ts'
import { readPolicies } from './policies-databag.ts'

/** What the beacon may grant of what its relations ask for, what waits for something, and what is wrong with the rest. */
export type Grants = {
  requests: PolicyRequest[]
  /** The relations of which it cannot be known what they ask for, as their requests name them. */
  unknown: string[]
  waiting: string[]
  messages: string[]
}

type Requester = Subject & { readonly relation: string }

type Asked = { requester: Requester; policy: MeshPolicy }

/** Each costs every step a read. */
const MOST_OTHER_SERVICES = 20

/** Services that policies name besides the requester's own: whose they are can only be seen in the cluster. */
export const servicesAsked = (subject: Subject, state: EffectiveState): Reference[] =>
  consumersOf(state).flatMap((relation) => {
    const { policies, requester } = asked(subject, relation)
    return otherServices(requester, policies).map((name) => serviceReference(requester, name))
  })

/**
 * The requests of all consumers, each checked on its own: one that is wrong is named and skipped. A requester may only ask for itself;
 * for a Service of another name when that selects its pods.
 */
export const grantsFor = (subject: Subject, state: EffectiveState, facts: Facts): Grants => {
  const read = consumersOf(state).map((relation) => asked(subject, relation))
  const checked = read.flatMap(({ requester, policies }) => {
    const known = otherServices(requester, policies)
    return policies.map((policy) => ({ policy, requester, ...problemOf({ requester, policy }, known, facts) }))
  })
  const named = (problem: 'refused' | 'waiting') =>
    checked.flatMap((one) => (one[problem] === undefined ? [] : [`${one.requester.relation}: ${one[problem]}`]))
  return {
    requests: checked
      .filter(({ refused, waiting }) => refused === undefined && waiting === undefined)
      .map(({ policy, requester: { relation } }) => ({ policy, relation })),
    unknown: read.flatMap(({ isUnknown, requester: { relation } }) => (isUnknown ? [relation] : [])),
    waiting: named('waiting'),
    messages: [...read.flatMap(({ problems }) => problems), ...named('refused')],
  }
}

const consumersOf = (state: EffectiveState): Relation[] =>
  relationsWith(state.relations, { interface: 'service_mesh', role: 'provides' })

/** How the requests of a relation are named, in messages and on what is made for them. */
export const requesterName = ({ namespace: own }: Subject, relation: Relation): string => {
  const { namespace = own, application } = relation.remote
  return `${relationName(relation)} of ${namespace}/${application}`
}

type Read = { requester: Requester; policies: MeshPolicy[]; problems: string[]; isUnknown: boolean }

const asked = (subject: Subject, relation: Relation): Read => {
  const { namespace = subject.namespace, application } = relation.remote
  const requester = { namespace, application, relation: requesterName(subject, relation) }
  const latest = readPolicies(relation.remote.data)
  const isKept = 'unreadable' in latest && Object.hasOwn(relation.kept ?? {}, 'policies')
  const read = isKept ? readPolicies({ ...relation.kept }) : latest
  const isUnknown = 'unreadable' in read
  const problems = 'unreadable' in latest ? [`${latest.unreadable}; what it asked for before stays`] : latest.problems
  return {
    requester,
    policies: isUnknown ? [] : read.policies,
    problems: problems.map((problem) => `${requester.relation}: ${problem}`),
    isUnknown,
  }
}

/** The other Services that a requester names for itself, as many of them as are looked at. */
const otherServices = (requester: Requester, policies: readonly MeshPolicy[]): string[] => {
  const named = policies.filter((policy) => isItself(requester, policy))
  return [...new Set(named.flatMap((policy) => otherService(requester, policy) ?? []))].slice(0, MOST_OTHER_SERVICES)
}

const isItself = (
  { namespace, application }: Requester,
  { target_namespace, target_app_name, target_service, target_selector_labels }: MeshPolicy,
): boolean => {
  if (target_namespace !== namespace) return false
  if (target_selector_labels !== null) return at(target_selector_labels, NAME_LABEL) === application
  return target_app_name === null ? target_service !== null : target_app_name === application
}

const otherService = ({ application }: Requester, { target_service }: MeshPolicy): string | undefined =>
  target_service === null || target_service === application ? undefined : target_service

const serviceReference = ({ namespace }: Requester, name: string): Reference => ({ kind: 'Service', namespace, name })

type Problem = { refused?: string; waiting?: string }

const problemOf = ({ requester, policy }: Asked, services: readonly string[], facts: Facts): Problem => {
  const { namespace, application } = requester
  const invalid = namesProblem(policy)
  if (invalid !== undefined) return { refused: `${invalid}: not granted` }
  if (!isItself(requester, policy))
    return { refused: `asks for ${targetName(policy)}, and may only name ${namespace}/${application}: not granted` }
  const other = otherService(requester, policy)
  if (other === undefined) return {}
  const reference = serviceReference(requester, other)
  if (!services.includes(other))
    return {
      refused: `names ${nameOf(reference)}, and more than ${MOST_OTHER_SERVICES} Services before it: not granted`,
    }
  const service = facts.get(nameOf(reference))
  if (service === undefined)
    return {
      waiting: `${nameOf(reference)} does not exist, so that whose it is cannot be seen: its policy is not granted yet`,
    }
  const selector = service.spec?.selector as Record<string, string> | undefined
  if (at(selector, NAME_LABEL) === application) return {}
  return {
    refused: `asks for ${nameOf(reference)}, which does not select the pods of ${application} by ${NAME_LABEL}: not granted`,
  }
}

const targetName = ({
  target_namespace,
  target_app_name,
  target_service,
  target_selector_labels,
}: MeshPolicy): string =>
  target_selector_labels === null
    ? `${target_namespace}/${target_app_name ?? target_service}`
    : `pods of ${target_namespace} by labels`
