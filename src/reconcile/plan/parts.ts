import { attachmentKey, isForAll } from '../../istio/attachment.ts'
import { type AuthorizationPolicySpec, isDenying, type Rule } from '../../istio/authorization-policy.ts'
import { widened } from '../../istio/parts.ts'
import { keyOf, type ObjectPlan } from '../../kubernetes/apply-objects.ts'
import type { KubernetesObject } from '../../kubernetes/objects.ts'
import { idOf } from './operation.ts'

type Pair = ObjectPlan['apply'][number]

/** An apply of one object, or the step before it; `after` are those of its target that it depends on. */
export type Draft = Pair & { readonly id: string; readonly after: readonly string[] }

/** Says what guards a target: an object that is no policy is on its own. */
export const targetOf = (object: KubernetesObject): string =>
  object.kind === 'AuthorizationPolicy' ? attachmentKey(object) : keyOf(object)

/**
 * The order in which a target in several objects is applied: nobody is refused in between who may before and after. New parts stand before
 * others are narrowed. Where nothing guarded the target, the first one would refuse whom the next ones let in: so it lets in
 * all of them first, and is narrowed last.
 */
export const inParts = (pairs: readonly Pair[], live: readonly KubernetesObject[]): Draft[] => {
  const guarded = new Set(live.map(targetOf))
  const isClosed = isHardened(live)
  return [...Map.groupBy(pairs, ({ desired }) => targetOf(desired))].flatMap(([target, same]) => {
    const parts = same.toSorted((one, other) => Number(one.live !== undefined) - Number(other.live !== undefined))
    const drafts = parts.map((pair) => ({ ...pair, id: idOf('apply', keyOf(pair.desired)), after: [] }))
    const wide = isClosed || guarded.has(target) ? undefined : widenedPart(parts.map(({ desired }) => desired))
    const [first, ...others] = drafts
    if (wide === undefined || first === undefined) return drafts
    const widening = { desired: wide, live: undefined, id: idOf('widen', keyOf(wide)), after: [] }
    return [widening, ...[...others, first].map((draft) => ({ ...draft, after: [widening.id] }))]
  })
}

/** Whether all is denied that no policy allows, as far as the application's own objects say. */
export const isHardened = (live: readonly KubernetesObject[]): boolean =>
  live.some((object) => isDenying(object) && isForAll(object))

/** The first of several parts, letting in whom they let in together; undefined for a single one. */
export const widenedPart = (parts: readonly KubernetesObject[]): KubernetesObject | undefined => {
  const [first] = parts
  const allowing = parts.filter((object) => object.kind === 'AuthorizationPolicy' && !isDenying(object))
  const rules = allowing.length > 1 ? widened(allowing.flatMap(rulesOf)) : undefined
  return first && rules && { ...first, spec: { ...first.spec, rules } }
}

const rulesOf = ({ spec }: KubernetesObject): readonly Rule[] => (spec as AuthorizationPolicySpec).rules ?? []
