import { commonShape, membersOf, readable, stepTo } from './members.ts'

/** A place where two specs differ, and its values: undefined where absent. */
export type Difference = { readonly path: string; readonly before: unknown; readonly after: unknown }

/**
 * The places where two JSON values differ, regardless of the order of keys. Items of a list are matched by name where they have names.
 * Where members were both removed and added, or names were reordered, the map or list itself differs: a name generated at each run has no
 * path that would recur.
 */
export const differences = (before: unknown, after: unknown, path = ''): Difference[] => {
  const shape = commonShape(before, after)
  if (shape === undefined) return before === after ? [] : [{ path: readable(path), before, after }]
  const [left, right] = [membersOf(before, shape), membersOf(after, shape)]
  const gone = [...left.keys()].filter((key) => !right.has(key))
  const come = [...right.keys()].filter((key) => !left.has(key))
  const common = [...left.keys()].filter((key) => right.has(key))
  const isRenamed = gone.length > 0 && come.length > 0
  const commonAfter = [...right.keys()].filter((key) => left.has(key))
  const isReordered = shape === 'names' && !isSameOrder(common, commonAfter)
  const pathTo = (key: string) => path + stepTo(key, shape)
  const here =
    isRenamed || isReordered
      ? [{ path: readable(path), before, after }]
      : [...gone, ...come].map((key) => ({
          path: readable(pathTo(key)),
          before: left.get(key),
          after: right.get(key),
        }))
  return [...here, ...common.flatMap((key) => differences(left.get(key), right.get(key), pathTo(key)))]
}

const isSameOrder = (one: readonly string[], other: readonly string[]): boolean =>
  one.every((step, index) => step === other[index])
