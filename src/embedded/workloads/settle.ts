import { at, type JsonMap, listOf, mapOf, withAt } from '../../platform/base/json.ts'
import type { StoredObject } from '../../platform/kubernetes/managed-fields/object.ts'
import { reasonToStay } from '../../platform/kubernetes/rollout.ts'
import type { Typed } from '../../platform/kubernetes/typed.ts'
import type { Kind } from '../kinds/kind.ts'
import { kindOf } from '../kinds/kinds.ts'
import { Refusal } from '../kinds/status.ts'
import { create } from '../store/create.ts'
import { ownerIn } from '../store/owner-references.ts'
import { isOver, isReady, stateOf } from '../store/pod-states.ts'
import { remove } from '../store/remove.ts'
import { update } from '../store/update.ts'
import type { World } from '../store/world.ts'
import { type Desired, plans } from './pod-plans.ts'

const controller = { manager: 'kube-controller-manager', operation: 'Update' } as const

const ownerOf = (pod: StoredObject): { kind: string; name: string } | undefined => {
  const owner = mapOf(listOf(pod.metadata.ownerReferences).find((each) => at(each, 'controller') === true))
  return owner.kind === 'StatefulSet' || owner.kind === 'ReplicaSet' ? ownerIn(owner) : undefined
}

const podsOf = ({ store }: World, workload: StoredObject): StoredObject[] =>
  store
    .ownedBy(workload)
    .map(({ object }) => object)
    .filter((object) => {
      const owner = object.kind === 'Pod' ? ownerOf(object) : undefined
      return owner?.kind === workload.kind && owner.name === workload.metadata.name
    })

/** Adds a volume to the pods for each claim template. */
const withClaims = (template: JsonMap, { volumeClaimTemplates }: JsonMap): JsonMap => {
  const names = listOf(volumeClaimTemplates).map((claim) => at(claim, 'metadata', 'name'))
  const others = listOf(at(template, 'spec', 'volumes')).filter((volume) => !names.includes(at(volume, 'name')))
  const claims = names.map((name) => ({ name, emptyDir: {} }))
  return names.length === 0 ? template : withAt(template, ['spec', 'volumes'], [...claims, ...others])
}

const makePod = (world: World, kind: Kind, workload: StoredObject, { metadata }: Desired): void => {
  const { namespace } = workload.metadata
  const template = withClaims(mapOf(at(workload.spec, 'template')), mapOf(workload.spec))
  const spec = mapOf(at(template, 'spec'))
  const named =
    workload.kind === 'StatefulSet' ? { hostname: metadata.name, subdomain: at(workload.spec, 'serviceName') } : {}
  if (typeof metadata.name === 'string' && world.store.get(kind, namespace, metadata.name)) return
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { ...spec, ...named } }
  try {
    create(world, pod, { kind, writer: { ...controller, apiVersion: 'v1' }, dryRun: false }, namespace)
  } catch (error) {
    // A template may be of pods that cannot be, e.g. when the workload's name is too long for their labels
    if (!(error instanceof Refusal)) throw error
  }
}

const removePod = (world: World, kind: Kind, pod: StoredObject): void => {
  remove(world, pod, kind, { dryRun: false, orphan: false })
}

/** Makes the pods of a workload what its template and replicas say; pods of the current template are left alone. */
const reconcile = (world: World, kind: Kind, workload: StoredObject): void => {
  const podKind = kindOf('v1', 'Pod')
  const plan = plans[kind.kind]?.(workload)
  if (podKind === undefined || plan === undefined) return
  const names = new Set(plan.pods.map(({ metadata }) => metadata.name))
  const all = podsOf(world, workload)
  // a pod of a StatefulSet keeps its name while its object is there; pods that a template makes this way would be made for ever
  const isReplacing = kind.kind === 'Deployment' && stateOf(mapOf(at(workload.spec, 'template'))) === undefined
  const present = isReplacing ? all.filter((pod) => !isOver(pod)) : all
  const isCurrent = (pod: StoredObject) => pod.metadata.labels?.[plan.hashLabel] === plan.hash
  const kept = present
    .filter((pod) => isCurrent(pod) || reasonToStay(workload as Typed<'Workload'>, pod as Typed<'Pod'>) !== undefined)
    .filter(({ metadata }) => names.has(undefined) || names.has(metadata.name))
    .slice(0, plan.pods.length)
  for (const pod of present) if (!kept.includes(pod)) removePod(world, podKind, pod)
  const keptNames = new Set(kept.map(({ metadata }) => metadata.name))
  const missing = names.has(undefined)
    ? plan.pods.slice(kept.length)
    : plan.pods.filter(({ metadata }) => !keptNames.has(String(metadata.name)))
  for (const desired of missing) makePod(world, podKind, workload, desired)
  const writer = { ...controller, apiVersion: 'apps/v1', subresource: 'status' }
  const made = podsOf(world, workload)
  const status = plan.status(made.filter(isReady).length, made.filter(isCurrent).length)
  update(world, workload, { ...workload, status }, { kind, writer, dryRun: false })
}

/** Runs the controllers after a client's write. `object` is the one that was stored, or deleted. */
export const settle = (world: World, kind: Kind, object: StoredObject): void => {
  const { namespace, name } = object.metadata
  const owner = kind.kind === 'Pod' ? ownerOf(object) : { kind: kind.kind, name }
  const workloadKind = owner && plans[owner.kind] ? kindOf('apps/v1', owner.kind) : undefined
  const podKind = kindOf('v1', 'Pod')
  if (owner === undefined || workloadKind === undefined || podKind === undefined) return
  const workload = world.store.get(workloadKind, namespace, owner.name)
  if (workload) reconcile(world, workloadKind, workload)
  else if (kind === workloadKind) for (const pod of podsOf(world, object)) removePod(world, podKind, pod)
}
