import { readAuthorizationPolicy, targetsOf } from '../../../mesh/istio/authorization-policy.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import { type Client, isChanged } from './clients.ts'
import type { Cluster } from './cluster.ts'
import { waypointsIn } from './relevant.ts'
import type { World, Worlds } from './world.ts'

/**
 * Names the ServiceEntries with access that may change, because they cannot be compared. These have a changed policy of their own, or lead to a waypoint
 * that has changed itself, or in its policies or clients.
 */
export const unknownServiceEntries = (
  { unread }: Pick<Cluster, 'unread'>,
  changed: readonly KubernetesObject[],
  clients: readonly Client[],
  worlds: Worlds,
): string[] => {
  const isClientChanged = clients.some((one) => one.faces[0] !== undefined && isChanged(one))
  const policies = worlds.flatMap(({ objects }) => objects.filter(({ kind }) => kind === 'AuthorizationPolicy'))
  // a changed client may get another result from any policy
  const targets = new Set([...changed, ...(isClientChanged ? policies : [])].flatMap(targetsIn))
  if (unread.get('')?.includes('ServiceEntry'))
    return [...targets].some((target) => !target.startsWith('Service '))
      ? ['access to ServiceEntries is not compared, and may change: the functions may not list ServiceEntry']
      : []
  const changes = (world: World, { metadata }: KubernetesObject): boolean => {
    const { namespace = '', name, labels = {} } = metadata
    const waypoints = [labels, world.namespace(namespace)?.metadata.labels ?? {}].flatMap((some) =>
      waypointsIn(some, namespace),
    )
    const own = [`ServiceEntry ${namespace}/${name}`]
    const ofWaypoint = ['GatewayClass', `Namespace ${namespace}`, ...waypoints.map((one) => `Gateway ${one}`)]
    return [...own, ...(waypoints.length > 0 ? ofWaypoint : [])].some((one) => targets.has(one))
  }
  const entries = worlds.flatMap((world) =>
    world.objects.filter((one) => one.kind === 'ServiceEntry' && changes(world, one)),
  )
  const names = new Set(entries.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`))
  return [...names].toSorted().map((name) => `access to the ServiceEntry ${name} is not compared: it may change`)
}

/** Lists the targets that a changed object concerns. A policy concerns those that it names, and any other object concerns itself. */
const targetsIn = (object: KubernetesObject): string[] => {
  const { kind, metadata } = object
  const own = metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`
  if (kind === 'GatewayClass') return [kind]
  if (kind !== 'AuthorizationPolicy')
    return ['Gateway', 'Namespace', 'ServiceEntry'].includes(kind) ? [`${kind} ${own}`] : []
  const read = readAuthorizationPolicy(object)
  const attachment = 'policy' in read ? read.policy.spec : read.attachment
  // an unreadable policy may concern any target
  if (attachment === undefined) return ['GatewayClass']
  return targetsOf(attachment).map((target) =>
    target.kind === 'GatewayClass' ? target.kind : `${target.kind} ${metadata.namespace}/${target.name}`,
  )
}
