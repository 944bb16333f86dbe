import { waypointName } from '../../mesh/istio/names.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import { charmKubernetesLabel, truncateLabelValue } from '../../platform/kubernetes/label-values.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'

const INSTANCE = 'app.kubernetes.io/instance'
const SCOPE = 'kubernetes-resource-handler-scope'

/** The names of the library's instances, one for each of its generations. */
const instances = ({ namespace, application }: Subject): string[] => [
  charmKubernetesLabel({ model: namespace, application, separator: '-' }),
  truncateLabelValue(`${application}-${namespace}`),
  application,
]

const scopes = ({ namespace, application }: Subject): string[] => [
  'istio-authorization-policy',
  'modeloperator-authorization-policy',
  'istio-waypoint',
  'external-traffic-authorization-policy',
  'external-authorizer-authorization-policy',
  'istio-ingress-authorization-policy',
  truncateLabelValue(`${application}-${namespace}-cluster-internal`),
]

/** Selects the charm library's objects for the application, by the ownership labels of all its generations. */
export const librarySelector = (subject: Subject): string =>
  `${INSTANCE} in (${instances(subject).join(',')}),${SCOPE} in (${scopes(subject).join(',')})`

/** The field managers of the library. */
export const libraryManagers = ({ namespace, application }: Subject): string[] => [
  application,
  `${application}-${namespace}`,
]

/**
 * Tells if the charm library made an object. Labels and names join namespace and application by hyphens, and so may be ambiguous. Together with the field
 * manager, which has the application's name, they are not. The first generation of labels has no namespace.
 */
export const isMadeByLibrary = (subject: Subject, object: KubernetesObject): boolean => {
  const { labels, managedFields = [] } = object.metadata
  const instance = ownValue(labels, INSTANCE) ?? ''
  return (
    managedFields.some(({ manager }) => libraryManagers(subject).includes(manager)) &&
    instances(subject).includes(instance) &&
    scopes(subject).includes(ownValue(labels, SCOPE) ?? '') &&
    isNamed(subject, object)
  )
}

/** Tells if the object has a name that the library gives to the application's objects. */
const isNamed = ({ namespace, application }: Subject, { kind, metadata }: KubernetesObject): boolean => {
  const { name } = metadata
  if (kind !== 'AuthorizationPolicy') return name === waypointName(namespace, application)
  return (
    name.startsWith(`${application}-${namespace}-policy-`) ||
    name === `${application}-${namespace}-external-traffic` ||
    (name === `ext-authz-${application}` && metadata.namespace === namespace) ||
    (name.endsWith(`-${application}-${metadata.namespace}-l4`) && ownValue(metadata.labels, INSTANCE) !== application)
  )
}
