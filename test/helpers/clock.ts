import type { Clock } from '../../src/platform/base/clock.ts'

/** A clock that only sleeping moves. */
export const fakeClock = (
  start = Date.parse('2026-01-01T00:00:00Z'),
): Clock & { advance(milliseconds: number): void } => {
  let time = start
  return {
    now: () => time,
    sleep: async (milliseconds) => {
      time += milliseconds
    },
    random: () => 0.5,
    yieldTurn: async () => undefined,
    advance: (milliseconds) => {
      time += milliseconds
    },
  }
}
