import { ownValue } from '../base/own-value.ts'
import { type AuthorizationPolicy, isForPods, readAuthorizationPolicy } from '../istio/authorization-policy.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import type { KubernetesObject } from '../kubernetes/objects.ts'
import { APPLICATION_LABEL } from '../kubernetes/ownership-labels.ts'
import { type Cluster, type Istio, listReadable } from './cluster.ts'
import { type Found, foundIn } from './finding.ts'

/** Workloads that a grant names, and does not let in; and clients that a person's policy names, and that are nobody. */
export const accountFindings = async (kubernetes: Kubernetes, cluster: Cluster): Promise<Found[]> => {
  const policies = cluster.policies.flatMap((object) => {
    const read = readAuthorizationPolicy(object)
    return 'policy' in read ? [read.policy] : []
  })
  const isOurs = ({ metadata }: KubernetesObject) => ownValue(metadata.labels, APPLICATION_LABEL) !== undefined
  const written = policies.filter((policy) => !isOurs(policy))
  return [
    ...grantFindings(policies.filter(isOurs), cluster),
    ...(await unknownAccounts(kubernetes, written, cluster)),
    ...written.flatMap((policy) => unknownDomains(policy, cluster.istio)),
  ]
}

const principalsOf = ({ spec: { rules = [] } }: AuthorizationPolicy): string[] => [
  ...new Set(rules.flatMap(({ from = [] }) => from.flatMap(({ source }) => source?.principals ?? []))),
]

const grantFindings = (policies: readonly AuthorizationPolicy[], { namespace, workloads }: Cluster): Found[] => {
  const principals = new Set(policies.flatMap(principalsOf))
  return workloads.flatMap((workload) => {
    const { name } = workload.metadata
    const isGranted = [...principals].some((one) => one.endsWith(`/ns/${namespace}/sa/${name}`))
    const message = isGranted ? problemOf(workload) : undefined
    return message === undefined ? [] : [foundIn(workload, 'grant-without-effect', message)]
  })
}

type Spec = { readonly serviceAccountName?: string; readonly hostNetwork?: boolean }

/** The spec of a pod, or of the template of a workload. */
const specOf = ({ kind, spec }: KubernetesObject): Spec =>
  (kind === 'Pod' ? spec : ((spec?.template as { spec?: Spec } | undefined)?.spec ?? {})) as Spec

const problemOf = (workload: KubernetesObject): string | undefined => {
  const { name } = workload.metadata
  const { serviceAccountName = 'default', hostNetwork } = specOf(workload)
  if (hostNetwork === true)
    return `its pods are in the network of their node, where Istio gives them no identity, and what is granted to ${name} does not let them in: run them without hostNetwork`
  return serviceAccountName === name
    ? undefined
    : `its pods run as the ServiceAccount ${serviceAccountName}, and what is granted to ${name} lets in pods of the ServiceAccount ${name} alone: set serviceAccountName: ${name} in the template of the ${workload.kind}`
}

/** A namespace that may not be read says nothing of its accounts. */
const unknownAccounts = async (
  kubernetes: Kubernetes,
  policies: readonly AuthorizationPolicy[],
  cluster: Cluster,
): Promise<Found[]> => {
  const named = policies.flatMap((policy) =>
    principalsOf(policy).flatMap((principal) => {
      const [, namespace, account] = /^[^/]+\/ns\/([^/*]+)\/sa\/([^/*]+)$/.exec(principal) ?? []
      return namespace === undefined || account === undefined ? [] : [{ policy, principal, namespace, account }]
    }),
  )
  const namespaces = [...new Set(named.map(({ namespace }) => namespace))]
  const accounts = new Map(
    await Promise.all(
      namespaces.map(async (namespace) => [namespace, await accountsIn(kubernetes, namespace, cluster)] as const),
    ),
  )
  return named
    .filter(({ namespace, account }) => accounts.get(namespace)?.has(account) === false)
    .map(({ policy, principal, namespace, account }) =>
      foundIn(
        policy,
        'account-unknown',
        `nobody in ${namespace} runs as the ServiceAccount ${account} of ${principal}`,
      ),
    )
}

const accountsIn = async (
  kubernetes: Kubernetes,
  namespace: string,
  { gateways }: Cluster,
): Promise<ReadonlySet<string> | undefined> => {
  const lists = await Promise.all(
    (['StatefulSet', 'Deployment', 'Pod'] as const).map((kind) => listReadable(kubernetes, kind, namespace)),
  )
  if (gateways === undefined || lists.includes(undefined)) return undefined
  const own = gateways.filter(({ metadata }) => metadata.namespace === namespace)
  return new Set([
    ...lists.flatMap((objects) => objects ?? []).map((object) => specOf(object).serviceAccountName ?? 'default'),
    ...own.flatMap(({ metadata, spec }) => [
      ownValue(metadata.annotations, 'gateway.istio.io/service-account') ?? metadata.name,
      `${metadata.name}-${String(spec?.gatewayClassName)}`,
    ]),
  ])
}

/** A ztunnel compares the trust domain as it is written; an Envoy knows aliases, and cluster.local for the own one. */
const unknownDomains = (policy: AuthorizationPolicy, { trustDomains }: Istio): Found[] => {
  if (trustDomains === undefined) return []
  const known = isForPods(policy.spec)
    ? [trustDomains.own]
    : [trustDomains.own, ...trustDomains.aliases, 'cluster.local']
  const domains = principalsOf(policy).flatMap((principal) => /^([^/*]+)\/ns\//.exec(principal)?.[1] ?? [])
  const unknown = new Set(domains.filter((domain) => !known.includes(domain)))
  return [...unknown].map((domain) =>
    foundIn(
      policy,
      'trust-domain-unknown',
      `nobody of this mesh has the trust domain ${domain}${isForPods(policy.spec) ? ' at pods' : ''}: it is ${known.join(', ')}`,
    ),
  )
}
