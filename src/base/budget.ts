import { Unavailable } from './errors.ts'

/** Bounds what is kept, or under way, at a time by all who open an account of it. */
export type Budget = {
  /** Opens an account for an owner. One that nobody can name, '', is not told apart from others. */
  open(owner?: string): Account
}

export type Account = {
  /** Counts so many more as kept. Throws Unavailable, 429, where that is too much beside what others keep, or for its owner. */
  keep(size: number): void
  /** Gives all of it back. */
  close(): void
}

/** The part that one owner has: a quarter is left for others. */
const SHARE = 3 / 4

/**
 * Creates a budget of a size. An account that needs more by itself may take it, and counts as its owner's share: it leaves others theirs.
 * `busy` says what is too much, as a sentence.
 */
export const createBudget = (most: number, busy: string): Budget => {
  const kept = new Map<string, number>()
  const shareOf = (owner: string): number => (owner === '' ? most : most * SHARE)
  const counted = (owner: string): number => Math.min(kept.get(owner) ?? 0, shareOf(owner))
  return {
    open: (owner = '') => {
      let own = 0
      return {
        keep: (size) => {
          const mine = kept.get(owner) ?? 0
          const others = [...kept.keys()].reduce((sum, one) => (one === owner ? sum : sum + counted(one)), 0)
          const isMuchForOwner = mine > own && mine + size > shareOf(owner)
          if (isMuchForOwner || others + Math.min(mine + size, shareOf(owner)) > most)
            throw new Unavailable(busy, { status: 429, retryAfterSeconds: 1 })
          kept.set(owner, mine + size)
          own += size
        },
        close: () => {
          const left = (kept.get(owner) ?? 0) - own
          own = 0
          if (left > 0) kept.set(owner, left)
          else kept.delete(owner)
        },
      }
    },
  }
}

/** Acts as one of those that a budget allows at a time. Rejects with Unavailable, 429, when there are as many. */
export const within = async <T>(budget: Budget, owner: string, act: () => Promise<T>): Promise<T> => {
  const account = budget.open(owner)
  try {
    account.keep(1)
    return await act()
  } finally {
    account.close()
  }
}
