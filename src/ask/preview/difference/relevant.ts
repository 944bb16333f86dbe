import { USE_WAYPOINT_LABEL } from '../../../core/relations/mesh-labels.ts'
import { readAuthorizationPolicy, targetsOf } from '../../../mesh/istio/authorization-policy.ts'
import { namespaceOf } from '../../../platform/base/subject.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import { NAME_LABEL } from '../../../platform/kubernetes/services.ts'
import { indexOf, under } from './index-of.ts'

type Labels = Readonly<Record<string, string>>

/** A target, described well enough to look up the objects that may decide for it. */
type About = {
  readonly namespace: string
  readonly name: string
  /** The labels of all its pods and of their template. */
  readonly labels: readonly Labels[]
  readonly namespaceLabels: Labels
}

type Relevant = {
  readonly services: readonly KubernetesObject[]
  readonly policies: readonly KubernetesObject[]
  readonly peerAuthentications: readonly KubernetesObject[]
  readonly gateways: readonly KubernetesObject[]
}

/** Builds an index that finds the objects that may decide for a target without a scan of all objects. It may find too many objects, but misses none. */
export const createRelevance = (
  objects: readonly KubernetesObject[],
  roots: readonly string[],
): ((about: About) => Relevant) => {
  const of = (kind: string) => objects.filter((one) => one.kind === kind)
  const services = indexOf(of('Service'), serviceKeys)
  const policies = indexOf(of('AuthorizationPolicy'), policyKeys)
  const peers = indexOf(of('PeerAuthentication'), ({ metadata }) => [metadata.namespace ?? ''])
  const gateways = indexOf(of('Gateway'), ({ metadata }) => [`${metadata.namespace}/${metadata.name}`])
  return ({ namespace, name, labels: known, namespaceLabels }) => {
    // unknown pods are assumed to have the name of their application
    const labels = [...known, { [NAME_LABEL]: name }]
    const pairs = new Set(labels.flatMap((some) => Object.entries(some).map(([key, value]) => `${key}=${value}`)))
    const within = [...new Set([namespace, ...roots])]
    const found = under(services, [
      `${namespace} ${name}`,
      `${namespace} *`,
      ...[...pairs].map((one) => `${namespace} ${one}`),
    ])
    const led = [...labels, namespaceLabels, ...found.map(({ metadata }) => metadata.labels ?? {})]
    const waypoints = led.flatMap((some) => waypointsIn(some, namespace))
    const homes = [...new Set([...within, ...waypoints.map(namespaceOf)])]
    return {
      services: found,
      policies: under(policies, [
        'GatewayClass',
        ...homes.map((home) => `${home} odd`),
        ...within.flatMap((home) => [`${home} *`, ...[...pairs].map((one) => `${home} ${one}`)]),
        ...found.map(({ metadata }) => `Service ${namespace}/${metadata.name}`),
        ...[...waypoints, `${namespace}/${name}`].map((gateway) => `Gateway ${gateway}`),
      ]),
      peerAuthentications: under(peers, within),
      gateways: under(gateways, [...waypoints, `${namespace}/${name}`]),
    }
  }
}

/** Lists all waypoints that labels may name. Some of several labels have no effect in Istio, but all count here. */
export const waypointsIn = (labels: Labels, namespace: string): string[] => {
  const named = Object.entries(labels).filter(([key]) => key.startsWith(USE_WAYPOINT_LABEL))
  const isHome = ([key]: [string, string]) => key.endsWith('-namespace')
  const homes = [namespace, ...named.filter(isHome).map(([, home]) => home)]
  return named.filter((one) => !isHome(one)).flatMap(([, name]) => homes.map((home) => `${home}/${name}`))
}

/** Indexes a Service by its name, and by the first label of its selector, or `*` without a selector. */
const serviceKeys = ({ metadata: { namespace, name }, spec }: KubernetesObject): string[] => [
  `${namespace} ${name}`,
  `${namespace} ${firstPair(spec?.selector) ?? '*'}`,
]

/** Indexes a policy by each target, else by the first label of its selector. `*` stands for no selector, and `odd` for an unreadable policy. */
const policyKeys = (object: KubernetesObject): string[] => {
  const { namespace } = object.metadata
  const read = readAuthorizationPolicy(object)
  const attachment = 'policy' in read ? read.policy.spec : read.attachment
  if (attachment === undefined) return [`${namespace} odd`]
  const targets = targetsOf(attachment)
  if (targets.length > 0)
    return targets.map(({ kind, name }) => (kind === 'GatewayClass' ? kind : `${kind} ${namespace}/${name}`))
  return [`${namespace} ${firstPair(attachment.selector?.matchLabels) ?? '*'}`]
}

const firstPair = (selector: unknown): string | undefined => {
  const [first] = typeof selector === 'object' && selector !== null ? Object.entries(selector) : []
  return first && `${first[0]}=${first[1]}`
}
