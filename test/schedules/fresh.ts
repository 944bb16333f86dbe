import type { Told } from './facts.ts'
import { sidesOf } from './fixture.ts'
import { type Plan, STILL } from './plan.ts'
import type { Word } from './platform.ts'
import { createPlatform } from './platform.ts'
import { createRandom } from './random.ts'
import { createSchedule } from './schedule.ts'
import { type Snapshot, takeSnapshot } from './snapshot.ts'
import type { Truth } from './truth.ts'
import { createWorld } from './world.ts'

/** The applications of a history, and how their pods are replaced. */
export type Kind = Pick<Plan, 'variant' | 'isRolling'>

const known = new Map<string, Promise<Snapshot>>()

/** Both sides are told of a relation, but for one that was removed, unless it was told since, or a document says so. */
const tellBoth = ({ fact, at }: Word, words: readonly Word[]): Told[] => {
  if (!('relation' in fact)) return [fact]
  if (fact.form === 'document') return sidesOf(fact.relation).map((side) => ({ ...fact, side }))
  const isRemoved = (side: string) =>
    words.some((word) => word.fact.kind === 'removed' && word.fact.side === side && word.at >= at)
  return sidesOf(fact.relation)
    .filter((side) => !isRemoved(side))
    .map((side) => ({ ...fact, side }))
}

const build = async ({ variant, isRolling }: Kind, facts: readonly Told[]): Promise<Snapshot> => {
  const world = createWorld(variant, { isRolling })
  const platform = createPlatform(world, { order: () => 'time', skew: () => 0 })
  const schedule = createSchedule(world, createRandom(0), { ...STILL, variant, isRolling, order: 'time' })
  for (const fact of facts) {
    platform.say({ ...fact, form: 'event' })
    await schedule.runCalmly()
  }
  return takeSnapshot(world)
}

const keyOf = (fact: Told): string =>
  'relation' in fact
    ? `${fact.relation.id} ${fact.relation.requirer.application} ${fact.side}`
    : `${fact.kind} ${fact.side} ${JSON.stringify('config' in fact ? fact.config : '')}`

const inOrder = (words: readonly Word[]): Word[] =>
  words.toSorted((one, other) => (keyOf(one.fact) < keyOf(other.fact) ? -1 : 1))

/** Tells if a side of the relation was removed after it was told by event: a word after the removal would bring the side back. */
const isBeforeRemoval = ({ fact, at }: Word, removals: readonly Word[]): boolean =>
  'relation' in fact &&
  fact.form === 'event' &&
  removals.some((word) => sidesOf(fact.relation).includes(word.fact.side) && word.at >= at)

/** What a cluster becomes that only the last words were told to, one after another, without faults. */
export const buildFresh = (kind: Kind, { relations, configs }: Truth): Promise<Snapshot> => {
  const removals = configs.filter(({ fact }) => fact.kind === 'removed')
  const [before, since] = [true, false].map((isBefore) =>
    inOrder(relations.filter((word) => isBeforeRemoval(word, removals) === isBefore)),
  )
  const told = inOrder(configs.filter(({ fact }) => fact.kind !== 'removed'))
  const words = [...told, ...(before ?? []), ...inOrder(removals), ...(since ?? [])]
  const facts = words.flatMap((word) => tellBoth(word, words))
  const key = [kind.variant, kind.isRolling, ...facts.map(keyOf)].join('\n')
  const found = known.get(key) ?? build(kind, facts)
  known.set(key, found)
  return found
}
