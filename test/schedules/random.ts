/** A source of numbers that depend on its seed alone. */
export type Random = {
  /** At least 0, less than 1. */
  number(): number
  /** A whole number from 0 to `count - 1`. */
  below(count: number): number
  chance(probability: number): boolean
  pick<T>(items: readonly T[]): T
  shuffle<T>(items: readonly T[]): T[]
}

/** Mulberry32, https://gist.github.com/tommyettinger/46a874533244883189143505d203312c: fast, and good enough here. */
export const createRandom = (seed: number): Random => {
  let state = (seed ^ 0x9e3779b9) >>> 0
  const number = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (count: number) => Math.floor(number() * count)
  const pick = <T>(items: readonly T[]): T => {
    if (items.length === 0) throw new RangeError('nothing to pick from')
    return items[below(items.length)] as T
  }
  const shuffle = <T>(items: readonly T[]): T[] => {
    const left = [...items]
    return items.map(() => left.splice(below(left.length), 1)[0] as T)
  }
  return { number, below, chance: (probability) => number() < probability, pick, shuffle }
}
