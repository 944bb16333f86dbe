import {
  type Condition,
  negated,
  type Operation,
  type OperationField,
  type Rule,
  type Source,
} from '../../../mesh/istio/authorization-policy.ts'
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
import { type Attribute, matchValues } from './matcher.ts'
import type { RequestContext } from './request-context.ts'

/** Matches `rule` of a policy in `policyNamespace`. The order of the conditions decides which failure is reported. */
export const matchRule = (
  { from, to, when = [] }: Rule,
  context: RequestContext,
  policyNamespace: string,
): MatchResult =>
  all([
    some(from, ({ source = {} }) => matchSource(source, context, policyNamespace)),
    some(to, ({ operation = {} }) => matchOperation(operation, context)),
    ...when.map((condition) => matchCondition(condition, context, policyNamespace)),
  ])

const some = <T>(alternatives: readonly T[] = [], match: (alternative: T) => MatchResult): MatchResult =>
  alternatives.length === 0 ? yes : any(alternatives.map(match))

const matchSource = (source: Source, context: RequestContext, policyNamespace: string): MatchResult =>
  all([
    matchValues(sourcePrincipal(context), source.principals, source.notPrincipals),
    matchValues(sourceServiceAccount(context, policyNamespace), source.serviceAccounts, source.notServiceAccounts),
    matchValues(sourceNamespace(context), source.namespaces, source.notNamespaces),
    matchValues(sourceTrustDomain(context), source.trustDomains, source.notTrustDomains),
    matchValues(sourceAddress(context), restrictingBlocks(source.ipBlocks), source.notIpBlocks),
    matchValues(unknownAttribute('client address behind proxies'), source.remoteIpBlocks, source.notRemoteIpBlocks),
    matchValues(unknownAttribute('token of the request'), source.requestPrincipals, source.notRequestPrincipals),
  ])

/** The attribute for each field. The order decides which failure is reported. */
const REQUEST: Readonly<Record<OperationField, (context: RequestContext) => Attribute>> = {
  ports: destinationPort,
  hosts: requestHost,
  methods: requestMethod,
  paths: requestPath,
}
const REQUEST_FIELDS = Object.keys(REQUEST) as OperationField[]

const matchOperation = (operation: Operation, context: RequestContext): MatchResult =>
  all(REQUEST_FIELDS.map((field) => matchValues(REQUEST[field](context), operation[field], operation[negated(field)])))

/** https://istio.io/latest/docs/reference/config/security/conditions/ */
const matchCondition = (
  { key, values, notValues }: Condition,
  context: RequestContext,
  policyNamespace: string,
): MatchResult => {
  const known = {
    'source.principal': sourcePrincipal(context),
    'source.namespace': sourceNamespace(context),
    'source.serviceAccount': sourceServiceAccount(context, policyNamespace),
    'source.trustDomain': sourceTrustDomain(context),
    'source.ip': sourceAddress(context),
    'destination.port': destinationPort(context),
    'request.headers[:method]': requestMethod(context),
    'request.headers[:authority]': requestAuthority(context),
  }
  const attribute = Object.hasOwn(known, key) ? known[key as keyof typeof known] : unknownAttribute(key)
  return matchValues(attribute, key === 'source.ip' ? restrictingBlocks(values) : values, notValues)
}
