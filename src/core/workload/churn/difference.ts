import { childrenOf, commonStructure, readable, stepTo } from './children.ts'

/** A place where two specs differ, with both values. A missing value is undefined. */
export type SpecDifference = { readonly path: string; readonly before: unknown; readonly after: unknown }

/** Returns the place that a change counts for. List items without names share one, because a growing list has a new item each time. */
export const placeOf = ({ path }: Pick<SpecDifference, 'path'>): string => path.replaceAll(/\[\d+\]/g, '')

/**
 * Lists the places where two JSON values differ, regardless of the order of keys. List items are matched by name if they have names. If
 * children were both removed and added, or names were reordered, the map or list itself counts as the place: a name generated at each run
 * has no path that would recur.
 */
export const differences = (before: unknown, after: unknown, path = ''): SpecDifference[] => {
  const structure = commonStructure(before, after)
  if (structure === undefined) return before === after ? [] : [{ path: readable(path), before, after }]
  const [left, right] = [childrenOf(before, structure), childrenOf(after, structure)]
  const gone = [...left.keys()].filter((key) => !right.has(key))
  const come = [...right.keys()].filter((key) => !left.has(key))
  const common = [...left.keys()].filter((key) => right.has(key))
  const isRenamed = gone.length > 0 && come.length > 0
  const commonAfter = [...right.keys()].filter((key) => left.has(key))
  const isReordered = structure === 'names' && !isSameOrder(common, commonAfter)
  const pathTo = (key: string) => path + stepTo(key, structure)
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
