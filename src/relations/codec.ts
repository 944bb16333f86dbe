import { pythonJson } from '../base/python-json.ts'
import type { Version } from '../state/config.ts'
import type { Databag } from '../state/relation.ts'
import { DOCUMENT_KEY, documentIn, meaningOf, VERSIONS_KEY } from './version-1.ts'
import { type Agreement, negotiate } from './versions.ts'

/**
 * The application databag that says `content`, the flat keys of an interface as they are on its wire, to every side that speaks one of
 * the `local` versions. It does not depend on what the other side says, so nothing vanishes whichever way that side changes.
 */
export const publishable = (
  content: Readonly<Record<string, string>>,
  local: readonly Version[],
): Record<string, string> => {
  const document = Object.entries(content).map(([key, text]) => [key, meaningOf(text)])
  return {
    ...(local.includes(0) && content),
    ...(local.includes(1) && { [DOCUMENT_KEY]: pythonJson(Object.fromEntries(document)) }),
    [VERSIONS_KEY]: pythonJson(local.toSorted().map((version) => `v${version}`)),
  }
}

/** The content of a databag and the version it came in, or why there is none. */
export type Payload = { data: Databag; version: Version } | Exclude<Agreement, { version: Version }>

/**
 * What the application databag `remote` says, in the flat keys of its interface whatever its version. In version 0 it is the databag
 * itself. A side that has announced version 1 and no document yet says what its flat keys do.
 */
export const decodePayload = (remote: Databag, local: readonly Version[]): Payload => {
  const agreement = negotiate(local, remote)
  if (!('version' in agreement)) return agreement
  const document = agreement.version === 0 ? { value: undefined } : documentIn(remote)
  if ('unreadable' in document) return document
  return { data: document.value === undefined ? remote : flatten(document.value), version: agreement.version }
}

/** A string is written in JSON: what reads it would take the text of a number or an object for one. */
const flatten = (document: Record<string, unknown>): Databag =>
  Object.fromEntries(
    Object.entries(document).map(([key, value]) => [key, typeof value === 'string' ? JSON.stringify(value) : value]),
  )
