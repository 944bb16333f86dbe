import { isNotFound } from '../kubernetes/api-error.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import type { Kind, KubernetesObject } from '../kubernetes/objects.ts'
import { isPodOf, selectorOf } from '../kubernetes/pods.ts'
import { hasMode, type ObservedPods, templateOf } from './pods.ts'
import type { Question } from './question.ts'

type Subject = Question['from']

/** What the cluster says about a question. */
export type Observed = {
  /** Of all namespaces; undefined where the API server does not know the kind. */
  readonly policies: readonly KubernetesObject[] | undefined
  readonly gateways: readonly KubernetesObject[] | undefined
  /** Of the namespace of the destination. */
  readonly services: readonly KubernetesObject[]
  readonly fromNamespace: KubernetesObject | undefined
  readonly toNamespace: KubernetesObject | undefined
  readonly from: ObservedPods | undefined
  readonly to: ObservedPods | undefined
}

/**
 * Observes what an answer depends on: nine calls at once, and one more for pods whose template does not say whether they are on the mesh.
 */
export const observe = async (kubernetes: Kubernetes, { from, to }: Question): Promise<Observed> => {
  const namespaceNamed = (name: string) => kubernetes.find({ kind: 'Namespace', name })
  const [policies, gateways, services, fromNamespace, toNamespace, client, target] = await Promise.all([
    listIfKnown(kubernetes, 'AuthorizationPolicy'),
    listIfKnown(kubernetes, 'Gateway'),
    kubernetes.list('Service', to.namespace),
    namespaceNamed(from.namespace),
    namespaceNamed(to.namespace),
    podsOf(kubernetes, from),
    podsOf(kubernetes, to),
  ])
  const service = services.find(({ metadata }) => metadata.name === to.application)
  return {
    policies,
    gateways,
    services,
    fromNamespace,
    toNamespace,
    from: client,
    to: target ?? (service && (await podsBehind(kubernetes, service))),
  }
}

/** Undefined where there is no such kind: its CustomResourceDefinition is not installed. */
const listIfKnown = async (kubernetes: Kubernetes, kind: Kind): Promise<KubernetesObject[] | undefined> => {
  try {
    return await kubernetes.list(kind, undefined)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

const podsOf = async (
  kubernetes: Kubernetes,
  { namespace, application: name }: Subject,
): Promise<ObservedPods | undefined> => {
  const [statefulSet, deployment] = await Promise.all([
    kubernetes.find({ kind: 'StatefulSet', namespace, name }),
    kubernetes.find({ kind: 'Deployment', namespace, name }),
  ])
  const workload = statefulSet ?? deployment
  if (workload === undefined) return undefined
  const template = templateOf(workload)
  if (hasMode(template)) return { template, running: [] }
  const pods = await kubernetes.list('Pod', namespace, selectorOf(workload))
  return { template, running: pods.filter((pod) => isPodOf(workload, pod)) }
}

/** Of a Service that is named like no workload. */
const podsBehind = async (kubernetes: Kubernetes, { metadata, spec }: KubernetesObject): Promise<ObservedPods> => {
  const matchLabels = (spec?.selector ?? {}) as Record<string, string>
  if (Object.keys(matchLabels).length === 0) return { running: [] }
  const selector = selectorOf({ apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: { matchLabels } } })
  return { running: await kubernetes.list('Pod', metadata.namespace, selector) }
}
