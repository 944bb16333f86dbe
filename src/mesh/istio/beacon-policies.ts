import { REQUESTED_BY, requestedBy } from '../../core/policies/requested-by.ts'
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
 * Hardened mode: what no other policy allows is denied, everywhere in the mesh. Both objects match nothing, which an ALLOW policy can
 * open again; a DENY policy would outweigh every ALLOW. They hold for the whole mesh only in Istio's root namespace.
 */
export const hardenedMode = (
  { namespace, application, labels }: PolicyOwner,
  rootNamespace: string,
): AuthorizationPolicy[] => {
  const name = `${application}-${namespace}-policy-global-allow-nothing`
  const targetRefs = [{ group: GATEWAY_API, kind: 'GatewayClass', name: 'istio-waypoint' }]
  // whose members it refuses as well, those of other beacons, are to know whom to ask
  const annotations = { [REQUESTED_BY]: requestedBy([`config of ${namespace}/${application}`]) }
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
 * Lets the addresses in `cidrs` reach the ingress from outside. Without any it admits nobody: an empty list in a rule would admit
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

/** Lets the extension provider decide on whatever passes the ingress; nothing else decides for it, as CUSTOM goes first. */
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

/** Lets the gateway of the ingress reach the pods of `backend`, past their waypoint. No object where there is no port to open. */
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
    policy(`${backend.application}-${application}-${backend.namespace}-l4`, backend.namespace, labels, {
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
