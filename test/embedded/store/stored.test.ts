import { describe, expect, test } from 'vitest'
import { createClient, DEPLOYMENTS, PODS, SERVICES, STATEFUL_SETS, workload } from '../client.ts'

type Body = Record<string, unknown>

const created = (collection: string, object: Body) => {
  const { status, object: answer } = createClient().post(collection, object)
  expect([status, answer.message]).toEqual([201, undefined])
  return answer
}

const template = (spec: Body, container: Body = {}) => ({
  template: {
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'c', image: 'x:1', ...container }], ...spec },
  },
})

/** The pod template that is stored for these fields of a pod's spec and of its container. */
const storedPod = (spec: Body, container: Body = {}) =>
  created(DEPLOYMENTS, workload('Deployment', template(spec, container))).spec.template.spec

const volume = (source: Body) => storedPod({ volumes: [{ name: 'v', ...source }] }).volumes[0]

describe('what a typed object cannot tell from nothing is not stored', () => {
  test.each<[what: string, spec: Body]>([
    ['false', { hostNetwork: false, hostPID: false, hostIPC: false }],
    ['an empty text', { nodeName: '', hostname: '', subdomain: '', priorityClassName: '' }],
    ['an empty list', { initContainers: [], volumes: [], tolerations: [], imagePullSecrets: [], hostAliases: [] }],
    ['an empty map', { nodeSelector: {}, overhead: {} }],
    ['null', { affinity: null, nodeSelector: null, hostNetwork: null }],
  ])('%s of a pod', (_, spec) => {
    expect(storedPod(spec)).toEqual(storedPod({}))
  })

  test.each<[what: string, container: Body]>([
    ['false', { stdin: false, stdinOnce: false, tty: false }],
    ['an empty text', { workingDir: '', imagePullPolicy: '', terminationMessagePath: '' }],
    ['an empty list', { command: [], args: [], env: [], envFrom: [], ports: [], volumeMounts: [] }],
    ['an empty map', { resources: { limits: {}, requests: {} } }],
  ])('%s of a container', (_, container) => {
    expect(storedPod({}, container)).toEqual(storedPod({}))
  })

  test('zero of a probe is its default', () => {
    const probe = { tcpSocket: { port: 80 }, initialDelaySeconds: 0, timeoutSeconds: 0, periodSeconds: 0 }
    expect(storedPod({}, { livenessProbe: probe }).containers[0].livenessProbe).toEqual({
      tcpSocket: { port: 80 },
      timeoutSeconds: 1,
      periodSeconds: 10,
      successThreshold: 1,
      failureThreshold: 3,
    })
  })

  test('the empty maps and lists of metadata and of data', () => {
    const config = { labels: {}, annotations: {}, finalizers: [], ownerReferences: [] }
    const { metadata, ...rest } = created('/api/v1/namespaces/default/configmaps', {
      metadata: { name: 'a', ...config },
      data: {},
      binaryData: {},
    })
    expect(Object.keys(rest)).toEqual(['apiVersion', 'kind'])
    for (const key of Object.keys(config)) expect(metadata).not.toHaveProperty(key)
  })

  test('what a pointer or an entry of a map holds stays', () => {
    const context = { privileged: false, runAsUser: 0, readOnlyRootFilesystem: false }
    const spec = storedPod(
      { automountServiceAccountToken: false, terminationGracePeriodSeconds: 0, nodeSelector: { a: '' } },
      { securityContext: context },
    )
    expect(spec).toMatchObject({
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      nodeSelector: { a: '' },
    })
    expect(spec.containers[0].securityContext).toEqual(context)
    expect(created(DEPLOYMENTS, workload('Deployment', { replicas: 0 })).spec.replicas).toBe(0)
    expect(volume({ emptyDir: {} })).toEqual({ name: 'v', emptyDir: {} })
    expect(volume({ csi: { driver: 'a', readOnly: false } }).csi).toEqual({ driver: 'a', readOnly: false })
    expect(volume({ nfs: { server: 'a', path: '/', readOnly: false } }).nfs).toEqual({ server: 'a', path: '/' })
    expect(created(STATEFUL_SETS, workload('StatefulSet', { ordinals: {} })).spec.ordinals).toEqual({ start: 0 })
  })

  test('the same is no change, applied or not', () => {
    const client = createClient()
    const lean = workload('Deployment', template({}))
    const wordy = workload('Deployment', {
      paused: false,
      ...template({ hostNetwork: false }, { command: [], tty: false }),
    })
    const apply = (object: Body) => client.patch(`${DEPLOYMENTS}/web?fieldManager=m`, 'apply', object).object.metadata
    apply(lean)
    const first = apply(wordy)
    expect([first.generation, apply(wordy).resourceVersion]).toEqual([1, first.resourceVersion])
  })
})

describe('a quantity is stored in its canonical form', () => {
  const forms: [sent: string | number, stored: string][] = [
    ['0.5', '500m'],
    [1, '1'],
    [0.1, '100m'],
    ['1000m', '1'],
    ['250u', '250u'],
    ['0.1n', '1n'],
    ['3.001n', '4n'],
    ['1.5m', '1500u'],
    ['1e-9', '1e-9'],
    ['1000n', '1u'],
    ['1500m', '1500m'],
    ['1000', '1k'],
    ['1024', '1024'],
    ['1024Mi', '1Gi'],
    ['1.5Gi', '1536Mi'],
    ['1023Ki', '1023Ki'],
    ['0.5Ki', '512'],
    ['1e3', '1e3'],
    ['1E3', '1e3'],
    ['12e4', '120e3'],
    ['+1', '1'],
    ['01', '1'],
    ['0', '0'],
    ['0Mi', '0'],
    ['1.', '1'],
    ['.5', '500m'],
    ['100000k', '100M'],
    ['0.0001', '100u'],
    ['0.1Gi', '107374182400m'],
    ['1E', '1E'],
    ['1000P', '1E'],
    ['10E', '10E'],
    ['1000E', '1e21'],
    ['1e18', '1e18'],
    ['1e21', '1e21'],
  ]
  test.each(forms)('%s is %s', (sent, stored) => {
    const { resources } = storedPod({}, { resources: { limits: { memory: sent } } }).containers[0]
    expect(resources.limits.memory).toBe(stored)
  })

  test('also that of a claim and of a volume', () => {
    const storage = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1024Mi' } } }
    const claims = { volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: storage }] }
    const { spec } = created(STATEFUL_SETS, workload('StatefulSet', claims))
    expect(spec.volumeClaimTemplates[0].spec.resources.requests.storage).toBe('1Gi')
    expect(volume({ emptyDir: { sizeLimit: '2048Ki' } }).emptyDir.sizeLimit).toBe('2Mi')
  })
})

describe('a default is stored', () => {
  test.each<[what: string, source: Body, stored: Body]>([
    ['the type of a path of the host', { hostPath: { path: '/a' } }, { hostPath: { path: '/a', type: '' } }],
    [
      'the mode of the files of a secret',
      { secret: { secretName: 's' } },
      { secret: { secretName: 's', defaultMode: 420 } },
    ],
    ['a directory for a volume without a source', {}, { emptyDir: {} }],
    [
      'the life of a token',
      { projected: { sources: [{ serviceAccountToken: { path: 't' } }] } },
      { projected: { defaultMode: 420, sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 3600 } }] } },
    ],
    [
      'the version of a field',
      { downwardAPI: { items: [{ path: 'a', fieldRef: { fieldPath: 'metadata.name' } }] } },
      {
        downwardAPI: {
          defaultMode: 420,
          items: [{ path: 'a', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } }],
        },
      },
    ],
    [
      'the mode of a claim of its own',
      { ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'] } } } },
      {
        ephemeral: {
          volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], resources: {}, volumeMode: 'Filesystem' } },
        },
      },
    ],
  ])('%s', (_, source, stored) => {
    expect(volume(source)).toMatchObject({ name: 'v', ...stored })
  })

  test('those of handlers of a container’s life', () => {
    const lifecycle = { preStop: { httpGet: { port: 80 } } }
    expect(storedPod({}, { lifecycle }).containers[0].lifecycle).toEqual({
      preStop: { httpGet: { port: 80, path: '/', scheme: 'HTTP' } },
    })
    const probe = { grpc: { port: 80 } }
    expect(storedPod({}, { readinessProbe: probe }).containers[0].readinessProbe.grpc).toEqual({
      port: 80,
      service: '',
    })
  })

  test.each<[strategy: Body, stored: Body]>([
    [{}, { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } }],
    [{ type: 'RollingUpdate' }, { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } }],
    [
      { rollingUpdate: { maxSurge: 1 } },
      { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: '25%' } },
    ],
    [{ type: 'Recreate' }, { type: 'Recreate' }],
  ])('the strategy %j of a Deployment is %j', (strategy, stored) => {
    expect(created(DEPLOYMENTS, workload('Deployment', { strategy })).spec.strategy).toEqual(stored)
  })

  test.each<[strategy: Body, stored: Body]>([
    [{}, { type: 'RollingUpdate', rollingUpdate: { partition: 0 } }],
    [{ type: 'RollingUpdate' }, { type: 'RollingUpdate' }],
    [
      { type: 'RollingUpdate', rollingUpdate: {} },
      { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
    ],
    [{ type: 'OnDelete' }, { type: 'OnDelete' }],
  ])('the strategy %j of a StatefulSet is %j', (updateStrategy, stored) => {
    const { spec } = created(STATEFUL_SETS, workload('StatefulSet', { updateStrategy, podManagementPolicy: '' }))
    expect([spec.updateStrategy, spec.podManagementPolicy]).toEqual([stored, 'OrderedReady'])
  })

  test('a template of a claim is a claim', () => {
    const storage = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
    const claims = {
      persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete' },
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: storage }],
    }
    const { spec } = created(STATEFUL_SETS, workload('StatefulSet', claims))
    expect(spec.volumeClaimTemplates).toEqual([
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'data' },
        spec: { ...storage, volumeMode: 'Filesystem' },
        status: { phase: 'Pending' },
      },
    ])
    expect(spec.persistentVolumeClaimRetentionPolicy).toEqual({ whenDeleted: 'Retain', whenScaled: 'Delete' })
  })

  test('the requests of a pod are its limits, and its ports those of the host whose network it has', () => {
    const container = { resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '0.5' } } }
    const { template: pod } = template({ hostNetwork: true }, { ...container, ports: [{ containerPort: 80 }] })
    const { spec } = created(PODS, { metadata: { name: 'a' }, spec: pod.spec })
    expect(spec.containers[0]).toMatchObject({
      resources: { requests: { cpu: '500m', memory: '1Gi' } },
      ports: [{ containerPort: 80, hostPort: 80, protocol: 'TCP' }],
    })
    expect(spec.enableServiceLinks).toBe(true)
  })

  test('the port of a Service that names none leads to its own', () => {
    const { spec } = created(SERVICES, {
      metadata: { name: 'a' },
      spec: { ports: [{ port: 80, targetPort: 0 }], sessionAffinity: 'ClientIP' },
    })
    expect(spec).toMatchObject({
      ports: [{ port: 80, targetPort: 80, protocol: 'TCP' }],
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 10800 } },
    })
  })
})

describe('a Service of another type', () => {
  const web = (spec: Body) => ({ metadata: { name: 'a' }, spec: { ports: [{ port: 80 }], ...spec } })
  const retyped = (before: Body, change: Body) => {
    const client = createClient()
    client.post(SERVICES, web(before))
    const { object } = client.patch(`${SERVICES}/a`, 'strategic', { spec: change })
    return object.spec ?? object.message
  }
  const inside = createClient().post(SERVICES, web({})).object.spec

  test.each<[type: string]>([['NodePort'], ['LoadBalancer']])('is no longer reached by nodes: %s', (type) => {
    expect(retyped({ type }, { type: 'ClusterIP' })).toEqual(inside)
  })

  test('has no address where it is a name', () => {
    expect(retyped({}, { type: 'ExternalName', externalName: 'a.b' })).toEqual({
      type: 'ExternalName',
      externalName: 'a.b',
      sessionAffinity: 'None',
      internalTrafficPolicy: 'Cluster',
      ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
    })
  })

  test('has an address when it is a name no longer', () => {
    const before = { type: 'ExternalName', externalName: 'a.b', internalTrafficPolicy: 'Cluster' }
    expect(retyped(before, { type: 'ClusterIP', externalName: null })).toEqual(inside)
  })
})
