import { type FieldType, type WrongType, wrongIn } from './field-types.ts'
import type { JsonMap } from './json.ts'
import type { Kind } from './kind.ts'

const texts: FieldType = { items: 'string' }
const textMap: FieldType = { values: 'string' }
const struct = (name: string, members: Readonly<Record<string, FieldType>> = {}): FieldType => ({
  struct: name,
  members,
})
const listOf = (name: string, members: Readonly<Record<string, FieldType>>): FieldType => ({
  items: struct(name, members),
})
const textsNamed = (...names: string[]): Record<string, FieldType> =>
  Object.fromEntries(names.map((name) => [name, 'string']))

const owner = {
  ...textsNamed('manager', 'operation', 'apiVersion', 'time', 'fieldsType', 'subresource'),
  fieldsV1: struct('FieldsV1'),
}

const metadata = struct('ObjectMeta', {
  ...textsNamed('name', 'generateName', 'namespace', 'selfLink', 'uid', 'resourceVersion'),
  ...textsNamed('creationTimestamp', 'deletionTimestamp'),
  generation: 'int64',
  deletionGracePeriodSeconds: 'int64',
  labels: textMap,
  annotations: textMap,
  finalizers: texts,
  ownerReferences: listOf('OwnerReference', {
    ...textsNamed('apiVersion', 'kind', 'name', 'uid'),
    controller: 'bool',
    blockOwnerDeletion: 'bool',
  }),
  managedFields: listOf('ManagedFieldsEntry', owner),
})

const container = listOf('Container', {
  ...textsNamed('name', 'image', 'imagePullPolicy'),
  command: texts,
  args: texts,
})

const podSpec = struct('PodSpec', {
  ...textsNamed('serviceAccountName', 'serviceAccount', 'nodeName', 'hostname', 'subdomain', 'restartPolicy'),
  containers: container,
  initContainers: container,
  nodeSelector: textMap,
  volumes: listOf('Volume', textsNamed('name')),
  terminationGracePeriodSeconds: 'int64',
})

const selector = struct('LabelSelector', {
  matchLabels: textMap,
  matchExpressions: listOf('LabelSelectorRequirement', { ...textsNamed('key', 'operator'), values: texts }),
})

const workloadSpec = (name: string): FieldType =>
  struct(name, {
    replicas: 'int32',
    revisionHistoryLimit: 'int32',
    minReadySeconds: 'int32',
    serviceName: 'string',
    ordinals: struct('StatefulSetOrdinals', { start: 'int32' }),
    selector,
    template: struct('PodTemplateSpec', { metadata, spec: podSpec }),
  })

const servicePort = { ...textsNamed('name', 'protocol'), port: 'int32', nodePort: 'int32' } as const

const serviceSpec = struct('ServiceSpec', {
  ...textsNamed('type', 'clusterIP', 'externalName'),
  clusterIPs: texts,
  selector: textMap,
  ports: listOf('ServicePort', servicePort),
})

const autoscalerSpec = struct('HorizontalPodAutoscalerSpec', {
  minReplicas: 'int32',
  maxReplicas: 'int32',
  scaleTargetRef: struct('CrossVersionObjectReference', textsNamed('apiVersion', 'kind', 'name')),
})

const attributes = textsNamed('namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name')

const reference = textsNamed('apiVersion', 'kind', 'namespace', 'name', 'uid', 'resourceVersion', 'fieldPath')

/** The members of each kind beyond its metadata, as far as something here reads them. */
const membersByKind: Readonly<Record<string, Readonly<Record<string, FieldType>>>> = {
  ConfigMap: { data: textMap, binaryData: textMap, immutable: 'bool' },
  Secret: { data: textMap, stringData: textMap, type: 'string', immutable: 'bool' },
  Service: { spec: serviceSpec },
  Pod: { spec: podSpec },
  StatefulSet: { spec: workloadSpec('StatefulSetSpec') },
  Deployment: { spec: workloadSpec('DeploymentSpec') },
  HorizontalPodAutoscaler: { spec: autoscalerSpec },
  Event: { involvedObject: struct('ObjectReference', reference), ...textsNamed('reason', 'message', 'type') },
  TokenReview: { spec: struct('TokenReviewSpec', { token: 'string', audiences: texts }) },
  SubjectAccessReview: {
    spec: struct('SubjectAccessReviewSpec', {
      user: 'string',
      groups: texts,
      resourceAttributes: struct('ResourceAttributes', attributes),
    }),
  },
  DeleteOptions: {
    propagationPolicy: 'string',
    orphanDependents: 'bool',
    gracePeriodSeconds: 'int64',
    dryRun: texts,
    preconditions: struct('Preconditions', textsNamed('uid', 'resourceVersion')),
  },
}

/** The first value in an object that its field cannot hold; undefined when there is none. */
export const wrongType = (object: JsonMap, { kind }: Pick<Kind, 'kind'>): WrongType | undefined => {
  const common = {
    apiVersion: 'string',
    kind: 'string',
    metadata,
    spec: struct('Spec'),
    status: struct('Status'),
  } as const
  return wrongIn(object, struct(kind, { ...common, ...membersByKind[kind] }))
}
