/** Applies a pure function to an object once, and keeps the result while the object lives. Neither may be changed. */
export const perObject = <I extends object, T>(of: (input: I) => T): ((input: I) => T) => {
  const made = new WeakMap<I, { readonly value: T }>()
  return (input) => {
    const known = made.get(input) ?? { value: of(input) }
    made.set(input, known)
    return known.value
  }
}
