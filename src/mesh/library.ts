import type { KubernetesObject } from '../kubernetes/objects.ts'
import { at } from '../record.ts'
import type { Subject } from '../state.ts'
import { charmKubernetesLabel, truncateLabelValue } from './names.ts'

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

/** Whether the charm library made the object for the application. Its first labels did not say in which namespace that is. */
export const isLibrarys = (subject: Subject, { metadata: { labels, name, namespace } }: KubernetesObject): boolean => {
  const instance = at(labels, INSTANCE) ?? ''
  const isSure =
    instance !== subject.application ||
    namespace === subject.namespace ||
    name.startsWith(`${subject.application}-${subject.namespace}-`)
  return isSure && instances(subject).includes(instance) && scopes(subject).includes(at(labels, SCOPE) ?? '')
}
