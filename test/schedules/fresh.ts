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

/** Both sides are told of a relation. */
const tellBoth = ({ fact }: Word): Told[] =>
  'relation' in fact ? sidesOf(fact.relation).map((side) => ({ ...fact, side })) : [fact]

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

/** What a cluster becomes that only the last words were told to, one after another, without faults. */
export const buildFresh = (kind: Kind, { relations, configs }: Truth): Promise<Snapshot> => {
  const [removals, told] = [true, false].map((isRemoval) =>
    inOrder(configs.filter(({ fact }) => (fact.kind === 'removed') === isRemoval)),
  )
  const facts = [...(told ?? []), ...(removals ?? []), ...inOrder(relations)].flatMap(tellBoth)
  const key = [kind.variant, kind.isRolling, ...facts.map(keyOf)].join('\n')
  const found = known.get(key) ?? build(kind, facts)
  known.set(key, found)
  return found
}
