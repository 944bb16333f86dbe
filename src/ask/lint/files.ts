import { type Json, withoutNulls } from '../../platform/base/json.ts'
import { nearestName } from '../../platform/base/nearest-name.ts'
import { isRecord } from '../../platform/base/own-value.ts'
import { readDocumentsAtOnce } from '../../platform/base/text-documents.ts'
import { itemsIn } from '../../platform/kubernetes/list-items.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import { type KnownPods, knownPods, objectFindings } from './file-objects.ts'
import { ALLOW, allowedBy, type Finding, unallowed, unknownAllowed } from './finding.ts'

/** A finding in a file, and the line at which its document begins. */
export type FileFinding = Finding & { readonly file: string; readonly line: number }

/** Reads what a text says of pods. */
export const podsIn = (text: string): KnownPods =>
  knownPods(
    readDocumentsAtOnce(text).flatMap((document) => ('problem' in document ? [] : objectsIn(document.value, PODS))),
  )

/**
 * Finds mistakes in the policies of a text and of its config documents. It asks no cluster, so it finds only those that the text and the known pods show. A
 * comment in a document, `# meshstep: allow ID, ID because …`, or the annotation of its object allows findings. A document that cannot be read is a finding.
 */
export const fileFindings = (text: string, file: string, known = podsIn(text)): FileFinding[] =>
  readDocumentsAtOnce(text).flatMap((document) => {
    const { line } = document
    if ('problem' in document) return [{ rule: 'document-refused', about: file, message: document.problem, file, line }]
    const comments = commentsOf(document.text)
    const misspelt = kindProblem(document.value)
    if (misspelt !== undefined) return [{ rule: 'document-refused', about: file, message: misspelt, file, line }]
    return objectsIn(document.value, KINDS).flatMap((object) => {
      const found = [...objectFindings(object, known), ...unknownAllowed(object), ...unknownAllowed(object, comments)]
      return unallowed(found, object, comments).map((finding) => ({ ...finding, file, line }))
    })
  })

/** Names the documents of a text that are no objects, in which nothing is looked for, by the lines at which they begin. */
export const otherDocuments = (text: string): number[] =>
  readDocumentsAtOnce(text).flatMap((document) =>
    'problem' in document || document.value === null || document.value === undefined || hasKind(document.value)
      ? []
      : [document.line],
  )

const hasKind = (value: unknown): value is { apiVersion?: unknown; kind: unknown } =>
  isRecord(value) && Object.hasOwn(value, 'kind')

/** Names a kind that Istio's group for policies does not have. */
const kindProblem = (value: unknown): string | undefined => {
  if (!hasKind(value) || !String(value.apiVersion).startsWith('security.istio.io/')) return undefined
  const kind = String(value.kind)
  if ([...POLICIES, ''].some((one) => kind === one || kind === `${one}List`)) return undefined
  const near = nearestName(kind, POLICIES)
  return `${value.apiVersion} has no kind ${kind}${near === undefined ? '' : `, did you mean ${near}?`}`
}

const POLICIES = ['AuthorizationPolicy', 'PeerAuthentication', 'RequestAuthentication']

const KINDS = ['AuthorizationPolicy', 'PeerAuthentication', 'ConfigMap']
const PODS = ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Pod', 'Namespace']

/** Reads an object. One without metadata is kept, because that is a finding. */
const objectIn = (value: unknown, kinds: readonly string[]): KubernetesObject[] => {
  const { kind, metadata, ...rest } = (isRecord(value) ? value : {}) as Partial<KubernetesObject>
  return kind !== undefined && kinds.includes(kind)
    ? [{ apiVersion: '', ...rest, kind, metadata: metadata ?? NO_METADATA }]
    : []
}

const NO_METADATA = {} as KubernetesObject['metadata']

/** Reads the objects of a document. Null fields are left out, as an API server does before it validates an object. */
const objectsIn = (value: unknown, kinds: readonly string[]): KubernetesObject[] =>
  itemsIn(withoutNulls(value as Json)).flatMap((one) => objectIn(one, kinds))

/** Reads the comments of a document. They become an object, so that they count as the annotations of a Namespace do in a cluster. */
const commentsOf = (text: string): KubernetesObject => {
  const allowed = [...text.matchAll(/#\s*meshstep:\s*allow\s+(.+)/g)].flatMap(([, ids = '']) => allowedBy(ids))
  return { apiVersion: '', kind: '', metadata: { name: '', annotations: { [ALLOW]: allowed.join(',') } } }
}
