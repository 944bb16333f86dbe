import { requestersOf } from '../requested-by.ts'
import type { Verdict } from './enforce.ts'
import { nameOf, type Point } from './look.ts'
import { oneOf } from './text.ts'
import type { AccessRequest } from './world.ts'

type Decided = { readonly point: Point; readonly verdict: Verdict; readonly isBehindWaypoint: boolean }

const UNGUARDED = 'its pods are not on the mesh, where nothing guards them'

/** One sentence for a person: who may or may not do what, where that is decided, by which policy, who asked for it, and why. */
export const sentenceOf = (request: AccessRequest, decided?: Decided, bypassed?: string): string => {
  const what = `${action(request)} to ${destination(request)} on port ${request.port}`
  const why = decided === undefined ? UNGUARDED : reason(decided)
  const besides = bypassed === undefined ? '' : `; ${bypassed}, so no policy of the Service is enforced`
  return `${client(request)} ${MAY[decided?.verdict.outcome ?? 'allowed']} ${what}: ${why}${besides}.`
}

const MAY = { allowed: 'may', denied: 'may not', undecided: 'may or may not' } as const

const client = ({ from: { namespace, application, serviceAccount } }: AccessRequest): string => {
  if (serviceAccount !== undefined) return `${namespace}/${serviceAccount}`
  return `${application === undefined ? `A client in ${namespace}` : `${namespace}/${application}`}, outside the mesh,`
}

const action = ({ method, path, host }: AccessRequest): string => {
  if (method === undefined && path === undefined) return 'connect'
  const what = [method ?? 'a request for', path].filter((part) => part !== undefined).join(' ')
  return `send ${what}${host === undefined ? '' : ` with host ${host}`}`
}

const destination = ({ to }: AccessRequest): string =>
  to.service === undefined
    ? `the pods of ${to.namespace}/${to.application}`
    : `the Service ${to.namespace}/${to.service}`

const reason = ({ point, verdict, isBehindWaypoint }: Decided): string => {
  const { outcome, because } = verdict
  const policy = policyOf(verdict)
  if (outcome === 'undecided' && policy === undefined)
    return `what ${point.name} does is not known, as it may enforce a policy that cannot be read: ${because}`
  if (outcome === 'undecided')
    return `${because}, which ${point.name} asks for policy ${policy}; it cannot be known offline`
  if (outcome === 'allowed')
    return policy === undefined ? `at ${point.name} ${because}` : `${point.name} lets it through for policy ${policy}`
  const refusal = `${point.name} ${refuses(point, isBehindWaypoint)}`
  if (verdict.policy?.spec.action === 'DENY') return `${refusal}, denied by policy ${policy}: ${because}`
  return `${refusal}, as no ALLOW policy matches; the nearest is ${policy}: ${because}`
}

const refuses = ({ at }: Point, isBehindWaypoint: boolean): string => {
  if (at === 'waypoint') return 'answers 403'
  return isBehindWaypoint ? 'does not let the waypoint through, which answers 503' : 'resets the connection'
}

const policyOf = ({ policy }: Verdict): string | undefined => {
  if (policy === undefined) return undefined
  const relations = requestersOf(policy)
  return relations.length === 0 ? nameOf(policy) : `${nameOf(policy)} (asked for by ${allOf(relations)})`
}

const allOf = (relations: readonly string[]): string => oneOf(relations).replace(/ or (?=[^,]*$)/, ' and ')
