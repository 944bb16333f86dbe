import { pythonJson } from '../../../platform/base/python-json.ts'
import type { Version } from '../../state/config.ts'
import type { Databag } from '../../state/relation.ts'
import { DOCUMENT_KEY, documentIn, meaningOf, VERSIONS_KEY } from './protocol-version-1.ts'
import { type Agreement, negotiate } from './protocol-versions.ts'

/**
 * Encodes `content`, the flat keys of an interface, in each of the `local` versions. The result does not depend on the peer, so no key
 * vanishes when the peer changes.
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

/** The content of a databag and its version, or the reason why there is none. */
export type Payload = { data: Databag; version: Version } | Exclude<Agreement, { version: Version }>

/**
 * Decodes the application databag `remote` into the flat keys of its interface. In version 0 it is the databag itself. If the peer
 * announces version 1 without a document, its flat keys are read.
 */
export const decodePayload = (remote: Databag, local: readonly Version[]): Payload => {
  const agreement = negotiate(local, remote)
  if (!('version' in agreement)) return agreement
  const document = agreement.version === 0 ? { value: undefined } : documentIn(remote)
  if ('unreadable' in document) return document
  return { data: document.value === undefined ? remote : flatten(document.value), version: agreement.version }
}

/** Encodes strings as JSON, because a reader would parse the text of a number or an object. */
const flatten = (document: Record<string, unknown>): Databag =>
  Object.fromEntries(
    Object.entries(document).map(([key, value]) => [key, typeof value === 'string' ? JSON.stringify(value) : value]),
  )
