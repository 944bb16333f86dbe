import type { About } from '../access/access-reviews.ts'
import { neededRights } from '../access/needed-rights.ts'
import type { Subject } from '../base/subject.ts'
import type { Features } from '../feature/combine.ts'
import type { State } from '../state/state.ts'
import type { Change } from './remember.ts'

/** Permissions to ask for what is beyond the application, for each change of its sender. */
export type Permits = {
  /** Throws Refused for a change that leads to what its sender may not ask for; notes what is not known yet. */
  check(change: Change, before: State, after: State): void
  /** Asks about what was noted. Answers false when that was nothing. */
  ask(): Promise<boolean>
}

export const createPermits = (features: Pick<Features, 'effects' | 'uses'>, subject: Subject): Permits => {
  const known = new Map<Change, Map<string, Error | undefined>>()
  const noted: { change: Change; about: About }[] = []

  return {
    check: (change, before, after) => {
      if (change.permit === undefined) return
      for (const about of neededRights(features, subject, before, after)) {
        const key = JSON.stringify(about)
        const refused = known.get(change)?.get(key)
        if (refused) throw refused
        if (!known.get(change)?.has(key)) noted.push({ change, about })
      }
    },
    ask: async () => {
      const asked = noted.splice(0)
      for (const { change, about } of asked) {
        const refused = await refusalOf(change, about)
        known.set(change, (known.get(change) ?? new Map()).set(JSON.stringify(about), refused))
      }
      return asked.length > 0
    },
  }
}

const refusalOf = async ({ permit }: Change, about: About): Promise<Error | undefined> =>
  await permit?.(about).then(
    () => undefined,
    (error: Error) => error,
  )
