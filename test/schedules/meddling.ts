import type { Fact } from './facts.ts'
import { DEEDS } from './hands.ts'
import { type Plan, sidesOfPlan } from './plan.ts'
import type { Random } from './random.ts'

/** What people do in a history beside what the platform tells. */
export type Meddling = 'hands' | 'restored'

/** What a survey calls each. */
export const MEDDLING_TRAITS: Readonly<Record<Meddling, string>> = {
  hands: 'hands on objects',
  restored: 'memory restored from a backup',
}

const CHANCES: Readonly<Record<Meddling, number>> = { hands: 0.12, restored: 0.08 }

/** Adds what people do at any moment of the race. It is drawn apart, so that all other histories stay as they were. */
export const withMeddling = (random: Random, plan: Plan): Plan => {
  if (random.chance(CHANCES.hands)) return adding(random, plan, 'hands')
  // no rule mends what a memory lost where nothing says which word is the later one
  return plan.order !== 'none' && random.chance(CHANCES.restored) ? adding(random, plan, 'restored') : plan
}

const adding = (random: Random, plan: Plan, meddling: Meddling): Plan => {
  const [told, raced] = [plan.facts.slice(0, plan.calm), [...plan.facts.slice(plan.calm)]]
  for (let count = 1 + random.below(2); count > 0; count -= 1)
    raced.splice(random.below(raced.length + 1), 0, FACTS[meddling](random, plan))
  return { ...plan, facts: [...told, ...raced], meddling: new Set([meddling]) }
}

const FACTS: Readonly<Record<Meddling, (random: Random, plan: Plan) => Fact>> = {
  hands: (random) => ({ kind: 'hand', side: '', hand: { does: random.pick(DEEDS), nth: random.below(1_000) } }),
  restored: (random, plan) => ({ kind: 'restored', side: random.pick(sidesOfPlan(plan)), nth: random.below(1_000) }),
}
