import type { AuthorizeAuthor } from '../access/authorize.ts'
import { asItsAuthorMay } from '../access/authors.ts'
import type { Subject } from '../base/subject.ts'
import type { Features } from '../feature/combine.ts'
import type { Document } from '../relations/documents.ts'
import type { Found } from './look.ts'
import type { Change } from './remember.ts'

/**
 * Leaves of what was found what the authors of the documents may say. A document that an event tells of and that was not read counts as
 * unreadable: nobody knows whose word it is.
 */
export const asAuthorsMay = async (
  features: Pick<Features, 'effects'>,
  authorize: AuthorizeAuthor | undefined,
  subject: Subject,
  changes: readonly Change[],
  given: Found,
): Promise<Found> => {
  if (authorize === undefined) return given
  const { peers, documents } = given
  const { namespace, application } = subject
  const judged = documents.found.map((document) =>
    isAbout(application, document) ? asItsAuthorMay(features, authorize, namespace, document) : document,
  )
  const found = await Promise.all(judged)
  const isOwn = (name: string) => found.some((one) => one.name === name && one.application === application)
  const missing = changes.flatMap(({ look }) =>
    look?.document !== undefined && look.isTold && !isOwn(look.document) ? [look.document] : [],
  )
  const unread = [...new Set(missing)].map((name) => ({
    ...{ name, application },
    problem: `ConfigMap ${name} is not there, or names another application by now: what its event tells is not taken`,
  }))
  return { peers, documents: { ...documents, found: [...found, ...unread] } }
}

/** Tells if a document says anything of the application, which may be the other side of its relation. */
const isAbout = (application: string, document: Document): boolean =>
  document.application === application ||
  ('announced' in document && document.announced.remote.application === application)
