import { Refused } from '../base/errors.ts'
import type { Subject } from '../base/subject.ts'
import { AUTHOR } from '../cloudevents/knative/document.ts'
import type { Features } from '../feature/combine.ts'
import { type Document, STAYS } from '../relations/documents.ts'
import { emptyState } from '../state/state.ts'
import type { About, AuthorizeAuthor } from './authorize.ts'
import { newEffects } from './effects.ts'

/** Asks about each author and permission once, whatever was answered. */
export const askingOnce = (authorize: AuthorizeAuthor): AuthorizeAuthor => {
  const asked = new Map<string, Promise<void>>()
  return (author, about) => {
    const key = JSON.stringify([author, about])
    const answer = asked.get(key) ?? authorize(author, about)
    asked.set(key, answer)
    return answer
  }
}

/**
 * A document as it counts: one whose author may not ask for all that it says, or who is not named, is as one that cannot be read. Rejects
 * with Unavailable where the API server does not decide.
 */
export const asItsAuthorMay = async (
  features: Pick<Features, 'effects'>,
  authorize: AuthorizeAuthor,
  namespace: string,
  document: Document,
): Promise<Document> => {
  if ('problem' in document || document.application === undefined) return document
  const { name, application, author } = document
  const problem = author
    ? await refusalOf(
        rightsFor(features, { namespace, application }, document).map((about) => authorize(author, about)),
      )
    : `it names no author: annotate it with ${AUTHOR}, the name of who applies it (kubectl auth whoami), and apply it again`
  return problem === undefined
    ? document
    : { name, application, problem: `ConfigMap ${name}: ${problem}; ${STAYS}`, isForbidden: true }
}

/** Lists what the author of a document needs: as much as the sender of an event that says the same, and each effect of a config. */
const rightsFor = (features: Pick<Features, 'effects'>, subject: Subject, document: Document): About[] => {
  if ('config' in document) {
    const before = emptyState()
    const effects = newEffects(features, subject, before, { ...before, config: document.config })
    return [subject, ...effects.map((effect) => ({ ...subject, effect }))]
  }
  if (!('announced' in document)) return [subject]
  const { application, namespace } = document.announced.remote
  return [subject, ...(namespace === undefined ? [{ namespace: subject.namespace, application }] : [])]
}

const refusalOf = async (asked: readonly Promise<void>[]): Promise<string | undefined> => {
  const results = await Promise.allSettled(asked)
  const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  const failure = reasons.find((reason) => !(reason instanceof Refused))
  if (failure !== undefined) throw failure
  const [refused] = reasons
  return refused && `its author ${refused.message}, or let somebody apply it who may`
}
