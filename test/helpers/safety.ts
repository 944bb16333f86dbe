import {
  type AccessRequest,
  type ClusterSnapshot,
  evaluate,
  type ServiceSnapshot,
  type Waypoint,
} from '../../src/ask/authorization/evaluate.ts'
import type { EmbeddedApi } from '../../src/embedded/api/api.ts'
import type { AuthorizationPolicy } from '../../src/mesh/istio/authorization-policy.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'

type Labels = Record<string, string>

export type Setting = { readonly autoAllow: boolean; readonly rootNamespace?: string }

const labelsIn = (labels: unknown): Labels => ({ ...(labels as Labels) })

const templateOf = ({ spec }: KubernetesObject): Labels =>
  labelsIn((spec?.template as { metadata?: { labels?: Labels } } | undefined)?.metadata?.labels)

/** The waypoint that labels name, where its Gateway is there: Istio runs it as the ServiceAccount of that name. */
const waypointIn = (objects: readonly KubernetesObject[], namespace: string, labels: Labels): Waypoint | undefined => {
  const { 'istio.io/use-waypoint': name = '', 'istio.io/use-waypoint-namespace': home = namespace } = labels
  const isThere = objects.some(
    ({ kind, metadata }) => kind === 'Gateway' && metadata.namespace === home && metadata.name === name,
  )
  return isThere ? { namespace: home, name, serviceAccount: name } : undefined
}

/** The cluster as its objects are at this moment, as far as it decides who reaches whom. */
export const worldOf = (
  api: Pick<EmbeddedApi, 'objects'>,
  { autoAllow, rootNamespace = 'istio-system' }: Setting,
): ClusterSnapshot => {
  const objects = api.objects()
  const ofKind = (...kinds: string[]) => objects.filter(({ kind }) => kinds.includes(kind))
  const namespaceLabels = (name = '') =>
    labelsIn(ofKind('Namespace').find((one) => one.metadata.name === name)?.metadata.labels)
  const services = ofKind('Service').map(({ metadata: { namespace = '', name, labels }, spec }): ServiceSnapshot => {
    const own = labelsIn(labels)
    const named = 'istio.io/use-waypoint' in own ? own : namespaceLabels(namespace)
    return { namespace, name, selector: labelsIn(spec?.selector), waypoint: waypointIn(objects, namespace, named) }
  })
  return {
    policies: ofKind('AuthorizationPolicy') as AuthorizationPolicy[],
    rootNamespace,
    trustDomain: 'cluster.local',
    services,
    workloads: ofKind('StatefulSet', 'Deployment').map((object) => {
      const { namespace = '', name } = object.metadata
      const labels = templateOf(object)
      const mode = labels['istio.io/dataplane-mode'] ?? namespaceLabels(namespace)['istio.io/dataplane-mode']
      return { namespace, name, labels, onMesh: mode === 'ambient' }
    }),
    autoAllowWaypoint: autoAllow,
  }
}

/** Whether a request of an application of `shop`, on the mesh, would pass. */
export const passes = (
  world: ClusterSnapshot,
  from: string,
  to: { application: string; service?: string },
  request: Partial<AccessRequest> = {},
): boolean =>
  evaluate(
    {
      from: { namespace: 'shop', serviceAccount: from },
      to: { namespace: 'shop', ...to },
      port: 80,
      method: 'GET',
      path: '/',
      ...request,
    },
    world,
  ).allowed
