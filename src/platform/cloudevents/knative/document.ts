import * as z from 'zod'
import { Refused } from '../../base/errors.ts'
import { Application, Namespace } from '../../base/names.ts'
import { ownValue } from '../../base/own-value.ts'
import { readScalar, readText } from '../../base/structured-text.ts'
import type { Ignored, Resource, Translated } from './translation.ts'

/** The label of a ConfigMap that is a document: `relation` or `config`. */
export const DOCUMENT_LABEL = 'meshstep.dev/kind'

/** Selects the documents of a namespace. */
export const DOCUMENT_SELECTOR = `${DOCUMENT_LABEL} in (relation,config)`

/** Translates a document to an event about its relation, or its config. Throws Refused for an unreadable document. */
export const fromDocument = (document: Resource, verb: string): Translated | Ignored => {
  const kind = document.metadata.labels?.[DOCUMENT_LABEL]
  const isGone = verb === 'delete'
  if (kind !== 'relation' && kind !== 'config')
    return {
      ignored: `ConfigMap ${document.metadata.name} is no document: its label ${DOCUMENT_LABEL} is neither relation nor config`,
    }
  const application = applicationIn(document)
  const { name } = document.metadata
  if (kind === 'config')
    return isGone
      ? { name: 'application-removed', data: { application, document: name } }
      : { name: 'config-changed', data: { application, document: name, config: valueIn(document, 'config') } }
  if (isGone) return { name: 'relation-broken', data: { application, document: name, ...relationNamedIn(document) } }
  const [relation, remote] = [valueIn(document, 'relation'), valueIn(document, 'remote')]
  return { name: 'relation-changed', data: { application, document: name, relation, remote } }
}

/** The writer of a document: a user, and the groups of the user that count. */
export type Author = { readonly username: string; readonly groups: readonly string[] }

/** The annotations with a document's author, and with the author's groups, separated by commas. */
export const AUTHOR = 'meshstep.dev/author'
export const AUTHOR_GROUPS = 'meshstep.dev/author-groups'

/** The limits of an author's groups and of their length. Groups beyond them grant nothing. The admission policy has the same number. */
export const MOST_GROUPS = 64
const LONGEST_GROUP = 256

/** Reads the author that a document names. With the admission policy, the API server refuses a document that names another author than its writer. */
export const authorIn = ({ metadata: { annotations } }: Resource): Author | undefined => {
  const username = ownValue(annotations, AUTHOR)
  if (username === undefined || username === '') return undefined
  const named = new Set((ownValue(annotations, AUTHOR_GROUPS) ?? '').split(','))
  const groups = [...named].filter(({ length }) => length > 0 && length <= LONGEST_GROUP)
  return { username, groups: groups.slice(0, MOST_GROUPS) }
}

/** Reads the application that a document names, even if the rest is unreadable. Throws Refused. */
export const applicationIn = (document: Resource): unknown => valueIn(document, 'application', readScalar)

/** Reads the identity of the relation as far as possible. The last data of a deleted document may be unreadable. */
const relationNamedIn = (document: Resource): { relation?: { id: number }; remote?: { application: string } } => {
  const read = <T>(key: string, schema: z.ZodType<T>): T | undefined => {
    try {
      return schema.parse(valueIn(document, key))
    } catch {
      return undefined
    }
  }
  const relation = read('relation', EndedRelation)
  const remote = read('remote', EndedRemote)
  return { ...(relation && { relation }), ...(remote && { remote }) }
}

const Name = z.string().min(1).max(253).optional().catch(undefined)

const EndedRelation = z.object({
  id: z.int().nonnegative(),
  ...{ endpoint: Name, interface: Name },
  role: z.enum(['provides', 'requires', 'peers']).optional().catch(undefined),
})

const EndedRemote = z.object({ application: Application, namespace: Namespace.optional() })

/** The limit of YAML in one value of a document, in characters. */
export const LONGEST_YAML = 64 * 1024

/** Reads a value of a document, as JSON or YAML. */
const valueIn = (document: Resource, key: string, read: typeof readText | typeof readScalar = readText): unknown => {
  const { namespace, name } = document.metadata
  const text = document.data?.[key]
  if (text === undefined) throw new Refused(400, `ConfigMap ${namespace}/${name}: data.${key} is missing`)
  const value = read(text, LONGEST_YAML)
  if ('unreadable' in value) throw new Refused(400, `ConfigMap ${namespace}/${name}: data.${key}: ${value.unreadable}`)
  return value.value
}
