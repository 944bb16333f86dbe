import { createHash } from 'node:crypto'
import { type PolicyTarget, targetKey } from '../../core/policies/target.ts'

export type NameOwner = {
  readonly namespace: string
  readonly application: string
  /** The prefix of the names, for applications with several families of objects. @default {application}-{namespace}-policy */
  readonly prefix?: string | undefined
}

/** Leaves room, within the 253 characters of a name, for the hash and for the number of a part. */
const READABLE = 200

/**
 * `{prefix}-{target}-{hash}`, an RFC 1123 subdomain of at most 253 characters. The hash is of owner and target: the object keeps its
 * name whatever is allowed at the target, and two owners never share one.
 */
export const objectName = (
  { namespace, application, prefix }: NameOwner,
  target: PolicyTarget,
  part: string,
): string => {
  const readable = dnsLabel(`${prefix ?? `${application}-${namespace}-policy`}-${target.title}`)
  const hash = sha256(JSON.stringify([namespace, application, prefix ?? null, targetKey(target)])).slice(0, 10)
  return [readable, hash, part].filter((piece) => piece !== '').join('-')
}

const dnsLabel = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, READABLE)
    .replaceAll(/^-+|-+$/g, '')

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
