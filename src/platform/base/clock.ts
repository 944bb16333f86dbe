import { setTimeout as sleep } from 'node:timers/promises'
import { createYieldTurn, type YieldTurn } from './yield-turn.ts'

/** Time and randomness as a dependency, so that tests can replace them. All times are in milliseconds, `now` since the epoch. */
export type Clock = {
  now(): number
  sleep(milliseconds: number): Promise<void>
  /** A random number, at least 0 and less than 1. */
  random(): number
  yieldTurn: YieldTurn
}

export const systemClock: Clock = {
  now: Date.now,
  sleep: async (milliseconds) => {
    await sleep(milliseconds)
  },
  random: Math.random,
  yieldTurn: createYieldTurn(),
}

export const DAY_MILLISECONDS = 24 * 60 * 60 * 1_000
