import { Refused } from '../../platform/base/errors.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import { AUTHOR, AUTHOR_GROUPS, type Author, DOCUMENT_LABEL } from '../../platform/cloudevents/knative/document.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'

/**
 * Treats documents as written by the asker. A document without an author gets the asker as its author, with a message. Throws Refused, 403, for a document
 * with another author, or with a group that the asker is not in, as the API server would refuse it.
 */
export const authoredBy = (
  author: Author,
  objects: readonly KubernetesObject[],
): { objects: KubernetesObject[]; messages: string[] } => {
  const unnamed = objects.filter((object) => isDocument(object) && namedIn(object) === undefined)
  const foreign = objects.find(
    (object) => isDocument(object) && ![undefined, author.username].includes(namedIn(object)),
  )
  if (foreign)
    throw new Refused(
      403,
      `ConfigMap ${foreign.metadata.name} names ${namedIn(foreign)} as its author, and you are ${author.username}: annotate it with ${AUTHOR}: ${author.username}`,
    )
  for (const object of objects.filter((one) => isDocument(one) && !unnamed.includes(one))) {
    const group = groupsIn(object).find((one) => !author.groups.includes(one))
    if (group !== undefined)
      throw new Refused(
        403,
        `ConfigMap ${object.metadata.name} names the group ${group} in ${AUTHOR_GROUPS}, and you are not in it: name groups of ${author.username}`,
      )
  }
  const names = unnamed.map(({ metadata }) => metadata.name).join(', ')
  return {
    objects: objects.map((object) => (unnamed.includes(object) ? withAuthor(object, author) : object)),
    messages:
      names === ''
        ? []
        : [
            `${names}: planned as yours. Unless the cluster adds the author, annotate with ${AUTHOR}: ${author.username}`,
          ],
  }
}

const isDocument = ({ kind, metadata: { labels } }: KubernetesObject): boolean =>
  kind === 'ConfigMap' && ['relation', 'config'].includes(ownValue(labels, DOCUMENT_LABEL) ?? '')

const namedIn = ({ metadata: { annotations } }: KubernetesObject): string | undefined => ownValue(annotations, AUTHOR)

const groupsIn = ({ metadata: { annotations } }: KubernetesObject): string[] =>
  (ownValue(annotations, AUTHOR_GROUPS) ?? '').split(',').filter((group) => group !== '')

const withAuthor = (object: KubernetesObject, { username, groups }: Author): KubernetesObject => {
  const annotations = { ...object.metadata.annotations, [AUTHOR]: username, [AUTHOR_GROUPS]: groups.join(',') }
  return { ...object, metadata: { ...object.metadata, annotations } }
}
