import { ownValue } from '../../platform/base/own-value.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'

/** Annotation of an AuthorizationPolicy: which relations asked for it. */
export const REQUESTED_BY = 'meshstep.dev/requested-by'

/** The API server bounds all annotations of an object together, to 256 KiB. */
const BYTES = 32 * 1024

/** Formats the annotation. Relations are distinct, sorted and escaped; those beyond the size limit become `and {N} more`. */
export const requestedBy = (relations: readonly string[]): string => {
  const distinct = [...new Set(relations.map(escaped))].toSorted()
  const listed = distinct.slice(0, countThatFits(distinct))
  const more = distinct.length - listed.length
  return [...listed, ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}

/** The relations that the annotation of `policy` names. */
export const parseRequesters = ({ metadata }: KubernetesObject): string[] =>
  ownValue(metadata.annotations, REQUESTED_BY)
    ?.split(', ')
    .filter((relation) => relation !== '')
    .map(unescaped) ?? []

/** Names without a comma, which are nearly all, are written as they are. */
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
