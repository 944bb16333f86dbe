import type { Condition, Operation, Rule, Source } from '../../istio/authorization-policy.ts'
import {
  destinationPort,
  limiting,
  notKnown,
  requestAuthority,
  requestHost,
  requestMethod,
  requestPath,
  sourceAddress,
  sourceNamespace,
  sourcePrincipal,
  sourceServiceAccount,
  sourceTrustDomain,
} from './fact.ts'
import type { Facts } from './facts.ts'
import { field } from './field.ts'
import { all, any, type Truth, yes } from './truth.ts'

/** Whether `rule`, of a policy in `policyNamespace`, matches. Conditions are taken in the order in which a person would ask. */
export const matchRule = ({ from, to, when = [] }: Rule, facts: Facts, policyNamespace: string): Truth =>
  all([
    some(from, ({ source = {} }) => matchSource(source, facts, policyNamespace)),
    some(to, ({ operation = {} }) => matchOperation(operation, facts)),
    ...when.map((condition) => matchCondition(condition, facts, policyNamespace)),
  ])

const some = <T>(alternatives: readonly T[] = [], match: (alternative: T) => Truth): Truth =>
  alternatives.length === 0 ? yes : any(alternatives.map(match))

const matchSource = (source: Source, facts: Facts, policyNamespace: string): Truth =>
  all([
    field(sourcePrincipal(facts), source.principals, source.notPrincipals),
    field(sourceServiceAccount(facts, policyNamespace), source.serviceAccounts, source.notServiceAccounts),
    field(sourceNamespace(facts), source.namespaces, source.notNamespaces),
    field(sourceTrustDomain(facts), source.trustDomains, source.notTrustDomains),
    field(sourceAddress(facts), limiting(source.ipBlocks), source.notIpBlocks),
    field(notKnown('client address behind proxies'), source.remoteIpBlocks, source.notRemoteIpBlocks),
    field(notKnown('token of the request'), source.requestPrincipals, source.notRequestPrincipals),
  ])

const matchOperation = (operation: Operation, facts: Facts): Truth =>
  all([
    field(destinationPort(facts), operation.ports, operation.notPorts),
    field(requestHost(facts), operation.hosts, operation.notHosts),
    field(requestMethod(facts), operation.methods, operation.notMethods),
    field(requestPath(facts), operation.paths, operation.notPaths),
  ])

/** https://istio.io/latest/docs/reference/config/security/conditions/ */
const matchCondition = ({ key, values, notValues }: Condition, facts: Facts, policyNamespace: string): Truth => {
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
  const fact = Object.hasOwn(known, key) ? known[key as keyof typeof known] : notKnown(key)
  return field(fact, key === 'source.ip' ? limiting(values) : values, notValues)
}
