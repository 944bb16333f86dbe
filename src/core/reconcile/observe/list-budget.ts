import { type Budget, createBudget } from '../../../platform/base/budget.ts'

/** Objects that are read from a text take about three times as much: at 128 MiB that leaves half of the heap for the rest. */
const MOST_KEPT = 4 * 1024 * 1024

/** The bound of one look, which may have more than its share where others have little: what anybody plants for one application may be without end. */
const OF_ONE_LOOK = {
  most: 2 * MOST_KEPT,
  problem:
    'what others say of this application, and the objects that are said to be its own, are more than is looked through: delete what is not needed',
}

/** Creates the budget of what looks at the cluster keep of lists, in characters. */
export const createListBudget = (): Budget =>
  createBudget(MOST_KEPT, 'too much of what others say is being looked through here: it fits in a moment', OF_ONE_LOOK)
