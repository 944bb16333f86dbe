import type { Condition, Operation, Rule, Source } from '../../istio/authorization-policy.ts'
import {
  destinationPort,
  requestAuthority,
  requestHost,
  requestMethod,
  requestPath,
  restrictingBlocks,
  sourceAddress,
  sourceNamespace,
  sourcePrincipal,
  sourceServiceAccount,
  sourceTrustDomain,
  unknownAttribute,
} from './attributes.ts'
import { all, any, type MatchResult, yes } from './match-result.ts'
import { matchValues } from './matcher.ts'
import type { RequestContext } from './request-context.ts'

/** Whether `rule`, of a policy in `policyNamespace`, matches. Conditions are taken in the order in which a person would ask. */
export const matchRule = ({ from, to, when = [] }: Rule, facts: RequestContext, policyNamespace: string): MatchResult =>
  all([
    some(from, ({ source = {} }) => matchSource(source, facts, policyNamespace)),
    some(to, ({ operation = {} }) => matchOperation(operation, facts)),
    ...when.map((condition) => matchCondition(condition, facts, policyNamespace)),
  ])

const some = <T>(alternatives: readonly T[] = [], match: (alternative: T) => MatchResult): MatchResult =>
  alternatives.length === 0 ? yes : any(alternatives.map(match))

const matchSource = (source: Source, facts: RequestContext, policyNamespace: string): MatchResult =>
  all([
    matchValues(sourcePrincipal(facts), source.principals, source.notPrincipals),
    matchValues(sourceServiceAccount(facts, policyNamespace), source.serviceAccounts, source.notServiceAccounts),
    matchValues(sourceNamespace(facts), source.namespaces, source.notNamespaces),
    matchValues(sourceTrustDomain(facts), source.trustDomains, source.notTrustDomains),
    matchValues(sourceAddress(facts), restrictingBlocks(source.ipBlocks), source.notIpBlocks),
    matchValues(unknownAttribute('client address behind proxies'), source.remoteIpBlocks, source.notRemoteIpBlocks),
    matchValues(unknownAttribute('token of the request'), source.requestPrincipals, source.notRequestPrincipals),
  ])

const matchOperation = (operation: Operation, facts: RequestContext): MatchResult =>
  all([
    matchValues(destinationPort(facts), operation.ports, operation.notPorts),
    matchValues(requestHost(facts), operation.hosts, operation.notHosts),
    matchValues(requestMethod(facts), operation.methods, operation.notMethods),
    matchValues(requestPath(facts), operation.paths, operation.notPaths),
  ])

/** https://istio.io/latest/docs/reference/config/security/conditions/ */
const matchCondition = (
  { key, values, notValues }: Condition,
  facts: RequestContext,
  policyNamespace: string,
): MatchResult => {
  const known = {
    'source.principal': sourcePrincipal(facts),
    'source.namespace': sourceNamespace(facts),
    'source.serviceAccount': sourceServiceAccount(facts, policyNamespace),
    'source.trustDomain': sourceTrustDomain(facts),
    'source.ip': sourceAddress(facts),
    'destination.port': destinationPort(facts),
    'request.headers[:method]': requestMethod(facts),
    'request.headers[:authority]': requestAuthority(facts),
  }
  const fact = Object.hasOwn(known, key) ? known[key as keyof typeof known] : unknownAttribute(key)
  return matchValues(fact, key === 'source.ip' ? restrictingBlocks(values) : values, notValues)
}
