import { isGateway, isOnMesh, type PodLike, serviceAccountName } from '../../authorization/pods.ts'
import { readAuthorizationPolicy } from '../../istio/authorization-policy.ts'
import { objectKey } from '../../kubernetes/apply-objects.ts'
import type { Kind, KubernetesObject } from '../../kubernetes/objects.ts'
import { controllerNamed } from '../../kubernetes/pods.ts'
import { type Account, accountClient, type Client } from './clients.ts'
import type { Cluster } from './cluster.ts'
import { decidingText } from './concise.ts'
import { accountName, sourcesOf } from './sources.ts'
import type { World } from './world.ts'

type Worlds = readonly [World, World]

/**
 * Clients of which no application is known: pods that no workload of ours has, accounts that policies name in namespaces that cannot be read, or are of
 * another cluster, and whoever else is in those that cannot be read.
 */
export const unseenClients = (worlds: Worlds, { unread }: Pick<Cluster, 'unread'>): Client[] => {
  const namespaces = [...unread.keys()].filter((name) => name !== '')
  const known = new Set(
    worlds.flatMap(({ objects }) => objects.flatMap(namespaceOf)).filter((name) => !unread.has(name)),
  )
  const policies = new Set(worlds.flatMap((world) => ofKind(world, 'AuthorizationPolicy')))
  const named = [...policies].flatMap((one) => sourcesOf(one).accounts).map(({ name }) => accountIn(name))
  const accounts = [...named.filter(({ namespace }) => !known.has(namespace)), ...worlds.flatMap(accountsOfPods)]
  const distinct = new Map(accounts.map((one) => [accountName(one), one]))
  return [
    ...[...distinct.values()].map((one) => accountClient(one, `${one.namespace}/sa/${one.serviceAccount}`)),
    ...namespaces.map((namespace) => accountClient({ namespace, serviceAccount: ANYBODY_ELSE }, `${namespace}/*`)),
  ]
}

/** No account is called so. */
const ANYBODY_ELSE = 'anybody.else'

const namespaceOf = ({ kind, metadata: { name, namespace } }: KubernetesObject): string[] =>
  kind === 'Namespace' ? [name] : namespace === undefined || kind === 'AuthorizationPolicy' ? [] : [namespace]

const ofKind = ({ objects }: World, kind: Kind): KubernetesObject[] => objects.filter((one) => one.kind === kind)

const accountIn = (name: string): Account => {
  const [namespace = '', serviceAccount = ''] = name.split('/')
  return { namespace, serviceAccount }
}

/** Of pods on the mesh that are of no StatefulSet, no Deployment and no Gateway: jobs, daemons, and pods by themselves. */
const accountsOfPods = (world: World): Account[] => {
  const labels = new Map(ofKind(world, 'Namespace').map(({ metadata }) => [metadata.name, metadata.labels ?? {}]))
  return ofKind(world, 'Pod').flatMap((pod) => {
    const { namespace = '' } = pod.metadata
    const isOfWorkload = ['StatefulSet', 'Deployment'].includes(controllerNamed(pod)?.kind ?? '')
    const like = pod as PodLike
    return isOfWorkload || isGateway(like) || !isOnMesh(like, labels.get(namespace) ?? {})
      ? []
      : [{ namespace, serviceAccount: serviceAccountName(like) }]
  })
}

/** The targets that cannot be compared, as a change may concern objects that cannot be read. */
export const unseenTargets = (
  { unread }: Pick<Cluster, 'unread'>,
  changed: readonly KubernetesObject[],
  worlds: Worlds,
): string[] => {
  const roots = new Set(worlds.flatMap((world) => world.roots))
  const isShared = ({ kind, metadata: { namespace = '' } }: KubernetesObject) =>
    ['Gateway', 'GatewayClass', 'ConfigMap'].includes(kind) || roots.has(namespace)
  const concerned = (namespace: string) =>
    changed.some(
      (one) =>
        isShared(one) ||
        one.metadata.namespace === namespace ||
        (one.kind === 'Namespace' && one.metadata.name === namespace),
    )
  const hidden = [...unread].filter(([namespace]) => namespace !== '' && concerned(namespace))
  const domains = new Set(worlds.flatMap(({ trustDomains }) => trustDomains))
  const foreign = new Set(changed.flatMap(trustDomainsIn).filter((one) => !domains.has(one)))
  return [
    ...hidden.map(
      ([namespace, kinds]) =>
        `what changes for the applications of ${namespace} is not known: the functions may not list ${kinds.join(', ')}`,
    ),
    ...[...foreign].map((domain) => `callers of the trust domain ${domain} are not compared: it is of another mesh`),
  ]
}

/** The trust domains that a policy names, but for patterns and Istio's word for the own one. */
const trustDomainsIn = (object: KubernetesObject): string[] => {
  if (object.kind !== 'AuthorizationPolicy') return []
  const read = readAuthorizationPolicy(object)
  const rules = 'policy' in read ? (read.policy.spec.rules ?? []) : []
  const sources = rules.flatMap(({ from = [] }) => from.map(({ source = {} }) => source))
  const named = sources.flatMap(({ principals = [], notPrincipals = [] }) => [...principals, ...notPrincipals])
  return named.flatMap((text) => /^([^*/]+)\/ns\//.exec(text)?.[1] ?? []).filter((one) => one !== 'cluster.local')
}

/** The objects that decide otherwise on the other side, as they are on both. */
export const changedObjects = (
  before: readonly KubernetesObject[],
  after: readonly KubernetesObject[],
): KubernetesObject[] => {
  const [old, now] = [before, after].map((some) => new Map(some.map((one) => [objectKey(one), one])))
  return [...new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])].flatMap((name) => {
    const both = [old?.get(name), now?.get(name)]
    const [one, other] = both.map((object) => object && decidingText(object))
    return one === other ? [] : both.filter((object) => object !== undefined)
  })
}
