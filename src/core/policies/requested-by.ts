import { ownValue } from '../../platform/base/own-value.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'

/** The annotation of an AuthorizationPolicy with the relations that requested it. */
export const REQUESTED_BY = 'meshstep.dev/requested-by'

/** The limit of the annotation. The API server limits all annotations of an object together to 256 KiB. */
const BYTES = 32 * 1024

/** Formats the annotation. Relations are distinct, sorted and escaped; those beyond the size limit become `and {N} more`. */
export const requestedBy = (relations: readonly string[]): string => {
  const distinct = [...new Set(relations.map(escaped))].toSorted()
  const listed = distinct.slice(0, countThatFits(distinct))
  const more = distinct.length - listed.length
  return [...listed, ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}

/** Returns the relations in the annotation of `policy`. */
export const parseRequesters = ({ metadata }: KubernetesObject): string[] =>
  ownValue(metadata.annotations, REQUESTED_BY)
    ?.split(', ')
    .filter((relation) => relation !== '')
    .map(unescaped) ?? []

/** Escapes commas. Names without one, which are nearly all, stay the same. */
const escaped = (relation: string): string => relation.replaceAll('%', '%25').replaceAll(',', '%2C')

const unescaped = (relation: string): string =>
  relation.includes('%') ? relation.replaceAll('%2C', ',').replaceAll('%25', '%') : relation

const countThatFits = (texts: readonly string[]): number => {
  let bytes = 0
  const tooMany = texts.findIndex((text) => {
    bytes += Buffer.byteLength(text) + 2
    return bytes > BYTES
  })
  return tooMany === -1 ? texts.length : tooMany
}
