import { composeYaml } from '../base/yaml.ts'
import { readAuthorizationPolicy } from '../istio/authorization-policy.ts'
import { policyMistakes } from '../istio/policy-mistakes.ts'
import type { KubernetesObject } from '../kubernetes/objects.ts'
import { ALLOW, allowedBy, type Finding, foundIn, unallowed, unknownAllowed } from './finding.ts'
import { refusedFindings } from './policies.ts'

/** A finding in a file, and the line at which its document begins. */
export type FileFinding = Finding & { readonly file: string; readonly line: number }

/**
 * Finds what policies in a text say otherwise than they mean, as far as they tell themselves: no cluster is asked. A comment in a document,
 * `# meshstep: allow ID, ID because …`, or its annotation, allows what is meant so. Throws InvalidYaml.
 */
export const fileFindings = (text: string, file: string): FileFinding[] => {
  let end = 0
  return documentsIn(text).flatMap((document) => {
    const [begin, , next] = document.range
    const start = document.contents?.range?.[0] ?? begin
    const own = text.slice(end, next)
    const line = text.slice(0, start).split('\n').length
    end = next
    const comments = commentsOf(own)
    return objectsIn(document.toJS({ maxAliasCount: 100 })).flatMap((object) => {
      const found = [...findingsIn(object), ...unknownAllowed(object), ...unknownAllowed(object, comments)]
      return unallowed(found, comments).map((finding) => ({ ...finding, file, line }))
    })
  })
}

const documentsIn = (text: string) => {
  const composing = composeYaml(text)
  for (;;) {
    const { done, value } = composing.next()
    if (done) return value
  }
}

const isObject = (value: unknown): value is KubernetesObject =>
  typeof value === 'object' && value !== null && 'kind' in value && 'metadata' in value

const objectsIn = (value: unknown): KubernetesObject[] => {
  const items = (value as { items?: unknown } | null)?.items
  return (Array.isArray(items) ? items : [value]).filter(isObject).filter(({ kind }) => kind === 'AuthorizationPolicy')
}

/** The comments of a document, as the object that a Namespace is in a cluster. */
const commentsOf = (text: string): KubernetesObject => {
  const allowed = [...text.matchAll(/#\s*meshstep:\s*allow\s+(.+)/g)].flatMap(([, ids = '']) => allowedBy(ids))
  return { apiVersion: '', kind: '', metadata: { name: '', annotations: { [ALLOW]: allowed.join(',') } } }
}

const findingsIn = (object: KubernetesObject) => {
  const read = readAuthorizationPolicy(object)
  if (!('policy' in read)) return [foundIn(object, 'policy-unreadable', read.unreadable)]
  return [
    ...refusedFindings(object, read.policy),
    ...policyMistakes(read.policy, undefined).map(({ id, says }) => foundIn(object, id, `it ${says}`)),
  ]
}
