import { at, isEmptyValue, type Json, type JsonMap, mapOf, withAt } from '../kinds/json.ts'
import type { Kind } from '../kinds/kind.ts'
import { changed, each, filled } from './defaults-fill.ts'
import { podSpec } from './defaults-pod.ts'

const template = (value: Json): Json =>
  changed(filled(changed(mapOf(value), 'metadata', cleanMetadata), { metadata: {}, spec: {} }), 'spec', podSpec)

const workload = (specDefaults: JsonMap) => (object: JsonMap) =>
  changed(filled(object, { spec: {} }), 'spec', (spec) =>
    changed(filled(mapOf(spec), { ...specDefaults, template: {} }), 'template', template),
  )

const statefulSet = workload({
  podManagementPolicy: 'OrderedReady',
  replicas: 1,
  revisionHistoryLimit: 10,
  serviceName: '',
  updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
  persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
})

const deployment = workload({
  progressDeadlineSeconds: 600,
  replicas: 1,
  revisionHistoryLimit: 10,
  strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } },
})

const serviceSpec = (spec: Json): Json => {
  const map = mapOf(spec)
  const headless = map.clusterIP === 'None'
  const external = map.type === 'LoadBalancer' || map.type === 'NodePort'
  const complete = filled(map, {
    type: 'ClusterIP',
    sessionAffinity: 'None',
    ...(map.type === 'ExternalName' ? {} : { internalTrafficPolicy: 'Cluster' }),
    ...(external ? { externalTrafficPolicy: 'Cluster' } : {}),
    ...(map.type === 'LoadBalancer' ? { allocateLoadBalancerNodePorts: true } : {}),
    ...(headless ? { clusterIPs: ['None'] } : {}),
  })
  return changed(
    complete,
    'ports',
    each((port) => filled(port, { protocol: 'TCP', ...(port.port === undefined ? {} : { targetPort: port.port }) })),
  )
}

const encoded = (data: JsonMap): JsonMap =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(String(value)).toString('base64')]))

const secret = ({ stringData, ...object }: JsonMap): JsonMap =>
  filled(
    stringData === undefined ? object : { ...object, data: { ...mapOf(object.data), ...encoded(mapOf(stringData)) } },
    {
      type: 'Opaque',
    },
  )

const namespace = (object: JsonMap): JsonMap =>
  filled(withAt(object, ['metadata', 'labels', 'kubernetes.io/metadata.name'], at(object, 'metadata', 'name')), {
    spec: {},
  })

const autoscaler = (object: JsonMap): JsonMap =>
  changed(object, 'spec', (spec) =>
    filled(mapOf(spec), {
      minReplicas: 1,
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } },
      ],
    }),
  )

const listener = (map: JsonMap): JsonMap => {
  const complete = changed(filled(map, { allowedRoutes: {} }), 'allowedRoutes', (routes) =>
    filled(mapOf(routes), { namespaces: { from: 'Same' } }),
  )
  return changed(complete, 'tls', (tls) => filled(mapOf(tls), { mode: 'Terminate' }))
}

const gateway = (object: JsonMap): JsonMap =>
  changed(object, 'spec', (spec) => changed(mapOf(spec), 'listeners', each(listener)))

/** The defaults of each kind; the fields are those of the Kubernetes API reference. */
const byKind: Readonly<Record<string, (object: JsonMap) => JsonMap>> = {
  Secret: secret,
  Namespace: namespace,
  Service: (object) => changed(filled(object, { spec: {} }), 'spec', serviceSpec),
  Pod: (object) => changed(object, 'spec', (spec) => filled(mapOf(podSpec(spec)), { enableServiceLinks: true })),
  StatefulSet: statefulSet,
  Deployment: deployment,
  HorizontalPodAutoscaler: autoscaler,
  Gateway: gateway,
}

const cleanMetadata = (metadata: Json): Json => {
  const map = mapOf(metadata)
  const empty = ['labels', 'annotations', 'finalizers', 'ownerReferences'].filter(
    (key) => map[key] !== undefined && isEmptyValue(map[key]),
  )
  if (empty.length === 0) return metadata
  return Object.fromEntries(Object.entries(map).filter(([key]) => !empty.includes(key)))
}

const droppedWhenEmpty = ['data', 'binaryData', 'stringData']

/** Fills in the defaults of the kind, and removes empty maps that typed objects do not write. */
export const withDefaults = (object: JsonMap, kind: Kind): JsonMap => {
  const cleaned = changed(object, 'metadata', cleanMetadata)
  const gone = kind.custom ? [] : droppedWhenEmpty.filter((key) => isEmptyValue(cleaned[key]))
  const lean =
    gone.length === 0 ? cleaned : Object.fromEntries(Object.entries(cleaned).filter(([key]) => !gone.includes(key)))
  return byKind[kind.kind]?.(lean) ?? lean
}
