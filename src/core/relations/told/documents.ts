import * as z from 'zod'
import { Refused } from '../../../platform/base/errors.ts'
import { describeIssues } from '../../../platform/base/issues.ts'
import { Application } from '../../../platform/base/names.ts'
import { suggestKeys } from '../../../platform/base/nearest-name.ts'
import { defined } from '../../../platform/base/own-value.ts'
import type { Subject } from '../../../platform/base/subject.ts'
import {
  type Author,
  applicationIn,
  authorIn,
  DOCUMENT_SELECTOR,
  fromDocument,
} from '../../../platform/cloudevents/knative/document.ts'
import { Resource } from '../../../platform/cloudevents/knative/translation.ts'
import type { Kubernetes } from '../../../platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import type { Config } from '../../state/config.ts'
import { RelationIdentity, Remote, withoutOwnNamespace } from '../../state/relation.ts'
import type { State } from '../../state/state.ts'
import { isBetween } from '../peer-entry.ts'
import type { AnnouncedRelation } from './entries.ts'

/** The relation or config in a ConfigMap document, or the reason why it cannot be read. */
export type Document = { readonly name: string; readonly application?: string } & (
  | (Authored & { readonly announced: AnnouncedRelation })
  | (Authored & { readonly config: Config })
  | { readonly problem: string; readonly isForbidden?: true }
)

type Authored = { readonly author?: Author | undefined }

const Named = z.object({ application: Application })
const Fields = z.strictObject({ application: Application, document: z.string() })
const RelationDocument = z.strictObject({ ...Fields.shape, relation: RelationIdentity, remote: Remote })

/** Builds the schema of a config document, once for the schema of its config. */
export const configDocument = (config: z.ZodType<Config>) => z.strictObject({ ...Fields.shape, config })

export type ConfigDocument = ReturnType<typeof configDocument>

/** Returns the name of a document, and its application if that can be read. */
export const titleOf = ({ name, application }: Document): Pick<Document, 'name' | 'application'> =>
  defined({ name, application })

/** Tells if a document is about the application. It may be the other side of the document's relation. */
export const isAbout = (subject: Subject, document: Document): boolean =>
  document.application === subject.application ||
  ('announced' in document && isBetween(document.announced, subject, subject))

/** Names the documents whose content an application remembers. If one becomes unreadable, its earlier content stays. */
export const rememberedDocuments = ({ document, relations }: Pick<State, 'document' | 'relations'>): Set<string> =>
  new Set([document, ...Object.values(relations).map((entry) => entry.document)].filter((name) => name !== undefined))

/** Lists the documents of a namespace. Of each page, only the kept documents stay in memory. */
export const listDocuments = async (
  kubernetes: Kubernetes,
  namespace: string,
  schema: ConfigDocument,
  isKept: (document: Document) => boolean = () => true,
): Promise<Document[]> => {
  const pages = await kubernetes.pages('ConfigMap', namespace, DOCUMENT_SELECTOR, async (objects) => {
    const kept: Document[] = []
    for (const object of objects) {
      await kubernetes.yieldTurn()
      const document = readDocument(object, schema)
      if (document === undefined || !isKept(document)) continue
      kubernetes.keep(sizeOf(object, document))
      kept.push(document)
    }
    return kept
  })
  return pages.flat()
}

/** Returns the size of a kept document, in characters. For an unreadable one, that is its name and its problem. */
const sizeOf = ({ data = {}, metadata: { annotations = {} } }: KubernetesObject, document: Document): number =>
  ('problem' in document
    ? [document.name, document.problem]
    : [...Object.values(data), ...Object.values(annotations)]
  ).reduce((sum, text) => sum + text.length, 0)

/** Reads the documents with these names, as far as they exist. */
export const findDocuments = async (
  kubernetes: Kubernetes,
  { namespace }: Subject,
  names: readonly string[],
  schema: ConfigDocument,
): Promise<Document[]> => {
  const found = await Promise.all(names.map((name) => kubernetes.find({ kind: 'ConfigMap', namespace, name })))
  return found.flatMap((object) => {
    const document = object && readDocument(object, schema)
    if (object && document) kubernetes.keep(sizeOf(object, document))
    return document ?? []
  })
}

/** Parses a document. Undefined for any other ConfigMap. */
export const readDocument = (object: KubernetesObject, schema: ConfigDocument): Document | undefined => {
  const { name, namespace = '' } = object.metadata
  try {
    const resource = Resource.parse(object)
    const translated = fromDocument(resource, 'update')
    if ('ignored' in translated) return undefined
    const { application } = Named.parse(translated.data)
    const author = authorIn(resource)
    if (translated.name === 'config-changed') {
      return parsed(name, application, schema, translated.data, ({ config }) => ({
        ...{ name, application, author, config },
      }))
    }
    return parsed(name, application, RelationDocument, translated.data, ({ relation, remote }) => ({
      ...{ name, application, author },
      announced: { ...relation, remote: withoutOwnNamespace(namespace, remote), document: name },
    }))
  } catch (error) {
    const named = applicationNamedIn(object)
    if (error instanceof Refused) return { name, ...named, problem: `${error.message}; ${STAYS}` }
    if (error instanceof z.ZodError) return { name, ...named, problem: problemIn(name, error) }
    throw error
  }
}

/** Reads the application of a document. Empty if it is unreadable. */
const applicationNamedIn = (object: KubernetesObject): { application?: string } => {
  try {
    return { application: Application.parse(applicationIn(Resource.parse(object))) }
  } catch {
    return {}
  }
}

const parsed = <T>(
  name: string,
  application: string,
  schema: z.ZodType<T>,
  data: unknown,
  documentOf: (value: T) => Document,
): Document => {
  const result = schema.safeParse(data, { error: suggestKeys })
  return result.success ? documentOf(result.data) : { name, application, problem: problemIn(name, result.error) }
}

const problemIn = (name: string, error: z.ZodError): string => `ConfigMap ${name}: ${describeIssues(error)}; ${STAYS}`

/** The end of each problem of a document. */
export const STAYS = 'the last readable data stays in effect'
