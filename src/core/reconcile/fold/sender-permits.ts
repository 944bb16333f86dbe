import { ownValue } from '../../../platform/base/own-value.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import type { About } from '../../access/access-reviews.ts'
import { type AuthorizeAuthor, permitOfAuthor } from '../../access/document-authors.ts'
import { neededRights } from '../../access/needed-rights.ts'
import type { Features } from '../../feature/combine.ts'
import type { State } from '../../state/state.ts'
import type { Change } from '../change.ts'

/** The permissions for effects outside the application. They are checked for the sender of each change, and for the author of a deleted document. */
export type Permits = {
  /**
   * Throws Refused if the sender of a change may not ask for its effects. Notes open questions for `ask`. `hasSecrets` is set if the change
   * carries secret values.
   */
  check(change: Change, before: State, after: State, hasSecrets: boolean): void
  /** Asks the noted questions. Resolves with false if there were none. */
  ask(): Promise<boolean>
}

/** Creates the permissions of a step. Without `authorizeAuthor`, the deletion of any document counts. */
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
      // a secret value that is already stored changes nothing: its sender is asked about anyway, so that nobody can probe values
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

/** Leaves out the relations that the document held before. They end with it, whatever its author may do now. */
const withoutHeld = (document: string, before: State, state: State): State => ({
  ...state,
  relations: Object.fromEntries(
    Object.entries(state.relations).filter(([key]) => ownValue(before.relations, key)?.document !== document),
  ),
})
