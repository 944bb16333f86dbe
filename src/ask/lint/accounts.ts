import { whyNotGranted } from '../../core/policies/missed-pods.ts'
import { type AuthorizationPolicy, isForPods, readAuthorizationPolicy } from '../../mesh/istio/authorization-policy.ts'
import { captureOf } from '../../mesh/istio/capture.ts'
import { accountOf } from '../../mesh/istio/names.ts'
import { principalsIn, valuesIn } from '../../mesh/istio/rule-values.ts'
import { Namespace } from '../../platform/base/names.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { ifPermitted } from '../../platform/kubernetes/api-error.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { listReadable } from '../../platform/kubernetes/list-readable.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { APPLICATION_LABEL } from '../../platform/kubernetes/ownership-labels.ts'
import { podTemplate } from '../../platform/kubernetes/pod-like.ts'
import { accountsOf } from '../authorization/accounts.ts'
import { ownProxy } from '../authorization/pods.ts'
import { type Cluster, type Istio, unlisted, unreadable } from './cluster.ts'
import { type Found, foundIn } from './finding.ts'

/**
 * Reports workloads that a grant names but does not let in, and clients in other people's policies that do not exist. `named` are the ServiceAccounts that
 * beacons name for applications.
 */
export const accountFindings = async (
  kubernetes: Kubernetes,
  cluster: Cluster,
  named: Readonly<Record<string, string>>,
): Promise<Found[]> => {
  const policies = cluster.policies.flatMap((object) => {
    const read = readAuthorizationPolicy(object)
    return 'policy' in read ? [read.policy] : []
  })
  const isOurs = ({ metadata }: KubernetesObject) => ownValue(metadata.labels, APPLICATION_LABEL) !== undefined
  const written = policies.filter((policy) => !isOurs(policy))
  return [
    ...grantFindings(policies.filter(isOurs), cluster, named),
    ...(await unknownAccounts(kubernetes, written, cluster)),
    ...(await unknownNamespaces(kubernetes, written, cluster)),
    ...written.flatMap((policy) => unknownDomains(policy, cluster.istio)),
  ]
}

const principalsOf = ({ spec: { rules = [] } }: AuthorizationPolicy): string[] => [
  ...new Set(rules.flatMap(principalsIn)),
]

const grantFindings = (
  policies: readonly AuthorizationPolicy[],
  { namespace, home, workloads }: Cluster,
  named: Readonly<Record<string, string>>,
): Found[] => {
  const principals = [...new Set(policies.flatMap(principalsOf))]
  // an account that a beacon names for one application says nothing of the application of its name
  const taken = new Set(Object.values(named))
  return workloads.flatMap((workload) => {
    const { name } = workload.metadata
    const account = ownValue(named, `${namespace}/${name}`) ?? (taken.has(name) ? undefined : name)
    if (account === undefined || !principals.some((one) => one.endsWith(`/ns/${namespace}/sa/${account}`))) return []
    const problem = whyNotGranted(name, podTemplate(workload), account) ?? outside(workload, home)
    return problem === undefined ? [] : [foundIn(workload, 'grant-without-effect', `its pods ${problem}`)]
  })
}

/** Tells why the pods of a workload have no identity. Undefined if the mesh captures them, or they are proxies of their own. */
const outside = (workload: KubernetesObject, home: KubernetesObject | undefined): string | undefined => {
  const { labels = {} } = home?.metadata ?? {}
  const pod = podTemplate(workload)
  const capture = captureOf(pod, { labels })
  return capture.is === 'off' && ownProxy(pod, labels) === undefined
    ? `have no identity outside of the mesh, and what is granted to them does not let them in: ${capture.why}`
    : undefined
}

/** Reports accounts that no pod runs as and no ServiceAccount has. If ServiceAccounts may not be listed, it reports only that. */
const unknownAccounts = async (
  kubernetes: Kubernetes,
  policies: readonly AuthorizationPolicy[],
  cluster: Cluster,
): Promise<Found[]> => {
  const named = policies.flatMap((policy) => accountsNamed(policy, cluster.istio).map((one) => ({ policy, ...one })))
  const namespaces = [...new Set(named.map(({ namespace }) => namespace))]
  const found = await Promise.all(
    namespaces.map(async (namespace): Promise<Found[]> => {
      const { accounts, running } = await accountsIn(kubernetes, namespace, cluster)
      const unknown = named.filter((one) => one.namespace === namespace && !running.has(one.account))
      if (unknown.length === 0) return []
      if (accounts === undefined) return [partlyRead(cluster, unlisted(`ServiceAccounts of ${namespace}`))]
      return unknown
        .filter(({ account }) => !accounts.has(account))
        .map(({ policy, written, account }) =>
          foundIn(
            policy,
            'account-unknown',
            `nobody in ${namespace} runs as the ServiceAccount ${account} of ${written}, and there is none of that name`,
          ),
        )
    }),
  )
  return found.flat()
}

const partlyRead = ({ namespace }: Cluster, message: string): Found => ({
  ...{ rule: 'partly-read', about: `Namespace ${namespace}`, message },
})

const unknownNamespaces = async (
  kubernetes: Kubernetes,
  policies: readonly AuthorizationPolicy[],
  cluster: Cluster,
): Promise<Found[]> => {
  const named = Map.groupBy(policies.flatMap(namespacesNamed), ({ name }) => name)
  named.delete(cluster.namespace)
  const found = await Promise.all(
    [...named].map(async ([name, policies]): Promise<Found[]> => {
      const reference = { kind: 'Namespace', name } as const
      const read = Namespace.safeParse(name).success
        ? await ifPermitted(kubernetes.find(reference).then((object) => ({ object })))
        : { object: undefined }
      if (read === undefined) return [partlyRead(cluster, unreadable(reference))]
      const message = `there is no namespace ${name}, and so nobody is in it`
      return read.object ? [] : policies.map(({ policy }) => foundIn(policy, 'namespace-unknown', message))
    }),
  )
  return found.flat()
}

/** Lists the namespaces that a policy names without wildcards, each once. */
const namespacesNamed = (policy: AuthorizationPolicy): { policy: AuthorizationPolicy; name: string }[] => {
  const values = (policy.spec.rules ?? []).flatMap(valuesIn).filter(({ of }) => of === 'source.namespace')
  const names = new Set(values.flatMap((one) => one.values).filter((name) => !name.includes('*')))
  return [...names].map((name) => ({ policy, name }))
}

type Named = { readonly written: string; readonly namespace: string; readonly account: string }

/** Lists the known trust domains of this mesh. */
const domainsOf = ({ trustDomains }: Istio): string[] =>
  trustDomains ? [trustDomains.own, ...trustDomains.aliases, CLUSTER_LOCAL] : [CLUSTER_LOCAL]

const CLUSTER_LOCAL = 'cluster.local'

/** Lists the accounts of this mesh that a policy names without wildcards, each once. Accounts of another mesh cannot be checked here. */
const accountsNamed = ({ metadata, spec: { rules = [] } }: AuthorizationPolicy, istio: Istio): Named[] => {
  const domains = domainsOf(istio)
  const named = rules.flatMap(valuesIn).flatMap(({ of, values }): Named[] => {
    if (of === 'source.serviceAccount')
      return values.map((written) => {
        const [account = '', namespace = metadata.namespace] = written.split('/').toReversed()
        return { written, namespace, account }
      })
    if (of !== 'source.principal') return []
    return values.flatMap((written) => {
      const { trustDomain = '', namespace = '', serviceAccount: account = '' } = accountOf(written) ?? {}
      return trustDomain.startsWith('*') || domains.includes(trustDomain) ? [{ written, namespace, account }] : []
    })
  })
  return [...new Map(named.map((one) => [one.written, one])).values()]
}

type Accounts = {
  /** The existing ServiceAccounts. Undefined if they may not be listed. */
  readonly accounts: ReadonlySet<string> | undefined
  /** The ServiceAccounts that pods, workloads or Gateways run as, as far as these may be read. */
  readonly running: ReadonlySet<string>
}

const accountsIn = async (kubernetes: Kubernetes, namespace: string, { gateways = [] }: Cluster): Promise<Accounts> => {
  const [accounts, ...lists] = await Promise.all(
    (['ServiceAccount', 'StatefulSet', 'Deployment', 'Pod'] as const).map((kind) =>
      listReadable(kubernetes, kind, namespace),
    ),
  )
  const own = gateways.filter(({ metadata }) => metadata.namespace === namespace)
  const running = [...lists.flatMap((objects) => objects ?? []), ...own].flatMap(accountsOf)
  return {
    accounts: accounts && new Set(accounts.map(({ metadata }) => metadata.name)),
    running: new Set(running.map(({ serviceAccount }) => serviceAccount)),
  }
}

/**
 * Reports unknown trust domains. A ztunnel compares the text of the trust domain. An Envoy also knows aliases, and takes cluster.local for the own trust
 * domain.
 */
const unknownDomains = (policy: AuthorizationPolicy, istio: Istio): Found[] => {
  if (istio.trustDomains === undefined) return []
  const known = isForPods(policy.spec) ? [istio.trustDomains.own] : domainsOf(istio)
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
