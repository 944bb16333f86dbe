import { childrenOf, commonStructure, readable, stepTo } from './children.ts'

/** A place where two specs differ, and its values: undefined where absent. */
export type SpecDifference = { readonly path: string; readonly before: unknown; readonly after: unknown }

/** The place to count a change at: items of a list without names share one, as a list that grows has a new item each time. */
export const placeOf = ({ path }: Pick<SpecDifference, 'path'>): string => path.replaceAll(/\[\d+\]/g, '')

/**
 * The places where two JSON values differ, regardless of the order of keys. Items of a list are matched by name where they have names. A map or
 * list differs itself where children were both removed and added, or names were reordered: a name generated at each run has no path that
 * would recur.
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
