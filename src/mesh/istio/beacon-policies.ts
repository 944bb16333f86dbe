import { REQUESTED_BY, requestedBy } from '../../core/policies/requested-by.ts'
import { configRequester } from '../../core/relations/requester-names.ts'
import { NAME_LABEL } from '../../platform/kubernetes/services.ts'
import { type AuthorizationPolicy, authorizationPolicy } from './authorization-policy.ts'
import { principal } from './names.ts'
import { sorted } from './operations.ts'

/** The owner of an object, and the labels that mark it. */
export type PolicyOwner = {
  readonly namespace: string
  readonly application: string
  readonly labels: Readonly<Record<string, string>>
}

const GATEWAY_API = 'gateway.networking.k8s.io'

/**
 * Builds hardened mode, which denies all requests in the mesh that no policy allows. Both policies are ALLOW policies without rules, so other ALLOW
 * policies can still allow requests. A DENY policy would outweigh them. They apply to the whole mesh only in Istio's root namespace.
 */
export const hardenedMode = (
  { namespace, application, labels }: PolicyOwner,
  rootNamespace: string,
): AuthorizationPolicy[] => {
  const name = `${application}-${namespace}-policy-global-allow-nothing`
  const targetRefs = [{ group: GATEWAY_API, kind: 'GatewayClass', name: 'istio-waypoint' }]
  // it also refuses members of other beacons, who must know whom to ask
  const annotations = { [REQUESTED_BY]: requestedBy([configRequester({ namespace, application })]) }
  return [
    policy(`${name}-ztunnel`, rootNamespace, labels, {}, annotations),
    policy(`${name}-waypoint`, rootNamespace, labels, { targetRefs }, annotations),
  ]
}

/** Lets the Juju controller, which is outside the mesh, reach the operator of a model that is on it. */
export const modeloperatorAllow = ({ namespace, application, labels }: PolicyOwner): AuthorizationPolicy =>
  policy(`${application}-${namespace}-policy-all-sources-modeloperator`, namespace, labels, {
    selector: { matchLabels: { 'juju-modeloperator': 'modeloperator' } },
    rules: [{}],
  })

/**
 * Lets the addresses in `cidrs` reach the ingress from outside. Without any the policy admits nobody, because an empty list in a rule would admit
 * everybody.
 */
export const externalTraffic = (
  { namespace, application, labels }: PolicyOwner,
  { gateway, cidrs }: { readonly gateway: string; readonly cidrs: readonly string[] },
): AuthorizationPolicy => {
  const ipBlocks = [...new Set(cidrs)].toSorted()
  return policy(`${application}-${namespace}-external-traffic`, namespace, labels, {
    targetRefs: [{ group: GATEWAY_API, kind: 'Gateway', name: gateway }],
    action: 'ALLOW',
    ...(ipBlocks.length > 0 && { rules: [{ from: [{ source: { ipBlocks } }] }] }),
  })
}

/** Lets the extension provider decide on all requests to the ingress. CUSTOM comes first, so no other policy decides before it. */
export const externalAuthorizer = (
  { namespace, application, labels }: PolicyOwner,
  { gateway, provider }: { readonly gateway: string; readonly provider: string },
): AuthorizationPolicy =>
  policy(`ext-authz-${application}`, namespace, labels, {
    targetRefs: [{ group: GATEWAY_API, kind: 'Gateway', name: gateway }],
    action: 'CUSTOM',
    provider: { name: provider },
    rules: [{}],
  })

export type IngressBackend = {
  readonly namespace: string
  readonly application: string
  readonly ports: readonly number[]
}

/** Names the policy that lets the ingress gateway of a beacon reach the pods of `backend`. */
export const ingressPolicyName = (
  { application }: Pick<PolicyOwner, 'application'>,
  backend: Omit<IngressBackend, 'ports'>,
): string => `${backend.application}-${application}-${backend.namespace}-l4`

/** Lets the ingress gateway reach the pods of `backend`, past their waypoint. Without a port, there is no policy. */
export const ingressToBackend = (
  { namespace, application, labels }: PolicyOwner,
  backend: IngressBackend,
  ...trustDomains: readonly string[]
): AuthorizationPolicy[] => {
  if (backend.ports.length === 0) return []
  const principals = trustDomains.map((trustDomain) =>
    principal({ trustDomain, namespace, serviceAccount: `${application}-istio` }),
  )
  return [
    policy(ingressPolicyName({ application }, backend), backend.namespace, labels, {
      selector: { matchLabels: { [NAME_LABEL]: backend.application } },
      action: 'ALLOW',
      rules: [{ from: [{ source: { principals } }], to: [{ operation: { ports: sorted(backend.ports) } }] }],
    }),
  ]
}

const policy = (
  name: string,
  namespace: string,
  labels: PolicyOwner['labels'],
  spec: AuthorizationPolicy['spec'],
  annotations?: Readonly<Record<string, string>>,
): AuthorizationPolicy =>
  authorizationPolicy({
    metadata: { name, namespace, labels: { ...labels }, ...(annotations && { annotations }) },
    spec,
  })
