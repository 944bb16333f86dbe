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

/** The part that one owner has of what others leave free: however many take theirs, some is left for the next one. */
const SHARE = 3 / 4

/** The most of one account, and what to say beyond. */
type Bound = { readonly most: number; readonly problem: string }

type Kept = { readonly size: number; readonly counted: number }

/**
 * Creates a budget of a size. Who keeps nothing yet may keep one while any is free. An account that needs more than its owner's share may take it
 * where it is the only one of its owner, and others keep no more than a quarter: it counts as the share, and leaves others theirs. `busy` says
 * what is too much, as a sentence. No account may have more than the `bound`, however free the rest is.
 */
export const createBudget = (most: number, busy: string, bound?: Bound): Budget => {
  const kept = new Map<string, Kept>()
  const freeFor = (owner: string): number =>
    [...kept].reduce((free, [one, { counted }]) => (one === owner ? free : free - counted), most)
  return {
    open: (owner = '') => {
      let own = 0
      return {
        keep: (added) => {
          checkBound(own + added, bound)
          const { size: before } = kept.get(owner) ?? { size: 0 }
          const free = freeFor(owner)
          const share = owner === '' ? free : Math.max(free * SHARE, Math.min(free, 1))
          const isAlone = before === own && free >= most * SHARE
          const size = before + added
          if (size > share && !isAlone) throw new Unavailable(busy, { status: 429, retryAfterSeconds: 1 })
          kept.set(owner, { size, counted: Math.min(size, share) })
          own += added
        },
        close: () => {
          const { size, counted } = kept.get(owner) ?? { size: 0, counted: 0 }
          const left = size - own
          own = 0
          if (left > 0) kept.set(owner, { size: left, counted: Math.min(counted, left) })
          else kept.delete(owner)
        },
      }
    },
  }
}

const checkBound = (size: number, { most, problem }: Bound = { most: Number.POSITIVE_INFINITY, problem: '' }): void => {
  if (size > most) throw new Unavailable(problem, { status: 429, retryAfterSeconds: 1 })
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
