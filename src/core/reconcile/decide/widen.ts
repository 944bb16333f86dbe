import type { ObjectPlan } from '../../../platform/kubernetes/apply-objects.ts'
import { type KubernetesObject, objectKey } from '../../../platform/kubernetes/objects.ts'
import type { Mesh } from '../../feature/mesh.ts'
import { applyOf, idOf, type Operation, writeOf } from './operation.ts'
import { liveIn, type Situation } from './situation.ts'

/** An object as it is desired, and as it is found. */
export type Pair = ObjectPlan['apply'][number]

/** An apply of one object, or its widening before that. `needs` lists the operations of its target that come before. */
export type Draft = Pair & { readonly id: string; readonly needs: readonly string[] }

/** Names the target that an object guards. An object that is no policy counts as its own target. */
export const targetOf = ({ isPolicy, targetOf }: Mesh, object: KubernetesObject): string =>
  isPolicy(object) ? targetOf(object) : objectKey(object)

/**
 * Orders the applies of a target with several objects, so that no request is refused in between that is allowed before and after. New
 * objects are written before others are narrowed. If nothing guarded the target, the first object alone would refuse requests that the next
 * ones allow. So it allows the requests of all of them first, and is narrowed last.
 */
export const inParts = (mesh: Mesh, pairs: readonly Pair[], live: readonly KubernetesObject[]): Draft[] => {
  const guarded = new Set(live.map((object) => targetOf(mesh, object)))
  const isClosed = isHardened(mesh, live)
  return [...Map.groupBy(pairs, ({ desired }) => targetOf(mesh, desired))].flatMap(([target, same]) => {
    const parts = same.toSorted((one, other) => Number(one.live !== undefined) - Number(other.live !== undefined))
    const drafts = parts.map((pair) => ({ ...pair, id: applyOf(pair.desired), needs: [] }))
    const wide = isClosed || guarded.has(target) ? undefined : mesh.widened(parts.map(({ desired }) => desired))
    const [first, ...others] = drafts
    if (wide === undefined || first === undefined) return drafts
    const widening = { desired: wide, live: undefined, id: idOf('widen', objectKey(wide)), needs: [] }
    return [widening, ...[...others, first].map((draft) => ({ ...draft, needs: [widening.id] }))]
  })
}

/** Tells if the application's own live objects deny every request that no policy allows. */
export const isHardened = ({ isDenying, isForAll }: Mesh, live: readonly KubernetesObject[]): boolean =>
  live.some((object) => isDenying(object) && isForAll(object))

/**
 * Plans the end of a target with several objects. When one of them is removed, the rest would refuse the requests that it allowed. So one
 * object allows the requests of all first, and is removed last. Undefined if unmatched requests are denied anyway.
 */
export const widening = (
  situation: Situation,
  parts: readonly KubernetesObject[],
): (Operation & { verb: 'apply' }) | undefined => {
  const { mesh } = situation.features
  const [found] = parts
  const wide = isHardened(mesh, liveIn(situation)) ? undefined : mesh.widened(parts)
  if (found === undefined || wide === undefined) return undefined
  const { name, namespace, labels, annotations } = wide.metadata
  return {
    ...writeOf(situation.subject, 'widen', found),
    needs: [],
    reason: 'the other objects of its target go',
    verb: 'apply',
    desired: {
      ...wide,
      metadata: { name, ...(namespace && { namespace }), labels, annotations } as typeof wide.metadata,
    },
    found,
  }
}
