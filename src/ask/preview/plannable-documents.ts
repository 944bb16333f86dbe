import { readAuthorizationPolicy } from '../../mesh/istio/authorization-policy.ts'
import { policyRefusals } from '../../mesh/istio/validation.ts'
import { Refused } from '../../platform/base/errors.ts'
import {
  apiVersionOf,
  groupIn,
  groupOf,
  isClusterScoped,
  isKind,
  type Kind,
  type KubernetesObject,
  objectKey,
} from '../../platform/kubernetes/objects.ts'

/** Documents that a plan can follow, and remarks on the others. */
type PlannableDocuments = {
  readonly objects: readonly KubernetesObject[]
  /** The reasons why the comparison of access is incomplete. */
  readonly incomplete: readonly string[]
  readonly messages: readonly string[]
}

/**
 * Selects the documents that a plan can follow, in the API version that it knows. A document without a namespace gets `namespace`. Throws Refused, 400, if
 * a document needs a namespace and there is none.
 */
export const plannableDocuments = (
  documents: readonly KubernetesObject[],
  namespace: string | undefined,
  isDeletion: boolean,
): PlannableDocuments => {
  const decidesNothing = (one: KubernetesObject) => isOfNoAccess(isDeletion ? (servedBy(one) ?? one) : one)
  const refused = (one: KubernetesObject) => (isDeletion ? undefined : refusal(one))
  const isFollowed = (one: KubernetesObject) => isKnown(one) && refused(one) === undefined
  const unknown = documents.filter((one) => !isFollowed(one))
  const [deciding, others] = [unknown.filter((one) => !decidesNothing(one)), unknown.filter(decidesNothing)]
  return {
    objects: documents.filter(isFollowed).map((one) => placed(one, namespace)),
    incomplete: deciding.map(
      (one) =>
        refused(one) ??
        `whether access changes by ${objectKey(one)} is not known: a plan follows no objects of ${typeOf(one)}`,
    ),
    messages: others.map((one) => `${objectKey(one)} is not planned: no access depends on objects of ${typeOf(one)}`),
  }
}

/** Tells why Istio's webhook would refuse a policy. */
const refusal = (object: KubernetesObject): string | undefined => {
  const read = object.kind === 'AuthorizationPolicy' ? readAuthorizationPolicy(object) : undefined
  const reasons = read && 'policy' in read ? policyRefusals(read.policy) : []
  return reasons.length === 0
    ? undefined
    : `${objectKey(object)} is not planned: ${reasons.join('; ')} (Istio refuses it)`
}

/**
 * Tells if a plan can follow an object. The group counts, because kinds of several groups may share a name. Of custom resources an earlier
 * version counts too, because it has the same fields. Of the objects outside of namespaces only a Namespace has an owner who may ask.
 */
const isKnown = (object: KubernetesObject): boolean => {
  const { apiVersion, kind } = object
  if (!isKind(kind) || groupOf(kind) !== groupIn(apiVersion) || UNFOLLOWED.includes(kind)) return false
  if (isClusterScoped(kind) && kind !== 'Namespace') return false
  return apiVersionOf(kind) === apiVersion || (groupOf(kind).includes('.') && apiVersion.endsWith('/v1beta1'))
}

/** Kinds that steps read, and whose effect on access no plan follows. */
const UNFOLLOWED: readonly Kind[] = ['Event', 'ServiceEntry']

const placed = (object: KubernetesObject, namespace: string | undefined): KubernetesObject => {
  const { kind, metadata } = object
  if (!isKind(kind)) return object
  const known = { ...object, apiVersion: apiVersionOf(kind) }
  if (isClusterScoped(kind)) {
    const { namespace: _, ...identity } = metadata
    return { ...known, metadata: identity }
  }
  if (metadata.namespace !== undefined) return known
  if (namespace === undefined)
    throw new Refused(400, `${kind} ${metadata.name}: expected metadata.namespace, or namespace= for those without one`)
  return { ...known, metadata: { ...metadata, namespace } }
}

/** Groups, and kinds of other groups, whose objects neither affect access nor make pods. Nothing is assumed of objects that are not listed here. */
const DECIDES_NOTHING = new Set([
  ...['/LimitRange', '/PersistentVolume', '/PersistentVolumeClaim', '/ResourceQuota'],
  ...['apiextensions.k8s.io', 'apiregistration.k8s.io', 'autoscaling', 'certificates.k8s.io', 'coordination.k8s.io'],
  ...['policy', 'rbac.authorization.k8s.io', 'scheduling.k8s.io', 'storage.k8s.io'],
  'cert-manager.io',
  // the other kinds of this group make pods
  ...['AlertmanagerConfig', 'PodMonitor', 'Probe', 'PrometheusRule', 'ScrapeConfig', 'ServiceMonitor'].map(
    (kind) => `monitoring.coreos.com/${kind}`,
  ),
])

type Typed = Pick<KubernetesObject, 'apiVersion' | 'kind'>

/** Returns the type of the objects that go with a CustomResourceDefinition. */
const servedBy = ({ kind, spec }: KubernetesObject): Typed | undefined => {
  if (kind !== 'CustomResourceDefinition') return undefined
  const { group, names }: { group?: unknown; names?: { kind?: unknown } } = spec ?? {}
  return { apiVersion: `${group}/v1`, kind: String(names?.kind) }
}

const isOfNoAccess = ({ apiVersion, kind }: Typed): boolean =>
  [groupIn(apiVersion), `${groupIn(apiVersion)}/${kind}`].some((one) => DECIDES_NOTHING.has(one))

const typeOf = ({ apiVersion, kind }: KubernetesObject): string => `${apiVersion}, kind ${kind}`
