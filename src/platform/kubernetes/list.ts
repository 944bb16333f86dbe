import type { Memo } from '../base/memo.ts'
import { apiVersionOf, isKind, type KubernetesObject, type ManagedFields } from './objects.ts'

/** Parses a page of a list; each item has its kind. While no item changes they are the same objects, whatever else is written meanwhile. */
export const parseList = (text: string, memo: Memo): KubernetesObject => {
  const split = splitMetadata(text)
  return split === undefined ? readList(text) : { ...memo(split.rest, readList), metadata: JSON.parse(split.metadata) }
}

/** A list's own metadata have its moment: they differ where no item does. They are first in lists of built-in kinds, last in those of custom resources. */
const FIRST = /^(\{"kind":"\w+","apiVersion":"[\w./]+"),"metadata":(\{[^{}]*\})(?=,"items":)/
const LAST = /^,"metadata":(\{[^{}]*\})\}\s*$/

/** Takes the metadata out of a list. Without braces in them nothing of an item, or within a string, passes for them. */
const splitMetadata = (text: string): { readonly rest: string; readonly metadata: string } | undefined => {
  const [first, head = '', own = ''] = FIRST.exec(text) ?? []
  if (first !== undefined) return { rest: head + text.slice(first.length), metadata: own }
  const end = text.lastIndexOf(',"metadata":{')
  const [last, metadata = ''] = LAST.exec(text.slice(end)) ?? []
  return last === undefined ? undefined : { rest: `${text.slice(0, end)}}`, metadata }
}

/** Objects share the field sets of their managers, which are the largest part of them, where they are equal. */
const readList = (text: string): KubernetesObject => {
  const list: KubernetesObject = JSON.parse(text)
  const kind = String(list?.kind).replace(/List$/, '')
  if (!isKind(kind) || !Array.isArray(list.items)) return list
  const sets: FieldSets = new Map()
  // items of a list carry neither kind nor apiVersion
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
