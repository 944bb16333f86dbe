import { commonShape, membersOf, readable, stepTo } from './members.ts'

/** A place where two specs differ, and what each has there: undefined where it has nothing. */
export type Difference = { readonly path: string; readonly before: unknown; readonly after: unknown }

/**
 * Where two values of JSON differ: nowhere when they are the same but for the order of keys. Items of a list go by their names where they
 * have some. Where some members went and others came, or names came in another order, the map or list itself differs: a name that is
 * made up at each run has no path of its own that would come again.
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
