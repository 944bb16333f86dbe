import type { Clock } from '../../platform/base/clock.ts'
import { Refused, Unavailable } from '../../platform/base/errors.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { AUTHOR, type Author } from '../../platform/cloudevents/knative/document.ts'
import type { Kubernetes } from '../../platform/kubernetes/client.ts'
import type { Features } from '../feature/combine.ts'
import { type Document, listDocuments, STAYS, titleOf } from '../relations/told/documents.ts'
import { type About, type AccessReviews, createAccessReviews } from './access-reviews.ts'
import { NOTHING_SAID, neededRights, type Said } from './needed-rights.ts'

/** Rejects with Refused, 403, unless the author of a document may ask for its content. */
export type AuthorizeAuthor = (author: Author, about: About) => Promise<void>

/** The time that a step waits for a decision. After that, its event is sent again. */
const TIMEOUT_MILLISECONDS = 5_000

/** Creates the permissions of authors, by their names and groups, like those of senders. */
export const createAuthorizeAuthor =
  ({
    connect,
    clock,
    reviews = createAccessReviews(clock),
  }: {
    connect(deadline: number): Kubernetes
    clock: Clock
    reviews?: AccessReviews
  }): AuthorizeAuthor =>
  (author, about) =>
    reviews.authorize(connect(clock.now() + TIMEOUT_MILLISECONDS), author, about)

/**
 * Replaces documents without permission by unreadable ones: those whose author may not ask for all of the content, or is not named. If the
 * API server cannot decide, a document of another application than `own` counts as unreadable too, and its own event will wait. For other
 * documents, this rejects with Unavailable. Authors are checked one after another, because there may be many documents, and each permission
 * once. An answer holds only for this call.
 */
export const asAuthorsMay = async (
  features: Pick<Features, 'effects' | 'uses'>,
  authorize: AuthorizeAuthor | undefined,
  namespace: string,
  documents: readonly Document[],
  own?: string,
): Promise<Document[]> => {
  if (authorize === undefined) return [...documents]
  const ask = askingOnce(authorize)
  const judged: Document[] = []
  for (const document of documents)
    judged.push(
      await asItsAuthorMay(features, ask, namespace, document).catch((error: unknown) => {
        if (!(error instanceof Unavailable) || own === undefined || document.application === own) throw error
        return { ...titleOf(document), problem: `ConfigMap ${document.name}: ${error.message}; ${STAYS}` }
      }),
    )
  return judged
}

/** A document that is not in effect, with the reason. */
export type RefusedDocument = { readonly name: string; readonly application?: string; readonly problem: string }

/** Lists the documents of a namespace, or of one application, that cannot be read, or whose authors may not ask for their content. */
export const refusedDocuments = async (
  features: Pick<Features, 'configDocument' | 'effects' | 'uses'>,
  kubernetes: Kubernetes,
  authorize: AuthorizeAuthor | undefined,
  namespace: string,
  application?: string,
): Promise<RefusedDocument[]> => {
  const isAsked = (document: Document) => application === undefined || document.application === application
  const documents = await listDocuments(kubernetes, namespace, features.configDocument, isAsked)
  const judged = await asAuthorsMay(features, authorize, namespace, documents)
  return judged.flatMap((document) => ('problem' in document ? [document] : []))
}

/**
 * Creates the permission for a deleted document's end, as far as it exceeds its own content. Rejects with Refused, 403, if its author may
 * not ask for that, or is not named.
 */
export const permitOfAuthor =
  (authorize: AuthorizeAuthor, document: string, author: Author | undefined) =>
  async (about: About): Promise<void> => {
    const problem = author ? await refusalOf([about], (one) => authorize(author, one)) : NO_AUTHOR
    if (problem !== undefined)
      throw new Refused(
        403,
        `ConfigMap ${document} was deleted, and ends only the relations that it declared: ${problem}`,
      )
  }

const askingOnce = (authorize: AuthorizeAuthor): AuthorizeAuthor => {
  const asked = new Map<string, Promise<void>>()
  return (author, about) => {
    const key = JSON.stringify([author, about])
    const answer = asked.get(key) ?? authorize(author, about)
    asked.set(key, answer)
    return answer
  }
}

const asItsAuthorMay = async (
  features: Pick<Features, 'effects' | 'uses'>,
  authorize: AuthorizeAuthor,
  namespace: string,
  document: Document,
): Promise<Document> => {
  if ('problem' in document || document.application === undefined) return document
  const { name, application, author } = document
  const subject = { namespace, application }
  const problem = author
    ? await refusalOf(rightsFor(features, subject, document), (about) => authorize(author, about))
    : NO_AUTHOR
  return problem === undefined
    ? document
    : { name, application, problem: `ConfigMap ${name}: ${problem}; ${STAYS}`, isForbidden: true }
}

const NO_AUTHOR = `it names no author: annotate it with ${AUTHOR} and the name of the user that applies it (kubectl auth whoami), and apply it again`

/** Lists the rights that the author of a document needs: those of a sender whose event newly says all of it. */
const rightsFor = (features: Pick<Features, 'effects' | 'uses'>, subject: Subject, document: Document): About[] => [
  subject,
  ...neededRights(features, subject, NOTHING_SAID, saidBy(document)),
]

const saidBy = (document: Document): Said => {
  if ('config' in document) return { ...NOTHING_SAID, config: document.config }
  return 'announced' in document ? { relations: { [document.name]: document.announced } } : NOTHING_SAID
}

const refusalOf = async (
  asked: readonly About[],
  authorize: (about: About) => Promise<void>,
): Promise<string | undefined> => {
  try {
    for (const about of asked) await authorize(about)
    return undefined
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return `its author ${error.message}, or let a user with that permission apply it`
  }
}
