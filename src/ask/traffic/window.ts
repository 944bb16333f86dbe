import * as z from 'zod'

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }
/** Below a minute there are too few samples. Prometheus keeps 15 days by default, and the window before is read as well. */
const [SHORTEST, LONGEST] = [60, 7 * 86_400]

/** Returns the length of a window, such as `1h`. */
export const secondsIn = (window: string): number =>
  Number(window.slice(0, -1)) * (SECONDS[window.slice(-1)] ?? Number.NaN)

/** The time to look back, from `1m` to `7d`. */
export const Window = z
  .string()
  .regex(/^\d{1,6}[smhd]$/, 'expected a number with s, m, h or d, such as 1h')
  .refine((text) => secondsIn(text) >= SHORTEST && secondsIn(text) <= LONGEST, 'expected from 1m to 7d')

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

/** Writes a time for people, in whole units of the largest that fits twice: `7 days`, `36 hours`, `1 minute`. */
export const timeText = (seconds: number): string => {
  const [unit, length] = UNITS.find(([, one]) => seconds >= 2 * one || seconds === one) ?? UNITS[3]
  const count = Math.floor(seconds / length)
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}
