import { hasLabels } from '../authorization/evaluate/cluster-snapshot.ts'
import { findWaypoint } from '../authorization/waypoint.ts'
import { type AuthorizationPolicy, readAuthorizationPolicy, type TargetRef } from '../istio/authorization-policy.ts'
import { fieldsUsed, HTTP_OPERATION } from '../istio/view.ts'
import { isNotFound } from '../kubernetes/api-error.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import type { Kind, KubernetesObject } from '../kubernetes/objects.ts'
import type { Finding } from './lint.ts'

type Cluster = {
  readonly namespace: string
  readonly services: readonly KubernetesObject[]
  readonly gateways: readonly KubernetesObject[]
  readonly pods: readonly KubernetesObject[]
  readonly labels: Readonly<Record<string, string>>
}

/** AuthorizationPolicies that no request can match, or whose HTTP fields nobody can see. */
export const policyFindings = async (
  kubernetes: Kubernetes,
  namespace: string,
  objects: readonly KubernetesObject[],
): Promise<Finding[]> => {
  if (objects.length === 0) return []
  const list = (kind: Kind, where?: string) =>
    kubernetes.list(kind, where).catch((error: unknown) => {
      if (isNotFound(error)) return []
      throw error
    })
  const [services, gateways, pods, home] = await Promise.all([
    list('Service', namespace),
    list('Gateway'),
    list('Pod', namespace),
    kubernetes.find({ kind: 'Namespace', name: namespace }),
  ])
  const cluster = { namespace, services, gateways, pods, labels: home?.metadata.labels ?? {} }
  return objects.flatMap((object) => findingsOf(object, cluster))
}

const findingsOf = (object: KubernetesObject, cluster: Cluster): Finding[] => {
  const about = `AuthorizationPolicy ${object.metadata.namespace}/${object.metadata.name}`
  const read = readAuthorizationPolicy(object)
  if (!('policy' in read)) return [{ rule: 'policy-unreadable', about, message: read.unreadable }]
  const { policy } = read
  const found = targetsOf(policy).length > 0 ? referring(policy, cluster) : selecting(policy, cluster)
  return found.map(([rule, message]) => ({ rule, about, message }))
}

type Found = readonly [rule: string, message: string][]

const targetsOf = ({ spec: { targetRefs = [], targetRef } }: AuthorizationPolicy): TargetRef[] =>
  targetRefs.length === 0 && targetRef ? [targetRef] : targetRefs

const referring = (policy: AuthorizationPolicy, { namespace, services, gateways, labels }: Cluster): Found =>
  targetsOf(policy).flatMap(({ kind, name }): Found => {
    const isThere = (objects: readonly KubernetesObject[]) =>
      objects.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace)
    if (kind === 'Gateway' && !isThere(gateways))
      return [['policy-unmatched', `its Gateway ${namespace}/${name} does not exist: no request can match it`]]
    if (kind !== 'Service') return []
    const service = isThere(services)
    if (service === undefined)
      return [['policy-unmatched', `its Service ${namespace}/${name} does not exist: no request can match it`]]
    const { waypoint, bypassed = `no label names a waypoint for the Service ${namespace}/${name}` } = findWaypoint(
      service,
      { labels },
      gateways,
    )
    return waypoint ? [] : [['policy-unenforced', `nothing enforces it: ${bypassed}`]]
  })

const selecting = ({ spec }: AuthorizationPolicy, { namespace, pods }: Cluster): Found => {
  const { selector, rules = [], action = 'ALLOW' } = spec
  const isMatched = pods.some(({ metadata }) => hasLabels(metadata.labels ?? {}, selector?.matchLabels))
  const hidden = [...new Set(rules.flatMap((rule) => fieldsUsed(rule, [], HTTP_OPERATION, () => false)))]
  const effect = action === 'DENY' ? 'it refuses more than it says' : 'what it allows so is refused'
  return [
    ...(selector && !isMatched
      ? [['policy-unmatched', `it selects no pod of ${namespace}: no request can match it`] as [string, string]]
      : []),
    ...(hidden.length > 0
      ? [
          [
            'http-without-waypoint',
            `the ztunnel of the pods it selects cannot see ${hidden.join(', ')}, and ${effect}: refer to a Service with a waypoint instead`,
          ] as [string, string],
        ]
      : []),
  ]
}
