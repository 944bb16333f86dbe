import { type Condition, waitFor } from '../../../platform/base/condition.ts'
import { type KubernetesObject, objectKey } from '../../../platform/kubernetes/objects.ts'
import { isWorkload } from '../../workload/objects.ts'
import { applyOf, type Operation, type Plan, writeOf } from './operation.ts'
import type { Situation } from './situation.ts'
import { targetOf, widening } from './widen.ts'

/** Plans the removal of stale objects, denying policies first. Each is removed after its replacements stand. */
export const planPrune = (situation: Situation, stale: readonly KubernetesObject[]): Operation[] => {
  const { mesh } = situation.features
  const replacements = replacementsIn(situation)
  const replaces = takingPlaceIn(situation)
  const isReplaced = (object: KubernetesObject) => replacements(object).some((one) => replaces(object, one))
  const remove = (object: KubernetesObject, ...needs: readonly string[]): Operation =>
    removing(situation, object, [...replacements(object).map(applyOf), ...needs], NOT_DESIRED)
  const [denying, others] = [stale.filter(mesh.isDenying), stale.filter((object) => !mesh.isDenying(object))]
  const targets = Map.groupBy(others, (object) => targetOf(mesh, object))
  return [
    ...denying.map((object) => remove(object)),
    ...[...targets.values()].flatMap((parts) => {
      const [first, ...rest] = parts
      const wide = parts.some(isReplaced) ? undefined : widening(situation, parts)
      if (first === undefined || wide === undefined) return parts.map((object) => remove(object))
      return [wide, ...[...rest, first].map((object) => remove(object, wide.id))]
    }),
  ]
}

const NOT_DESIRED = 'it is not desired any more'

/** Creates a test if a policy can take the place of another one of its target. A denying policy never replaces an allowing one. */
const takingPlaceIn =
  ({ features: { mesh } }: Situation) =>
  (former: KubernetesObject, next: KubernetesObject): boolean =>
    mesh.isDenying(former) || !mesh.isDenying(next)

/**
 * Lists the objects that replace one: those of its target, those of its name in other namespaces, and for a workload all workloads.
 */
const replacementsIn = ({
  features: { mesh },
  desired,
}: Situation): ((object: KubernetesObject) => KubernetesObject[]) => {
  const nameIn = ({ kind, metadata }: KubernetesObject) => `${kind} ${metadata.name}`
  const byTarget = Map.groupBy(desired.objects, (object) => targetOf(mesh, object))
  const byName = Map.groupBy(desired.objects, nameIn)
  const workload = desired.objects.filter(({ kind }) => isWorkload(kind))
  return (object) =>
    isWorkload(object.kind)
      ? workload
      : [...(byTarget.get(targetOf(mesh, object)) ?? []), ...(byName.get(nameIn(object)) ?? [])]
}

const removing = (
  { subject }: Situation,
  found: KubernetesObject,
  needs: readonly string[],
  reason: string,
): Operation => ({ ...writeOf(subject, 'remove', found), needs, reason, verb: 'remove', found })

/**
 * Removes the charm library's objects, each when our replacement stands. A policy is removed once the mesh has accepted
 * ours, not with it, because proxies may receive the two changes in any order. Objects without a replacement stay, with a message, and so does a policy
 * that lets in whom none of ours does: the relation of that client may not be told yet.
 */
export const planLibrary = (
  situation: Situation,
  library: readonly KubernetesObject[],
  unchanged: ReadonlySet<string>,
): Pick<Plan, 'operations' | 'waiting' | 'messages'> => {
  const { mesh } = situation.features
  const unenforced = new Set(situation.unenforced.map(({ condition }) => condition.object))
  const replaces = takingPlaceIn(situation)
  const isEnforced = (name: string) => unchanged.has(name) && !unenforced.has(name)
  // a dry run enforces nothing, so it replaces nothing
  const objects = situation.desired.objects.filter((object) => !mesh.isDryRun(object))
  const planned = library.map((found) => {
    const isPolicy = mesh.isPolicy(found)
    const isAlike = (object: KubernetesObject) =>
      targetOf(mesh, object) === targetOf(mesh, found) && replaces(found, object)
    const ours = objects.filter((object) => object.kind === found.kind && (!isPolicy || isAlike(object)))
    const clients = new Set(ours.flatMap(mesh.clientsOf))
    const refused = isPolicy ? mesh.clientsOf(found).filter((client) => !clients.has(client)) : []
    const stays = ours.length === 0 ? NOT_REPLACED : refused.length > 0 ? letsIn(refused) : undefined
    return { found, ours, stays, isDue: !isPolicy || ours.map(objectKey).every(isEnforced) }
  })
  const replaced = planned.filter(({ stays }) => stays === undefined)
  return {
    operations: replaced
      .filter(({ isDue }) => isDue)
      .map(({ found, ours }) => removing(situation, found, ours.map(applyOf), 'ours takes its place')),
    waiting: replaced
      .filter(({ isDue }) => !isDue)
      .map(({ found, ours }) => libraryWait(objectKey(found), ours.map(objectKey))),
    messages: planned.flatMap(({ found, stays }) =>
      stays === undefined ? [] : [`${objectKey(found)} of the charm library stays: ${stays}`],
    ),
  }
}

const NOT_REPLACED = 'nothing of ours is enforced at its target'

const letsIn = (clients: readonly string[]): string =>
  `no relation lets in ${clients.join(', ')}, as it does: tell the relation, or delete the policy`

const libraryWait = (object: string, ours: readonly string[]): Condition =>
  waitFor(
    ['the mesh'],
    'LibraryPolicyKept',
    object,
    `${object} of the charm library stays until the mesh has taken ${ours.join(', ')}: the next event after that removes it`,
  )
