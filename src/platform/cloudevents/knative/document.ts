import * as z from 'zod'
import { Refused } from '../../base/errors.ts'
import { Application, Namespace } from '../../base/names.ts'
import { ownValue } from '../../base/own-value.ts'
import { readScalar, readText } from '../../base/structured-text.ts'
import type { Ignored, Resource, Translated } from './translation.ts'

/** Labels a ConfigMap that is a document: `relation` or `config`. */
export const DOCUMENT_LABEL = 'meshstep.dev/kind'

/** Selects the documents of a namespace. */
export const DOCUMENT_SELECTOR = `${DOCUMENT_LABEL} in (relation,config)`

/** A ConfigMap that is a document is a relation, or the config, of the application it names. Throws Refused for one that cannot be read. */
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

/** The writer of a document: a user, and those of their groups that they act with. */
export type Author = { readonly username: string; readonly groups: readonly string[] }

/** Annotates a document with its author, and with the groups of the author, separated by commas. */
export const AUTHOR = 'meshstep.dev/author'
export const AUTHOR_GROUPS = 'meshstep.dev/author-groups'

/** Bounds the groups of an author, and the characters of each: what is beyond grants nothing. The admission policy has the same number. */
export const MOST_GROUPS = 64
const LONGEST_GROUP = 256

/** The author that a document names. The API server lets nobody name another one, where it is told to. */
export const authorIn = ({ metadata: { annotations } }: Resource): Author | undefined => {
  const username = ownValue(annotations, AUTHOR)
  if (username === undefined || username === '') return undefined
  const named = new Set((ownValue(annotations, AUTHOR_GROUPS) ?? '').split(','))
  const groups = [...named].filter(({ length }) => length > 0 && length <= LONGEST_GROUP)
  return { username, groups: groups.slice(0, MOST_GROUPS) }
}

/** The application that a document names, whether or not the rest can be read. Throws Refused. */
export const applicationIn = (document: Resource): unknown => valueIn(document, 'application', readScalar)

/** Reads which relation it was, as far as that can be read: the last data of a deleted document may be unreadable. */
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

/** Bounds the YAML of one value in a document, in characters. */
const LONGEST_YAML = 64 * 1024

/** A value of a document, JSON or YAML. */
const valueIn = (document: Resource, key: string, read: typeof readText | typeof readScalar = readText): unknown => {
  const { namespace, name } = document.metadata
  const text = document.data?.[key]
  if (text === undefined) throw new Refused(400, `ConfigMap ${namespace}/${name}: data.${key} is missing`)
  const value = read(text, LONGEST_YAML)
  if ('unreadable' in value) throw new Refused(400, `ConfigMap ${namespace}/${name}: data.${key}: ${value.unreadable}`)
  return value.value
}
