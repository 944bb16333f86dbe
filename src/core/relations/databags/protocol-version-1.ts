import { isDeepStrictEqual } from 'node:util'
import { DEEPEST, isTooDeep } from '../../../platform/base/depth.ts'
import { isRecord, ownValue } from '../../../platform/base/own-value.ts'
import { printValue } from '../../../platform/base/printed.ts'
import { parseJson, readText } from '../../../platform/base/structured-text.ts'
import type { Databag } from '../../state/relation.ts'
import type { DatabagValue } from './databag.ts'

/** The key of the supported versions, as charms with serialized-data-interface write it. */
export const VERSIONS_KEY = '_supported_versions'

/** The key of the document of version 1, as these charms write it. */
export const DOCUMENT_KEY = 'data'

/** Reads the document of version 1: JSON, or YAML as serialized-data-interface writes it. Undefined if there is none. */
export const documentIn = (databag: Databag): DatabagValue<Record<string, unknown>> => {
  const raw = ownValue(databag, DOCUMENT_KEY)
  if (raw === undefined || raw === '') return { value: undefined }
  const read = typeof raw === 'string' ? readText(raw) : { value: raw }
  if ('unreadable' in read) return { unreadable: `${DOCUMENT_KEY}: ${read.unreadable}` }
  if (!isRecord(read.value)) return { unreadable: `${DOCUMENT_KEY}: expected an object, got ${printValue(read.value)}` }
  if (isTooDeep(read.value)) return { unreadable: `${DOCUMENT_KEY}: expected at most ${DEEPEST} levels` }
  return { value: read.value }
}

/** Parses a flat value: the object, list or string of its JSON, or else the text itself. A number stays text, like the ports in `k8s-service`. */
export const meaningOf = (text: string): unknown => {
  const value = parseJson(text)
  return typeof value === 'string' || (typeof value === 'object' && value !== null) ? value : text
}

/**
 * Tells if the flat keys contradict the document. A peer that supports both versions writes both at once. So an older program, which does
 * not know the document, has written the flat keys since.
 */
export const isLeftBehind = (document: Record<string, unknown>, databag: Databag): boolean => {
  const flat = Object.entries(databag).filter(([key]) => key !== DOCUMENT_KEY && !key.startsWith('_'))
  const meant = flat.map(([key, value]) => [key, typeof value === 'string' ? meaningOf(value) : value])
  return flat.length > 0 && !isDeepStrictEqual(Object.fromEntries(meant), document)
}
