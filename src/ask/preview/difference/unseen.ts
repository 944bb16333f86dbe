import { readAuthorizationPolicy, targetsOf } from '../../../mesh/istio/authorization-policy.ts'
import { type Kind, type KubernetesObject, objectKey } from '../../../platform/kubernetes/objects.ts'
import { type Account, accountsOf } from '../../authorization/accounts.ts'
import { accountClient, type Client, isChanged } from './clients.ts'
import type { Cluster } from './cluster.ts'
import { decidingText } from './deciding-fields.ts'
import { UNSEEN } from './nameless-clients.ts'
import { accountName, sourcesOf } from './policy-sources.ts'
import type { World, Worlds } from './world.ts'

/**
 * Builds clients of which only the account is known: pods without a workload, and accounts in policies that no known application runs as. Such an account
 * may be that of a job between two runs, of an unreadable namespace, or of another cluster.
 */
export const accountClients = (worlds: Worlds): Client[] => {
  const known = new Set(worlds.flatMap(({ objects }) => objects.flatMap(accountsOf)).map(accountName))
  const policies = new Set(worlds.flatMap((world) => ofKind(world, 'AuthorizationPolicy')))
  const named = new Set([...policies].flatMap((one) => sourcesOf(one).accounts).map(({ name }) => name))
  const lone = worlds.flatMap(({ lone: { accounts } }) => accounts.map(accountName))
  const apart = [...named].filter((name) => !known.has(name))
  return [...new Set([...apart, ...lone])].map((name) => accountClient(accountIn(name), worlds, named.has(name)))
}

const ofKind = ({ objects }: World, kind: Kind): KubernetesObject[] => objects.filter((one) => one.kind === kind)

const accountIn = (name: string): Account => {
  const [namespace = '', serviceAccount = ''] = name.split('/')
  return { namespace, serviceAccount }
}

/** Names the targets that cannot be compared, because a change may concern unreadable objects. */
export const unseenTargets = (
  { unread }: Pick<Cluster, 'unread'>,
  changed: readonly KubernetesObject[],
  clients: readonly Client[],
  worlds: Worlds,
): string[] => {
  const roots = new Set(worlds.flatMap((world) => world.roots))
  // a changed client may lose access anywhere
  const isOfAll = clients.some((one) => one.faces[0] !== undefined && isChanged(one)) || changed.some(isShared(roots))
  const concerned = (namespace: string) =>
    isOfAll ||
    changed.some(({ kind, metadata }) => namespace === (kind === 'Namespace' ? metadata.name : metadata.namespace))
  const hidden = [...unread].filter(([namespace]) => namespace !== '' && concerned(namespace))
  const domains = new Set(worlds.flatMap(({ trustDomains }) => trustDomains))
  const foreign = new Set(changed.flatMap(trustDomainsIn).filter((one) => !domains.has(one)))
  return [
    ...hidden.map(
      ([namespace, what]) =>
        `it is not known how access to the applications of ${namespace === UNSEEN ? 'namespaces that are not seen' : namespace} changes: the functions may not list ${what.join(', ')}`,
    ),
    ...(unread.get('') ?? [])
      .filter((what) => what.startsWith('ConfigMap '))
      .map((what) => `Istio's root namespace is not known for certain: the functions may not get ${what}`),
    ...[...foreign].map((domain) => `callers of the trust domain ${domain} are not compared: it is of another mesh`),
  ]
}

/** Tells if an object may decide in any namespace. A policy of a waypoint applies to all namespaces that use the waypoint. */
const isShared =
  (roots: ReadonlySet<string>) =>
  (object: KubernetesObject): boolean => {
    const { kind, metadata } = object
    if (['Gateway', 'GatewayClass', 'ConfigMap'].includes(kind) || roots.has(metadata.namespace ?? '')) return true
    if (kind !== 'AuthorizationPolicy') return false
    const read = readAuthorizationPolicy(object)
    const attachment = 'policy' in read ? read.policy.spec : read.attachment
    return attachment === undefined || targetsOf(attachment).some((target) => target.kind === 'Gateway')
  }

/** Lists the trust domains that a policy names, without Istio's alias for the own one. */
const trustDomainsIn = (object: KubernetesObject): string[] =>
  object.kind === 'AuthorizationPolicy' ? sourcesOf(object).trustDomains.filter((one) => one !== 'cluster.local') : []

/** Lists the objects that decide differently, with their content on both sides. */
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
