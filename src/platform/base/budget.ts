import { Unavailable } from './errors.ts'

/** Limits the total of kept objects, or of running work, over all accounts. */
export type Budget = {
  /** Opens an account for an owner. Accounts of an unknown owner, '', count together. */
  open(owner?: string): Account
}

export type Account = {
  /** Adds to the account. Throws Unavailable, 429, if the total or the owner's share is exceeded. */
  keep(size: number): void
  /** Releases everything. */
  close(): void
}

/** The share that one owner may have of the free rest. Something is always left for the next owner. */
const SHARE = 3 / 4

/** The limit of one account, and the message beyond it. */
type Bound = { readonly most: number; readonly problem: string }

type Kept = { readonly size: number; readonly counted: number }

/**
 * Creates a budget of a size. An owner without anything may have one piece while any is free. An account may exceed its owner's share if it is the owner's
 * only one, and others have at most a quarter. It then counts as the share, so that others still have theirs. `busy` is the message if the budget is
 * exceeded. No account may exceed the `bound`, even if the rest is free.
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

/** Runs an action as one of those that a budget allows at a time. Rejects with Unavailable, 429, if too many run. */
export const within = async <T>(budget: Budget, owner: string, act: () => Promise<T>): Promise<T> => {
  const account = budget.open(owner)
  try {
    account.keep(1)
    return await act()
  } finally {
    account.close()
  }
}
