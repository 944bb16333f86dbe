const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

/** Returns the length of a window, such as `1h`. */
export const secondsIn = (window: string): number =>
  Number(window.slice(0, -1)) * (SECONDS[window.slice(-1)] ?? Number.NaN)

/** Tells if `seconds` are the whole window. Its first sample is a little later than its beginning. */
export const isCovered = (window: string, seconds: number): boolean => seconds >= 0.95 * secondsIn(window)

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
