import type { Memories } from '../../core/state/memory.ts'
import { isMeshConfig } from '../../mesh/istio/mesh-config.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import { isKind, type KubernetesObject, objectKey } from '../../platform/kubernetes/objects.ts'
import { isPodOf } from '../../platform/kubernetes/pods.ts'
import { sideName } from '../authorization/side.ts'
import {
  type Cluster,
  DECIDING,
  memorySubject,
  OF_THE_MESH,
  readDecidingObjects,
  saidIn,
} from './difference/cluster.ts'
import { decidingFields } from './difference/deciding-fields.ts'
import { type AccessChange, describeChanges } from './difference/describe-changes.ts'
import { type Difference, findDifference } from './difference/difference.ts'
import { unknownServiceEntries } from './difference/service-entries.ts'
import { accountClients, changedObjects, unseenTargets } from './difference/unseen.ts'
import { type Sees, visibleChanges } from './difference/visible.ts'
import { createWorld } from './difference/world.ts'
import { pendingMessages } from './pending-policies.ts'

/** Objects that a plan has read, before and after it. */
type Forked = { readonly before: readonly KubernetesObject[]; readonly after: readonly KubernetesObject[] }

export type ComparedAccess = {
  readonly access: readonly AccessChange[]
  /** The targets that are not compared, each with the reason. */
  readonly incomplete: readonly string[]
  readonly messages: readonly string[]
}

type Options = {
  readonly memories: Pick<Memories, 'read'>
  readonly kubernetes: Kubernetes
  /** Tells if the asker may see an application or a namespace. Without it, everything may be seen. */
  readonly sees?: Sees
  /** Namespaces that the plan concerns. */
  readonly near: ReadonlySet<string>
  readonly autoAllowWaypoint?: boolean | undefined
  readonly hasTime: () => boolean
}

/** Compares all access before and after a plan, in the readable part of the cluster. */
export const compareAccess = async (forked: Forked, options: Options): Promise<ComparedAccess> => {
  const { memories, kubernetes, sees, near, autoAllowWaypoint, hasTime } = options
  const cluster = await readDecidingObjects(memories, kubernetes, { near })
  const missing = OF_THE_MESH.filter((kind) => cluster.unread.get('')?.includes(kind))
  if (missing.length > 0)
    return {
      access: [],
      messages: [],
      incomplete: [`access is not compared: the functions may not list ${missing.join(', ')}`],
    }
  const sides = sidesOf(cluster, forked, options)
  const worlds = [createWorld(sides[0]), createWorld(sides[1])] as const
  const goesOn = async () => {
    await kubernetes.yieldTurn()
    return hasTime()
  }
  const difference = await findDifference(worlds, {
    ...{ autoAllowWaypoint, goesOn, others: accountClients(worlds) },
    unread: [...cluster.unread.keys()].filter((name) => name !== ''),
  })
  const { found, isHidden } = await visibleChanges(sees, difference.found)
  const changed = changedObjects(forked.before, forked.after).filter(isDeciding)
  const spaces = new Set([...near, ...worlds[1].roots, ...difference.targets.map(({ namespace }) => namespace)])
  return {
    access: describeChanges(found, difference.clients, near),
    incomplete: [
      ...unseenTargets(cluster, changed, difference.clients, worlds),
      ...unknownServiceEntries(cluster, changed, difference.clients, worlds),
      ...(await unknownTargets(difference, sees)),
      ...(isHidden ? ['access of applications that you may not send events about is lost, or may be'] : []),
    ],
    messages: pendingMessages(cluster.objects, spaces),
  }
}

/** Tells if access may change. Changed pods count too, although a plan does not report them as changes. */
export const decidesOtherwise = ({ before, after }: Forked): boolean => changedObjects(before, after).some(isDeciding)

/** Builds both sides of a cluster. Objects that the plan has read or written replace those of the cluster. */
const sidesOf = (
  cluster: Cluster,
  { before, after }: Forked,
  { memories, kubernetes }: Options,
): readonly [Cluster, Cluster] => {
  const forked = new Set([...before, ...after].map(objectKey))
  const kept = cluster.objects.filter((one) => !forked.has(objectKey(one)))
  const replaced = new Set([...before, ...after].flatMap((one) => memorySubject(one) ?? []))
  const said = [...cluster.said].filter(([name]) => !replaced.has(name))
  const remaining = new Set(after.map(objectKey))
  const gone = before.filter((one) => !remaining.has(objectKey(one)))
  // a deleted workload takes its pods along
  const left = kept.filter((one) => one.kind !== 'Pod' || !gone.some((workload) => isWorkloadOf(workload, one)))
  const side = (objects: readonly KubernetesObject[], others: readonly KubernetesObject[]): Cluster => ({
    ...cluster,
    objects: [...others, ...objects.filter(isDeciding).map(decidingFields)],
    said: new Map([...said, ...objects.flatMap((one) => saidIn(memories, kubernetes, one))]),
  })
  return [side(before, kept), side(after, left)]
}

const isWorkloadOf = (object: KubernetesObject, pod: KubernetesObject): boolean =>
  ['StatefulSet', 'Deployment'].includes(object.kind) &&
  object.metadata.namespace === pod.metadata.namespace &&
  isPodOf(object, pod)

/** Tells if results may depend on an object. Memories are handled apart. */
const isDeciding = (object: KubernetesObject): boolean =>
  (isKind(object.kind) && DECIDING.includes(object.kind)) || isMeshConfig(object)

/** Names the targets with an unknown result, and those that were not compared in time. */
const unknownTargets = async (
  { doubts, left }: Pick<Difference, 'doubts' | 'left'>,
  sees: Sees = async () => true,
): Promise<string[]> => {
  const seen = await Promise.all(doubts.map(({ to }) => sees(to)))
  const hidden = seen.filter((one) => !one).length
  return [
    ...doubts.flatMap(({ to, why }, index) =>
      seen[index] ? [`whether access to ${sideName(to)} changes is not known: ${why}`] : [],
    ),
    ...(hidden > 0
      ? [`whether access to ${hidden} more changes is not known: you may not send events about them`]
      : []),
    ...(left.length > 0
      ? [`there was no time to compare ${left.length} applications: ${left.map(sideName).join(', ')}`]
      : []),
  ]
}
