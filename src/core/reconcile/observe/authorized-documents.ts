import type { Subject } from '../../../platform/base/subject.ts'
import { type AuthorizeAuthor, asAuthorsMay } from '../../access/document-authors.ts'
import type { Features } from '../../feature/combine.ts'
import { isAbout } from '../../relations/documents.ts'
import type { Surroundings } from './surroundings.ts'

/** Restricts the documents to those whose authors have permission. */
export const withAuthors = async (
  features: Pick<Features, 'effects' | 'uses'>,
  authorize: AuthorizeAuthor | undefined,
  subject: Subject,
  given: Surroundings,
): Promise<Surroundings> => {
  if (authorize === undefined) return given
  const { peers, documents } = given
  const { namespace, application } = subject
  const about = documents.found.filter((one) => isAbout(subject, one))
  const judged = await asAuthorsMay(features, authorize, namespace, about, application)
  const found = [...judged, ...documents.found.filter((one) => !isAbout(subject, one))]
  return { peers, documents: { ...documents, found } }
}
