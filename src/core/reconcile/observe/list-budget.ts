import { type Budget, createBudget } from '../../../platform/base/budget.ts'

/** Parsed objects take about three times the memory of their text. At 128 MiB, this leaves half of the heap for the rest. */
const MOST_KEPT = 4 * 1024 * 1024

/**
 * The bound of a single look. It may exceed its share while other looks are small. Without a bound, objects planted for one application
 * could exhaust the memory of the process.
 */
const OF_ONE_LOOK = {
  most: 2 * MOST_KEPT,
  problem:
    'the memories, documents and objects that name this application exceed the limit of one search: delete those that are not needed',
}

/** Creates the budget for lists from the cluster, in characters. */
export const createListBudget = (): Budget =>
  createBudget(
    MOST_KEPT,
    'too many memories, documents and objects are being searched here: try again in a moment',
    OF_ONE_LOOK,
  )
