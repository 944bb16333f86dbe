import { isDeepStrictEqual } from 'node:util'
import { DEEPEST, isTooDeep } from '../../../platform/base/depth.ts'
import { isRecord, ownValue } from '../../../platform/base/own-value.ts'
import { printValue } from '../../../platform/base/printed.ts'
import { parseJson, readText } from '../../../platform/base/structured-text.ts'
import type { Interface, Version, Versions } from '../../state/config.ts'
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

/** The versions of every protocol. */
const BOTH: readonly Version[] = [0, 1]

/** Returns the versions of `name` that an application supports. */
export const spokenVersions = (name: Interface, config: Versions = {}): readonly Version[] =>
  ownValue(config, name) ?? BOTH

/** The common version of both sides, or the reason why there is none: `incompatible` needs a person, `unreadable` may pass. */
export type Agreement = { version: Version } | { incompatible: string } | { unreadable: string }

/**
 * Negotiates the highest version that both `local` and the writer of `remote` support. A side without published versions supports only
 * version 0. Each side computes it from the peer's data, so neither has to wait.
 */
export const negotiate = (local: readonly Version[], remote: Databag): Agreement => {
  const there = spokenBy(remote)
  if ('unreadable' in there) return there
  const [version] = local.filter((one) => there.versions.includes(one)).toSorted((one, other) => other - one)
  if (version !== undefined) return { version }
  return { incompatible: `no version in common: ${listed(local)} here, ${listed(there.versions)} there` }
}

type Spoken = { versions: readonly number[] } | { unreadable: string }

const FLAT: Spoken = { versions: [0] }

const spokenBy = (remote: Databag): Spoken => {
  const published = publishedBy(remote)
  if ('unreadable' in published || !BOTH.every((version) => published.versions.includes(version))) return published
  const document = documentIn(remote)
  const isDowngraded = 'value' in document && document.value !== undefined && isLeftBehind(document.value, remote)
  return isDowngraded ? FLAT : published
}

const publishedBy = (remote: Databag): Spoken => {
  const raw = ownValue(remote, VERSIONS_KEY)
  if (raw === undefined || raw === '') return FLAT
  const list = typeof raw === 'string' ? readText(raw) : { value: raw }
  if ('unreadable' in list) return { unreadable: `${VERSIONS_KEY}: ${list.unreadable}` }
  if (!Array.isArray(list.value))
    return { unreadable: `${VERSIONS_KEY}: expected a list of versions, got ${printValue(list.value)}` }
  if (list.value.length === 0) return FLAT
  const versions = list.value.map(versionIn).filter((version) => version !== undefined)
  if (versions.length > 0) return { versions }
  return { unreadable: `${VERSIONS_KEY}: expected versions such as 1 or "v1", got ${printValue(list.value[0])}` }
}

/** Parses a version. Undefined for a format that is not known. */
const versionIn = (element: unknown): number | undefined => {
  const name = typeof element === 'number' ? `v${element}` : element
  return typeof name === 'string' && /^v\d{1,9}$/.test(name) ? Number(name.slice(1)) : undefined
}

/** The limit of versions in a message. */
const MOST = 10

const listed = (versions: readonly number[]): string => {
  const names = [...new Set(versions)].toSorted((one, other) => one - other).map((version) => `v${version}`)
  return [...names.slice(0, MOST), ...(names.length > MOST ? ['…'] : [])].join(', ')
}
