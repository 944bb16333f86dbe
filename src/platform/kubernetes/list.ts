import type { Memo } from '../base/memo.ts'
import { apiVersionOf, isKind, type KubernetesObject, type ManagedFields } from './objects.ts'

/** Parses a page of a list, and adds the kind to each item. If no item has changed, the items are the same objects as before, even after other writes. */
export const parseList = (text: string, memo: Memo): KubernetesObject => {
  const split = splitMetadata(text)
  return split === undefined ? readList(text) : { ...memo(split.rest, readList), metadata: JSON.parse(split.metadata) }
}

/** Patterns for a list's own metadata, which change even if no item does. They come first in lists of built-in kinds, and last for custom resources. */
const FIRST = /^(\{"kind":"\w+","apiVersion":"[\w./]+"),"metadata":(\{[^{}]*\})(?=,"items":)/
const LAST = /^,"metadata":(\{[^{}]*\})\}\s*$/

/** Splits off the metadata of a list. They have no braces inside, so no part of an item or a string matches. */
const splitMetadata = (text: string): { readonly rest: string; readonly metadata: string } | undefined => {
  const [first, head = '', own = ''] = FIRST.exec(text) ?? []
  if (first !== undefined) return { rest: head + text.slice(first.length), metadata: own }
  const end = text.lastIndexOf(',"metadata":{')
  const [last, metadata = ''] = LAST.exec(text.slice(end)) ?? []
  return last === undefined ? undefined : { rest: `${text.slice(0, end)}}`, metadata }
}

/** Parses a list. Objects share equal field sets of their managers, which are their largest part. */
const readList = (text: string): KubernetesObject => {
  const list: KubernetesObject = JSON.parse(text)
  const kind = String(list?.kind).replace(/List$/, '')
  if (!isKind(kind) || !Array.isArray(list.items)) return list
  const sets: FieldSets = new Map()
  // items of a list have neither kind nor apiVersion
  const own = { apiVersion: apiVersionOf(kind), kind }
  return { ...list, items: list.items.map((item: KubernetesObject) => ({ ...withShared(item, sets), ...own })) }
}

type FieldSets = Map<string, ManagedFields['fieldsV1']>

const withShared = (item: KubernetesObject, sets: FieldSets): KubernetesObject => {
  const { managedFields } = item.metadata
  return managedFields === undefined
    ? item
    : { ...item, metadata: { ...item.metadata, managedFields: managedFields.map((entry) => shared(entry, sets)) } }
}

const shared = (entry: ManagedFields, sets: FieldSets): ManagedFields => {
  const key = JSON.stringify(entry.fieldsV1)
  const known = sets.get(key)
  if (known === undefined) {
    sets.set(key, entry.fieldsV1)
    return entry
  }
  return { ...entry, fieldsV1: known }
}
