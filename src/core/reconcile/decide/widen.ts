import { type ObjectPlan, objectKey } from '../../../platform/kubernetes/apply-objects.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import type { Mesh } from '../../feature/mesh.ts'
import { idOf, type Operation } from './operation.ts'
import { managerOf, type Situation } from './situation.ts'

type Pair = ObjectPlan['apply'][number]

/** An apply of one object, or the step before it; `after` are those of its target that it depends on. */
export type Draft = Pair & { readonly id: string; readonly after: readonly string[] }

/** Says what guards a target: an object that is no policy is on its own. */
export const targetOf = ({ isPolicy, targetOf }: Mesh, object: KubernetesObject): string =>
  isPolicy(object) ? targetOf(object) : objectKey(object)

/**
 * The order in which a target in several objects is applied: nobody is refused in between who may before and after. New parts stand before
 * others are narrowed. Where nothing guarded the target, the first one would refuse whom the next ones let in: so it lets in
 * all of them first, and is narrowed last.
 */
export const inParts = (mesh: Mesh, pairs: readonly Pair[], live: readonly KubernetesObject[]): Draft[] => {
  const guarded = new Set(live.map((object) => targetOf(mesh, object)))
  const isClosed = isHardened(mesh, live)
  return [...Map.groupBy(pairs, ({ desired }) => targetOf(mesh, desired))].flatMap(([target, same]) => {
    const parts = same.toSorted((one, other) => Number(one.live !== undefined) - Number(other.live !== undefined))
    const drafts = parts.map((pair) => ({ ...pair, id: idOf('apply', objectKey(pair.desired)), after: [] }))
    const wide = isClosed || guarded.has(target) ? undefined : mesh.widened(parts.map(({ desired }) => desired))
    const [first, ...others] = drafts
    if (wide === undefined || first === undefined) return drafts
    const widening = { desired: wide, live: undefined, id: idOf('widen', objectKey(wide)), after: [] }
    return [widening, ...[...others, first].map((draft) => ({ ...draft, after: [widening.id] }))]
  })
}

/** All is denied that no policy allows, as far as the application's own objects say. */
export const isHardened = ({ isDenying, isForAll }: Mesh, live: readonly KubernetesObject[]): boolean =>
  live.some((object) => isDenying(object) && isForAll(object))

/**
 * A target in several objects that is to be guarded no more: when the first of them goes, the others would refuse whom it let in. So one lets
 * in all of them before, and goes last. Where all is denied that no policy allows, this is as it should be.
 */
export const widening = (
  { features: { mesh }, subject, observed }: Situation,
  parts: readonly KubernetesObject[],
): (Operation & { verb: 'apply' }) | undefined => {
  const [found] = parts
  const wide = isHardened(
    mesh,
    observed.owned.kinds.flatMap(({ live = [] }) => live),
  )
    ? undefined
    : mesh.widened(parts)
  if (found === undefined || wide === undefined) return undefined
  const { name, namespace, labels, annotations } = wide.metadata
  const object = objectKey(found)
  return {
    id: idOf('widen', object),
    phase: 'prune',
    object,
    manager: managerOf(subject, found.kind),
    after: [],
    reason: 'the other objects of its target go',
    verb: 'apply',
    desired: {
      ...wide,
      metadata: { name, ...(namespace && { namespace }), labels, annotations } as typeof wide.metadata,
    },
    found,
  }
}
