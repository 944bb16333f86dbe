import { newEffects, newUses } from '../access/effects.ts'
import type { Subject } from '../base/subject.ts'
import type { Features } from '../feature/combine.ts'
import type { Asked } from '../feature/feature.ts'
import type { State } from '../state/state.ts'
import type { Change } from './remember.ts'

/** Permissions to ask for effects, for each change of its sender. */
export type Permits = {
  /** Throws Refused for a change that leads to what its sender may not ask for; notes what is not known yet. */
  check(change: Change, before: State, after: State): void
  /** Asks about what was noted. Answers false when that was nothing. */
  ask(): Promise<boolean>
}

export const createPermits = (features: Pick<Features, 'effects' | 'uses'>, subject: Subject): Permits => {
  const known = new Map<Change, Map<string, Error | undefined>>()
  const noted: { change: Change; asked: Asked }[] = []

  const checkOne = (change: Change, asked: Asked): void => {
    const key = JSON.stringify(asked)
    const refused = known.get(change)?.get(key)
    if (refused) throw refused
    if (!known.get(change)?.has(key)) noted.push({ change, asked })
  }
  const askOne = async ({ change, asked }: (typeof noted)[number]): Promise<void> => {
    const refused = await refusalOf(change, asked)
    known.set(change, (known.get(change) ?? new Map()).set(JSON.stringify(asked), refused))
  }
  return {
    check: (change, before, after) => {
      if (change.permit === undefined) return
      for (const effect of newEffects(features, subject, before, after)) checkOne(change, { effect })
      for (const use of newUses(features, subject, before, after)) checkOne(change, { use })
    },
    ask: async () => {
      const asked = noted.splice(0)
      await Promise.all(asked.map(askOne))
      return asked.length > 0
    },
  }
}

const refusalOf = async ({ permit }: Change, asked: Asked): Promise<Error | undefined> =>
  await permit?.(asked).then(
    () => undefined,
    (error: Error) => error,
  )
