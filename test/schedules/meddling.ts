import { DEEDS } from './hands.ts'
import type { Plan } from './plan.ts'
import type { Random } from './random.ts'

/** What people do in a history beside what the platform tells. */
export type Meddling = 'hands'

/** What a survey calls each. */
export const MEDDLING_TRAITS: Readonly<Record<Meddling, string>> = {
  hands: 'hands on objects',
}

const CHANCE = 0.12

/** Adds what people do at any moment of the race. It is drawn apart, so that all other histories stay as they were. */
export const withMeddling = (random: Random, plan: Plan): Plan => {
  if (!random.chance(CHANCE)) return plan
  const [told, raced] = [plan.facts.slice(0, plan.calm), [...plan.facts.slice(plan.calm)]]
  for (let count = 1 + random.below(2); count > 0; count -= 1) {
    const hand = { does: random.pick(DEEDS), nth: random.below(1_000) }
    raced.splice(random.below(raced.length + 1), 0, { kind: 'hand', side: '', hand })
  }
  return { ...plan, facts: [...told, ...raced], meddling: new Set(['hands']) }
}
