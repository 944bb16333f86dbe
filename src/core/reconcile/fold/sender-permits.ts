import { ownValue } from '../../../platform/base/own-value.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import type { About } from '../../access/access-reviews.ts'
import { type AuthorizeAuthor, permitOfAuthor } from '../../access/document-authors.ts'
import { neededRights } from '../../access/needed-rights.ts'
import type { Features } from '../../feature/combine.ts'
import type { State } from '../../state/state.ts'
import type { Change } from '../change.ts'

/** Permissions to ask for what is beyond the application, for each change of its sender, and of the author of a deleted document. */
export type Permits = {
  /** Throws Refused for a change that leads to what its sender may not ask for; notes what is not known yet; `hasSecrets` where it tells secret values. */
  check(change: Change, before: State, after: State, hasSecrets: boolean): void
  /** Asks about what was noted. Answers false when that was nothing. */
  ask(): Promise<boolean>
}

/** Without `authorizeAuthor` a document that is deleted counts, whoever wrote it. */
export const createPermits = (
  features: Pick<Features, 'effects' | 'uses'>,
  subject: Subject,
  authorizeAuthor?: AuthorizeAuthor | undefined,
): Permits => {
  const known = new Map<Change, Map<string, Error | undefined>>()
  const noted: { change: Change; key: string; ask: () => Promise<void> }[] = []

  const require = (change: Change, by: string, permit: Permit, rights: readonly About[]): void => {
    for (const about of rights) {
      const key = JSON.stringify([by, about])
      const refused = known.get(change)?.get(key)
      if (refused) throw refused
      if (!known.get(change)?.has(key)) noted.push({ change, key, ask: () => permit(about) })
    }
  }

  return {
    check: (change, before, after, hasSecrets) => {
      const { permit, gone, look: { document = '' } = {} } = change
      // a value that is kept already changes nothing: whoever tells secrets is asked about all the same, and so cannot try any
      const isTelling = hasSecrets && (before.config !== after.config || before.pending !== after.pending)
      const told: About[] = isTelling ? [{ ...subject, effect: 'workload' }] : []
      if (permit) require(change, 'sender', permit, [...told, ...neededRights(features, subject, before, after)])
      if (gone === undefined || authorizeAuthor === undefined) return
      const held = (state: State) => withoutHeld(document, before, state)
      const rights = neededRights(features, subject, held(before), held(after))
      require(change, 'author', permitOfAuthor(authorizeAuthor, document, gone.author), rights)
    },
    ask: async () => {
      const asked = noted.splice(0)
      for (const { change, key, ask } of asked) {
        const refused = await ask().then(
          () => undefined,
          (error: Error) => error,
        )
        known.set(change, (known.get(change) ?? new Map()).set(key, refused))
      }
      return asked.length > 0
    },
  }
}

type Permit = (about: About) => Promise<void>

/** Without the relations that a document held before, which are over with it, whatever its author may by now. */
const withoutHeld = (document: string, before: State, state: State): State => ({
  ...state,
  relations: Object.fromEntries(
    Object.entries(state.relations).filter(([key]) => ownValue(before.relations, key)?.document !== document),
  ),
})
