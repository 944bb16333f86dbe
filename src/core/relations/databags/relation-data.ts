import { ownValue } from '../../../platform/base/own-value.ts'
import { printValue } from '../../../platform/base/printed.ts'
import { pythonJson } from '../../../platform/base/python-json.ts'
import { jsonOrText } from '../../../platform/base/structured-text.ts'
import type { Interface, Version, Versions } from '../../state/config.ts'
import { INTERFACES } from '../../state/interfaces.ts'
import type { Databag } from '../../state/relation.ts'
import {
  type Agreement,
  DOCUMENT_KEY,
  documentIn,
  meaningOf,
  negotiate,
  spokenVersions,
  VERSIONS_KEY,
} from './protocol-versions.ts'

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

/** The data of a relation in the flat keys of its interface, or the reason why they are unknown. */
export type RelationData = { data: Databag } | { incompatible: string } | { unreadable: string }

/**
 * Merges the data of a relation. Published data take precedence over the platform's. If a requirer has never published policies, the
 * platform's count, because another program may request them.
 */
export const readData = (
  name: string,
  platform: Databag,
  published: Databag | undefined,
  versions: Versions = {},
): RelationData => {
  const data = { ...platform, ...published }
  const read = isVersioned(name)
    ? withReadableOffer(name, decodePayload(data, spokenVersions(name, versions)))
    : { data }
  if (!('data' in read) || !published || Object.hasOwn(published, 'policies') || !Object.hasOwn(platform, 'policies'))
    return read
  return { data: { ...read.data, policies: platform.policies } }
}

/** Tells an offer of another version apart. A program that offers what an earlier one could not read raises the version. */
const withReadableOffer = (name: Interface, read: RelationData): RelationData => {
  const { key, format } = INTERFACES[name].labels?.offer ?? {}
  const raw = 'data' in read && key !== undefined ? ownValue(read.data, key) : undefined
  if (raw === undefined) return read
  const offered = (typeof raw === 'string' ? jsonOrText(raw) : raw) as { readonly version?: unknown } | null
  if (offered?.version === format) return read
  return { unreadable: `${key}: expected version ${format}, got ${printValue(offered?.version)}` }
}

export const isVersioned = (name: string): name is Interface => Object.hasOwn(INTERFACES, name)
