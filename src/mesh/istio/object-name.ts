import { createHash } from 'node:crypto'
import { type PolicyTarget, targetKey } from '../../core/policies/target.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'

export type NameOwner = {
  readonly namespace: string
  readonly application: string
  /** The prefix of names, if an application has several families of objects. @default {application}-{namespace}-policy */
  readonly prefix?: string | undefined
}

/** The limit of the readable part. The 253 characters of a name also need the hash and the number of a part. */
const READABLE = 200

/**
 * Builds `{prefix}-{target}-{hash}`, an RFC 1123 subdomain of at most 253 characters. The hash depends on owner and target. So the name stays when the
 * target's rules change, and two owners never share a name.
 */
export const objectName = (
  { namespace, application, prefix }: NameOwner,
  target: PolicyTarget,
  part: string,
): string => {
  const readable = dnsLabel(`${prefix ?? policyPrefix({ application, namespace })}-${target.title}`)
  const hash = sha256(JSON.stringify([namespace, application, prefix ?? null, targetKey(target)])).slice(0, 10)
  return [readable, hash, part].filter((piece) => piece !== '').join('-')
}

/** Tells if an object has the name of a policy of this owner and target, or of a part of one. */
export const isNamedFor = (owner: NameOwner, target: PolicyTarget, { metadata }: KubernetesObject): boolean => {
  const name = objectName(owner, target, '')
  return metadata.namespace === target.namespace && (metadata.name === name || metadata.name.startsWith(`${name}-`))
}

const dnsLabel = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, READABLE)
    .replaceAll(/^-+|-+$/g, '')

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Begins the names of the policies that are written under an application's own identity. */
export const policyPrefix = ({
  application,
  namespace,
}: {
  readonly application: string
  readonly namespace: string
}): string => `${application}-${namespace}-policy`
