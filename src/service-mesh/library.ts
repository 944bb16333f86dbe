import { at } from '../base/own-value.ts'
import type { Subject } from '../base/subject.ts'
import { charmKubernetesLabel, truncateLabelValue, waypointName } from '../istio/names.ts'
import type { KubernetesObject } from '../kubernetes/objects.ts'

const INSTANCE = 'app.kubernetes.io/instance'
const SCOPE = 'kubernetes-resource-handler-scope'

/** How the charm library called its owner over the years. */
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

/** Selects what the charm library made for the application, by the ownership labels of all its generations. */
export const librarySelector = (subject: Subject): string =>
  `${INSTANCE} in (${instances(subject).join(',')}),${SCOPE} in (${scopes(subject).join(',')})`

/** The field managers under which it wrote for its owner. */
const managers = ({ namespace, application }: Subject): string[] => [application, `${application}-${namespace}`]

/**
 * Whether the charm library made the object for the application. Its labels and names join namespace and application by hyphens, so that
 * two may have the same; together with its field manager, which has the application's name, they are one's alone. The first labels did
 * not say in which namespace that is.
 */
export const isLibrarys = (subject: Subject, object: KubernetesObject): boolean => {
  const { labels, managedFields = [] } = object.metadata
  const instance = at(labels, INSTANCE) ?? ''
  return (
    managedFields.some(({ manager }) => managers(subject).includes(manager)) &&
    instances(subject).includes(instance) &&
    scopes(subject).includes(at(labels, SCOPE) ?? '') &&
    isNamed(subject, object)
  )
}

/** Whether the object has a name that the library gave to objects of the application. */
const isNamed = ({ namespace, application }: Subject, { kind, metadata }: KubernetesObject): boolean => {
  const { name } = metadata
  if (kind !== 'AuthorizationPolicy') return name === waypointName(namespace, application)
  return (
    name.startsWith(`${application}-${namespace}-policy-`) ||
    name === `${application}-${namespace}-external-traffic` ||
    (name === `ext-authz-${application}` && metadata.namespace === namespace) ||
    (name.endsWith(`-${application}-${metadata.namespace}-l4`) && at(metadata.labels, INSTANCE) !== application)
  )
}
