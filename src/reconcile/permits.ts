import { newEffects } from '../access/effects.ts'
import type { Subject } from '../base/subject.ts'
import type { Features } from '../feature/combine.ts'
import type { Effect } from '../feature/feature.ts'
import type { State } from '../state/state.ts'
import type { Change } from './remember.ts'

/** Permissions to ask for effects, for each change of its sender. */
export type Permits = {
  /** Throws Refused for a change that leads to effects which its sender may not ask for; notes what is not known yet. */
  check(change: Change, before: State, after: State): void
  /** Asks about what was noted. Answers false when that was nothing. */
  ask(): Promise<boolean>
}

export const createPermits = (features: Pick<Features, 'effects'>, subject: Subject): Permits => {
  const known = new Map<Change, Map<Effect, Error | undefined>>()
  const noted: { change: Change; effect: Effect }[] = []

  const checkOne = (change: Change, effect: Effect): void => {
    const refused = known.get(change)?.get(effect)
    if (refused) throw refused
    if (!known.get(change)?.has(effect)) noted.push({ change, effect })
  }
  const askOne = async ({ change, effect }: (typeof noted)[number]): Promise<void> => {
    const refused = await refusalOf(change, effect)
    known.set(change, (known.get(change) ?? new Map()).set(effect, refused))
  }
  return {
    check: (change, before, after) => {
      if (change.permit === undefined) return
      for (const effect of newEffects(features, subject, before, after)) checkOne(change, effect)
    },
    ask: async () => {
      const asked = noted.splice(0)
      await Promise.all(asked.map(askOne))
      return asked.length > 0
    },
  }
}

const refusalOf = async ({ permit }: Change, effect: Effect): Promise<Error | undefined> =>
  await permit?.(effect).then(
    () => undefined,
    (error: Error) => error,
  )
