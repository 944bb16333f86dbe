import { Unavailable } from './errors.ts'

/** Bounds what is kept at a time by all who open an account of it. */
export type Budget = { open(): Account }

export type Account = {
  /** Counts so many more as kept. Throws Unavailable, 429, where that is too much beside what others keep. */
  keep(size: number): void
  /** Gives all of it back. */
  close(): void
}

/** Creates a budget of a size, of which one that needs more by itself may take all. */
export const createBudget = (most: number): Budget => {
  let kept = 0
  return {
    open: () => {
      let own = 0
      return {
        keep: (size) => {
          if (kept > own && kept + size > most) throw tooBusy()
          kept += size
          own += size
        },
        close: () => {
          kept -= own
          own = 0
        },
      }
    },
  }
}

const tooBusy = (): Unavailable =>
  new Unavailable('too much of what others say is being looked through here: the event fits in a moment', {
    status: 429,
    retryAfterSeconds: 1,
  })
