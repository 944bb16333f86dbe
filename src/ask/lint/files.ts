import { ownValue } from '../../platform/base/own-value.ts'
import { composeAtOnce, OF_FILES } from '../../platform/base/yaml.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { type KnownPods, knownPods, objectFindings } from './file-objects.ts'
import { ALLOW, allowedBy, type Finding, unallowed, unknownAllowed } from './finding.ts'

/** A finding in a file, and the line at which its document begins. */
export type FileFinding = Finding & { readonly file: string; readonly line: number }

/** Reads what a text says of pods. Throws InvalidYaml. */
export const podsIn = (text: string): KnownPods =>
  knownPods(composed(text).flatMap((document) => objectsIn(plain(document), PODS)))

/**
 * Finds mistakes in the policies of a text and of its config documents. It asks no cluster, so it finds only those that the text and the known pods show. A
 * comment in a document, `# meshstep: allow ID, ID because …`, or the annotation of its object allows findings. Throws InvalidYaml.
 */
export const fileFindings = (text: string, file: string, known = podsIn(text)): FileFinding[] => {
  let end = 0
  return composed(text).flatMap((document) => {
    const [begin, , next] = document.range
    const start = document.contents?.range?.[0] ?? begin
    const own = text.slice(end, next)
    const line = text.slice(0, start).split('\n').length
    end = next
    const comments = commentsOf(own)
    return objectsIn(plain(document), KINDS).flatMap((object) => {
      const found = [...objectFindings(object, known), ...unknownAllowed(object), ...unknownAllowed(object, comments)]
      return unallowed(found, allowing(object, comments)).map((finding) => ({ ...finding, file, line }))
    })
  })
}

const composed = (text: string) => composeAtOnce(text, OF_FILES)

const plain = (document: ReturnType<typeof composed>[number]): unknown =>
  withoutNulls(document.toJS({ maxAliasCount: 100 }))

/** Removes null fields as an API server does before it validates an object. Nulls in lists stay. */
const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).filter(([, one]) => one !== null)
  return Object.fromEntries(fields.map(([key, one]) => [key, withoutNulls(one)]))
}

const KINDS = ['AuthorizationPolicy', 'PeerAuthentication', 'ConfigMap']
const PODS = ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Pod', 'Namespace']

/** Reads an object. One without metadata is kept, because that is a finding. */
const objectIn = (value: unknown, kinds: readonly string[]): KubernetesObject[] => {
  const { kind, metadata, ...rest } = (
    typeof value === 'object' && value !== null ? value : {}
  ) as Partial<KubernetesObject>
  return kind !== undefined && kinds.includes(kind)
    ? [{ apiVersion: '', ...rest, kind, metadata: metadata ?? NO_METADATA }]
    : []
}

const NO_METADATA = {} as KubernetesObject['metadata']

const objectsIn = (value: unknown, kinds: readonly string[]): KubernetesObject[] => {
  const items = (value as { items?: unknown } | null)?.items
  return (Array.isArray(items) ? items : [value]).flatMap((one) => objectIn(one, kinds))
}

/** Reads the comments of a document. They become an object, so that they count as the annotations of a Namespace do in a cluster. */
const commentsOf = (text: string): KubernetesObject => {
  const allowed = [...text.matchAll(/#\s*meshstep:\s*allow\s+(.+)/g)].flatMap(([, ids = '']) => allowedBy(ids))
  return { apiVersion: '', kind: '', metadata: { name: '', annotations: { [ALLOW]: allowed.join(',') } } }
}

/** Collects the findings that a document allows, by its comments and the annotation of its object. */
const allowing = ({ metadata }: KubernetesObject, comments: KubernetesObject): KubernetesObject => {
  const allowed = [comments.metadata, metadata].flatMap((one) => allowedBy(ownValue(one.annotations, ALLOW) ?? ''))
  return { ...comments, metadata: { name: '', annotations: { [ALLOW]: allowed.join(',') } } }
}
