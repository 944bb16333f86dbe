import { joinAnd } from '../../../platform/base/printed.ts'
import type { Requesters } from '../evaluate.ts'
import { OUTSIDE } from '../query.ts'
import type { AccessRequest } from './cluster-snapshot.ts'
import type { EnforcementResult } from './enforce.ts'
import { actionOf, type EnforcementPoint, policyName } from './enforcement-point.ts'

/** A proxy on the way, and what it does with the request. */
export type Decided = {
  readonly point: EnforcementPoint
  readonly verdict: EnforcementResult
  readonly isBehindWaypoint: boolean
}

type Explanation = {
  readonly decided?: Decided | undefined
  readonly bypassed?: string | undefined
  /** The reason for another result if dry runs were enforced. */
  readonly enforced?: string | undefined
  readonly requesters: Requesters
}

const UNGUARDED = 'its pods are not on the mesh, where nothing guards them'

/** Writes one sentence for a person: the client, the request, the result, the deciding policy, its requesters, and the reason. */
export const writeSentence = (
  request: AccessRequest,
  { decided, bypassed, enforced, requesters }: Explanation,
): string => {
  const what = `${action(request)} to ${destination(request)} on port ${request.port}`
  const why = decided === undefined ? UNGUARDED : explain(decided, requesters)
  const besides = [
    ...(bypassed === undefined ? [] : [`; ${bypassed}, so no policy of the Service is enforced`]),
    ...(enforced === undefined ? [] : [`; were the dry runs enforced: ${enforced}`]),
  ]
  return `${client(request)} ${MAY[decided?.verdict.outcome ?? 'allowed']} ${what}: ${why}${besides.join('')}.`
}

/** Writes the sentence for an undecided answer. */
export const writeDoubt = (request: AccessRequest, doubt: string): string =>
  `${client(request)} ${MAY.undecided} ${action(request)} to ${destination(request)} on port ${request.port}: ${doubt}.`

const MAY = { allowed: 'may', denied: 'may not', undecided: 'may or may not' } as const

const client = ({ from: { namespace, application, serviceAccount, address } }: AccessRequest): string => {
  if (serviceAccount !== undefined) return `${namespace}/${serviceAccount}`
  if (application !== undefined) return `${namespace}/${application}, outside the mesh,`
  // OUTSIDE stands for any address
  if (namespace === '' && address === OUTSIDE) return 'A client outside the mesh'
  return `A client ${namespace === '' ? `at ${address ?? 'any address'}` : `in ${namespace}`}, outside the mesh,`
}

const action = ({ method, path, host }: AccessRequest): string => {
  if (method === undefined && path === undefined) return 'connect'
  const what = [method ?? 'a request for', path].filter((part) => part !== undefined).join(' ')
  return `send ${what}${host === undefined ? '' : ` with host ${host}`}`
}

const destination = ({ to }: AccessRequest): string => {
  if (to.gateway) return `the gateway ${to.namespace}/${to.gateway.name}`
  return to.service === undefined
    ? `the pods of ${to.namespace}/${to.application}`
    : `the Service ${to.namespace}/${to.service}`
}

/** Explains where the request is decided, by which policy, and why. */
export const explain = (decided: Decided, requesters: Requesters): string => {
  const { outcome } = decided.verdict
  if (outcome === 'undecided') return doubt(decided, requesters)
  return outcome === 'allowed' ? permission(decided, requesters) : refusal(decided, requesters)
}

const doubt = ({ point, verdict }: Decided, requesters: Requesters): string => {
  const { because, policy } = verdict
  if (policy === undefined) return `what ${point.name} does is not known: ${because}`
  const named = policyOf(verdict, requesters)
  const deed = actionOf(policy)
  if (deed === 'CUSTOM') return `${because}, which ${point.name} asks for policy ${named}; it cannot be known offline`
  return `whether ${point.name} ${deed === 'DENY' ? 'refuses it' : 'lets it through'} for policy ${named} is not known: ${because}`
}

const permission = ({ point, verdict }: Decided, requesters: Requesters): string => {
  const policy = policyOf(verdict, requesters)
  return policy === undefined
    ? `at ${point.name} ${verdict.because}`
    : `${point.name} lets it through for policy ${policy}`
}

const refusal = ({ point, verdict, isBehindWaypoint }: Decided, requesters: Requesters): string => {
  const { because, policy } = verdict
  const what = `${point.name} ${refuses(point, isBehindWaypoint)}`
  if (policy === undefined) return `${what}: ${because}`
  const named = policyOf(verdict, requesters)
  if (actionOf(policy) === 'DENY') return `${what}, denied by policy ${named}: ${because}`
  return `${what}, as no ALLOW policy matches; the nearest is ${named}: ${because}`
}

const refuses = ({ at, protocol }: EnforcementPoint, isBehindWaypoint: boolean): string => {
  if (at !== 'ztunnel') return protocol === 'tcp' ? 'resets the connection' : 'answers 403'
  return isBehindWaypoint ? 'does not let the waypoint through, which answers 503' : 'resets the connection'
}

const policyOf = ({ policy }: EnforcementResult, requesters: Requesters): string | undefined => {
  if (policy === undefined) return undefined
  const relations = requesters(policy)
  return relations.length === 0 ? policyName(policy) : `${policyName(policy)} (asked for by ${joinAnd(relations)})`
}
