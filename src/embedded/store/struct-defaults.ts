import { type Json, type JsonMap, mapOf } from '../../platform/base/json.ts'

const isLatest = (image: Json | undefined): boolean => {
  const name = String(image ?? '').replace(/^.*\//s, '')
  return !name.includes('@') && (name.split(':')[1] ?? 'latest') === 'latest'
}

const pulled = (image: Json | undefined): string => (isLatest(image) ? 'Always' : 'IfNotPresent')

const container = ({ image }: JsonMap): JsonMap => ({
  imagePullPolicy: pulled(image),
  resources: {},
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
})

const podSpec = ({ serviceAccountName: name, serviceAccount = name }: JsonMap): JsonMap => ({
  dnsPolicy: 'ClusterFirst',
  restartPolicy: 'Always',
  schedulerName: 'default-scheduler',
  securityContext: {},
  terminationGracePeriodSeconds: 30,
  ...(serviceAccount !== undefined && { serviceAccount, serviceAccountName: serviceAccount }),
})

const service = ({ type = 'ClusterIP', clusterIP, sessionAffinity = 'None' }: JsonMap): JsonMap => ({
  type,
  sessionAffinity,
  ...(sessionAffinity === 'ClientIP' && { sessionAffinityConfig: { clientIP: { timeoutSeconds: 10800 } } }),
  ...(type !== 'ExternalName' && { internalTrafficPolicy: 'Cluster' }),
  ...((type === 'LoadBalancer' || type === 'NodePort') && { externalTrafficPolicy: 'Cluster' }),
  ...(type === 'LoadBalancer' && { allocateLoadBalancerNodePorts: true }),
  ...(clusterIP === 'None' && { clusterIPs: ['None'] }),
})

const files = { defaultMode: 420 }

/** The defaults of Go's structs by their names, where one depends on other fields as a function of these. */
export const structDefaults: Readonly<Record<string, JsonMap | ((map: JsonMap) => JsonMap)>> = {
  ConfigMapVolumeSource: files,
  Container: container,
  ContainerPort: { protocol: 'TCP' },
  Deployment: { spec: {} },
  DeploymentSpec: { progressDeadlineSeconds: 600, replicas: 1, revisionHistoryLimit: 10, strategy: {}, template: {} },
  DeploymentStrategy: ({ type = 'RollingUpdate' }) => ({
    type,
    ...(type === 'RollingUpdate' && { rollingUpdate: {} }),
  }),
  DownwardAPIVolumeSource: files,
  EphemeralContainer: container,
  GRPCAction: { service: '' },
  HTTPGetAction: { path: '/', scheme: 'HTTP' },
  HorizontalPodAutoscalerSpec: {
    minReplicas: 1,
    metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } }],
  },
  HostPathVolumeSource: { type: '' },
  ISCSIVolumeSource: { iscsiInterface: 'default' },
  ImageVolumeSource: ({ reference }) => ({ pullPolicy: pulled(reference) }),
  MatchResources: { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} },
  NamedRuleWithOperations: { scope: '*' },
  Namespace: { spec: {} },
  ObjectFieldSelector: { apiVersion: 'v1' },
  PersistentVolumeClaim: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', spec: {}, status: { phase: 'Pending' } },
  PersistentVolumeClaimSpec: { resources: {}, volumeMode: 'Filesystem' },
  PersistentVolumeClaimTemplate: { metadata: {}, spec: {} },
  PodSpec: podSpec,
  PodTemplateSpec: { metadata: {}, spec: {} },
  Probe: { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 },
  ProjectedVolumeSource: files,
  RBDVolumeSource: { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' },
  ResourceFieldSelector: { divisor: '0' },
  RollingUpdateDeployment: { maxSurge: '25%', maxUnavailable: '25%' },
  RollingUpdateStatefulSetStrategy: { partition: 0 },
  Secret: { type: 'Opaque' },
  SecretVolumeSource: files,
  Service: { spec: {} },
  ServiceAccountTokenProjection: { expirationSeconds: 3600 },
  ServicePort: ({ port }) => ({ protocol: 'TCP', ...(port !== undefined && { targetPort: port }) }),
  ServiceSpec: service,
  StatefulSet: { spec: {} },
  StatefulSetOrdinals: { start: 0 },
  StatefulSetPersistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
  StatefulSetSpec: {
    persistentVolumeClaimRetentionPolicy: {},
    podManagementPolicy: 'OrderedReady',
    replicas: 1,
    revisionHistoryLimit: 10,
    serviceName: '',
    template: {},
    updateStrategy: {},
  },
  StatefulSetUpdateStrategy: ({ type }) => (type === undefined ? { type: 'RollingUpdate', rollingUpdate: {} } : {}),
  ValidatingAdmissionPolicySpec: { failurePolicy: 'Fail' },
  Volume: (map) => (Object.keys(map).some((key) => key !== 'name') ? {} : { emptyDir: {} }),
}

/** A container of a pod requests what it is limited to, and on the host's network its ports are the host's. */
const runningContainer =
  (hostNetwork: boolean) =>
  (map: JsonMap): JsonMap => {
    const { limits, requests } = mapOf(map.resources)
    const ports = Array.isArray(map.ports) ? map.ports.map(mapOf) : []
    return {
      ...map,
      ...(limits !== undefined && {
        resources: { ...mapOf(map.resources), requests: { ...mapOf(limits), ...mapOf(requests) } },
      }),
      ...(hostNetwork &&
        ports.length > 0 && { ports: ports.map((port) => ({ hostPort: port.containerPort, ...port })) }),
    }
  }

const pod = (object: JsonMap): JsonMap => {
  const spec = mapOf(object.spec)
  const complete = runningContainer(spec.hostNetwork === true)
  const containers = (['containers', 'initContainers'] as const).flatMap((key) => {
    const list = spec[key]
    return Array.isArray(list) ? [[key, list.map((each) => complete(mapOf(each)))] as const] : []
  })
  const grace = Number(spec.terminationGracePeriodSeconds) < 0 ? { terminationGracePeriodSeconds: 1 } : {}
  return { ...object, spec: { enableServiceLinks: true, ...spec, ...grace, ...Object.fromEntries(containers) } }
}

const encoded = (text: Json | undefined): string => Buffer.from(String(text)).toString('base64')

const secret = ({ stringData, ...object }: JsonMap): JsonMap => {
  if (stringData === undefined) return object
  const texts = Object.entries(mapOf(stringData)).map(([key, text]) => [key, encoded(text)])
  return { ...object, data: { ...mapOf(object.data), ...Object.fromEntries(texts) } }
}

const namespace = (object: JsonMap): JsonMap => {
  const metadata = mapOf(object.metadata)
  const labels = { ...mapOf(metadata.labels), 'kubernetes.io/metadata.name': metadata.name }
  return { ...object, metadata: { ...metadata, labels } }
}

/** Defaults of a kind beside those of its structs. */
export const kindDefaults: Readonly<Record<string, (object: JsonMap) => JsonMap>> = {
  Namespace: namespace,
  Pod: pod,
  Secret: secret,
}
