/** Applies a pure function to an object once, and keeps the result while the object lives. Neither may be changed. */
export const perObject = <I extends object, T>(of: (input: I) => T): ((input: I) => T) => {
  const made = new WeakMap<I, { readonly value: T }>()
  return (input) => {
    const known = made.get(input)
    if (known) return known.value
    const value = of(input)
    made.set(input, { value })
    return value
  }
}

type Level = { readonly next: WeakMap<object, Level>; made?: { readonly value: unknown } }

const createLevel = (): Level => ({ next: new WeakMap() })

/** Applies a pure function to the same objects once, and keeps the result while they live. None may be changed. */
export const perObjects = <I extends readonly object[], T>(of: (...inputs: I) => T): ((...inputs: I) => T) => {
  const top = createLevel()
  return (...inputs) => {
    let level = top
    for (const input of inputs) {
      const next: Level = level.next.get(input) ?? createLevel()
      if (!level.next.has(input)) level.next.set(input, next)
      level = next
    }
    level.made ??= { value: of(...inputs) }
    return level.made.value as T
  }
}
