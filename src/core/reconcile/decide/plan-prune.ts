import type { Wait } from '../../../platform/base/wait.ts'
import { objectKey } from '../../../platform/kubernetes/apply-objects.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import { isWorkload, managerOf } from '../../workload/objects.ts'
import { idOf, type Operation, objectIn } from './operation.ts'
import { ownGuardIn } from './own-policies.ts'
import { openingGuards } from './plan-labels.ts'
import type { Situation } from './situation.ts'
import { targetOf, widening } from './widen.ts'

/**
 * Plans the removal of stale objects, denying policies first. Each is removed after its replacements stand. Own policies are also removed
 * only after the operations in `leaving`; those of pods go before the Service is led elsewhere. A policy that denies everything and has no replacement is removed before anything joins the mesh.
 */
export const planPrune = (
  situation: Situation,
  stale: readonly KubernetesObject[],
  leaving: readonly string[],
): Operation[] => {
  const { mesh } = situation.features
  const isOwnGuard = ownGuardIn(situation)
  const replacements = replacementsIn(situation)
  const guards = missingGuards(situation)
  const opening = new Set(openingGuards(situation))
  const remove = (object: KubernetesObject, after: readonly string[] = []): Operation => {
    const isOpening = opening.has(objectKey(object))
    const own = isOwnGuard(object) ? leaving.filter((id) => !isOpening || !isOfService(id)) : []
    const needed = [...replacements(object), ...own, ...after]
    const operation = removing(situation, object, needed, 'it is not desired any more')
    return isOpening ? { ...operation, phase: 'allow' } : operation
  }
  const ending = (object: KubernetesObject): Operation => {
    const operation = remove(object, guards)
    const isReplaced = replacements(object).length > 0
    return isReplaced || !mesh.isForAll(object) ? operation : { ...operation, phase: 'allow' }
  }
  const denying = stale.filter(mesh.isDenying)
  const targets = Map.groupBy(
    stale.filter((object) => !mesh.isDenying(object)),
    (object) => targetOf(mesh, object),
  )
  return [
    ...denying.map(ending),
    ...[...targets.values()].flatMap((parts) => {
      const [first, ...others] = parts
      const wide = replacementsOf(parts, replacements) ? undefined : widening(situation, parts)
      if (first === undefined || wide === undefined) return parts.map((object) => remove(object))
      return [wide, ...[...others, first].map((object) => remove(object, [wide.id]))]
    }),
  ]
}

const isOfService = (id: string): boolean => objectIn(id).startsWith('Service ')

/** Lists the applies of policies that do not exist yet. Until they do, only the denying policy guards their targets. */
const missingGuards = ({ features: { mesh }, desired, observed }: Situation): string[] => {
  const live = new Set(observed.owned.kinds.flatMap(({ live: there = [] }) => there.map(objectKey)))
  const policies = desired.objects.filter((object) => mesh.isPolicy(object) && !live.has(objectKey(object)))
  return policies.map((object) => idOf('apply', objectKey(object)))
}

const replacementsOf = (
  objects: readonly KubernetesObject[],
  replacements: (object: KubernetesObject) => readonly string[],
): boolean => objects.some((object) => replacements(object).length > 0)

/**
 * Lists the applies that replace an object: those of its target, those of its name in other namespaces, and for a workload all workloads.
 */
const replacementsIn = ({ features: { mesh }, desired }: Situation): ((object: KubernetesObject) => string[]) => {
  const ids = (objects: readonly KubernetesObject[]) => objects.map((object) => idOf('apply', objectKey(object)))
  const byTarget = Map.groupBy(desired.objects, (object) => targetOf(mesh, object))
  const byName = Map.groupBy(desired.objects, ({ kind, metadata }) => `${kind} ${metadata.name}`)
  const workload = ids(desired.objects.filter(({ kind }) => isWorkload(kind)))
  return (object) =>
    isWorkload(object.kind)
      ? workload
      : ids([
          ...(byTarget.get(targetOf(mesh, object)) ?? []),
          ...(byName.get(`${object.kind} ${object.metadata.name}`) ?? []),
        ])
}

const removing = (
  { subject }: Situation,
  found: KubernetesObject,
  after: readonly string[],
  reason: string,
): Operation => {
  const object = objectKey(found)
  const manager = managerOf(subject, found.kind)
  return { id: idOf('remove', object), phase: 'prune', object, manager, after, reason, verb: 'remove', found }
}

/**
 * Removes the charm library's objects, each when our replacement stands. A policy is removed in a later step, once the mesh has accepted
 * ours, because proxies may receive the two changes in any order. Objects without a replacement stay, with a message.
 */
export const planLibrary = (
  situation: Situation,
  library: readonly KubernetesObject[],
  standing: ReadonlySet<string>,
): { operations: Operation[]; waiting: Wait[]; messages: string[] } => {
  const { mesh } = situation.features
  const unenforced = new Set(situation.unenforced.map(({ object }) => objectKey(object)))
  const isEnforced = (name: string) => standing.has(name) && !unenforced.has(name)
  // a dry run enforces nothing, so it replaces nothing
  const objects = situation.desired.objects.filter((object) => !mesh.isDryRun(object))
  const planned = library.map((found) => {
    const isPolicy = mesh.isPolicy(found)
    const ours = objects
      .filter((object) => object.kind === found.kind && (!isPolicy || targetOf(mesh, object) === targetOf(mesh, found)))
      .map(objectKey)
    return { found, ours, isDue: !isPolicy || ours.every(isEnforced) }
  })
  const replaced = planned.filter(({ ours }) => ours.length > 0)
  return {
    operations: replaced
      .filter(({ isDue }) => isDue)
      .map(({ found, ours }) =>
        removing(
          situation,
          found,
          ours.map((name) => idOf('apply', name)),
          'ours takes its place',
        ),
      ),
    waiting: replaced.filter(({ isDue }) => !isDue).map(({ found, ours }) => libraryWait(objectKey(found), ours)),
    messages: planned.flatMap(({ found, ours }) =>
      ours.length > 0
        ? []
        : [`${objectKey(found)} of the charm library stays: nothing of ours is enforced at its target`],
    ),
  }
}

const libraryWait = (held: string, ours: readonly string[]): Wait => ({
  held,
  for: ['the mesh'],
  message: `${held} of the charm library stays until the mesh has taken ${ours.join(', ')}: the next event after that removes it`,
})
