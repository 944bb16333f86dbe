import type { Subject } from '../../../platform/base/subject.ts'
import { type AuthorizeAuthor, asAuthorsMay } from '../../access/document-authors.ts'
import type { Features } from '../../feature/combine.ts'
import { isAbout } from '../../relations/told/documents.ts'
import type { Change } from '../change.ts'
import type { Surroundings } from './surroundings.ts'

/**
 * Restricts the documents to those whose authors have permission. If an event announces a document that was not read, it counts as
 * unreadable, because its author is unknown. One that is known to be gone says nothing.
 */
export const withAuthors = async (
  features: Pick<Features, 'effects' | 'uses'>,
  authorize: AuthorizeAuthor | undefined,
  subject: Subject,
  changes: readonly Change[],
  given: Surroundings,
): Promise<Surroundings> => {
  if (authorize === undefined) return given
  const { peers, documents } = given
  const { namespace, application } = subject
  const about = documents.found.filter((one) => isAbout(subject, one))
  const judged = await asAuthorsMay(features, authorize, namespace, about, application)
  const found = [...judged, ...documents.found.filter((one) => !isAbout(subject, one))]
  const isOwn = (name: string) => found.some((one) => one.name === name && one.application === application)
  const looks = changes.flatMap(({ look }) => look ?? [])
  const isGone = (name: string) =>
    looks.some(({ document, isTold, isResync }) => !isTold && (document === name || isResync))
  const missing = looks.flatMap(({ document, isTold }) =>
    document !== undefined && isTold && !isOwn(document) && !isGone(document) ? [document] : [],
  )
  const unread = [...new Set(missing)].map((name) => ({
    ...{ name, application },
    problem: `ConfigMap ${name} does not exist, or names another application by now: its event has no effect`,
  }))
  return { peers, documents: { ...documents, found: [...found, ...unread], areAuthored: true } }
}
