import { expect, test } from 'vitest'
import {
  type Client,
  CONFIG_MAPS,
  configMap,
  createClient,
  DEPLOYMENTS,
  PODS,
  STATEFUL_SETS,
  workload,
} from '../client.ts'

// biome-ignore lint/suspicious/noExplicitAny: a pod as the server answers it
const pods = (client: Client): any[] => client.get(PODS).object.items
const names = (client: Client): string[] => pods(client).map(({ metadata }) => metadata.name)
const uids = (client: Client): string[] => pods(client).map(({ metadata }) => metadata.uid)
const relabel = (client: Client, path: string, labels: Record<string, string>) =>
  client.patch(`${path}/web`, 'merge', { spec: { template: { metadata: { labels } } } })

test('a StatefulSet has a numbered, ready pod for each replica, with the labels of its template', () => {
  const client = createClient()
  const { object } = client.post(STATEFUL_SETS, workload('StatefulSet', { replicas: 2 }, { team: 'blue' }))
  expect(names(client)).toEqual(['web-0', 'web-1'])
  const [pod] = pods(client)
  expect(pod.metadata.labels).toEqual({
    app: 'web',
    team: 'blue',
    'apps.kubernetes.io/pod-index': '0',
    'controller-revision-hash': object.status.updateRevision,
    'statefulset.kubernetes.io/pod-name': 'web-0',
  })
  expect(pod.metadata.ownerReferences).toEqual([
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      name: 'web',
      uid: object.metadata.uid,
      controller: true,
      blockOwnerDeletion: true,
    },
  ])
  expect(pod.status.phase).toBe('Running')
  expect(pod.status.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }))
  expect(pod.metadata.managedFields.map(({ manager }: { manager: string }) => manager)).toEqual([
    'kube-controller-manager',
    'kube-controller-manager',
  ])
  expect(object.status).toMatchObject({ replicas: 2, readyReplicas: 2, updatedReplicas: 2, observedGeneration: 1 })
})

test('a Deployment has pods of a ReplicaSet named by the hash of its template', () => {
  const client = createClient()
  client.post(DEPLOYMENTS, workload('Deployment', { replicas: 2 }))
  const [first, second] = pods(client)
  const hash = first.metadata.labels['pod-template-hash']
  expect(first.metadata.name).toMatch(new RegExp(`^web-${hash}-[a-z0-9]{5}$`))
  expect(first.metadata.name).not.toBe(second.metadata.name)
  expect(first.metadata.ownerReferences[0]).toMatchObject({ kind: 'ReplicaSet', name: `web-${hash}`, controller: true })
  expect(first.metadata.ownerReferences[0].uid).toBe(second.metadata.ownerReferences[0].uid)
})

test.each([
  ['StatefulSet', STATEFUL_SETS],
  ['Deployment', DEPLOYMENTS],
] as const)('a %s gets other pods when its template changes, and keeps them otherwise', (kind, path) => {
  const client = createClient()
  client.post(path, workload(kind, { replicas: 2 }))
  const before = uids(client)
  client.patch(`${path}/web`, 'merge', { metadata: { labels: { a: 'b' } } })
  expect(uids(client)).toEqual(before)
  const { object } = relabel(client, path, { mesh: 'on' })
  expect(uids(client)).toHaveLength(2)
  expect(uids(client).filter((uid) => before.includes(uid))).toEqual([])
  expect(pods(client).map(({ metadata }) => metadata.labels.mesh)).toEqual(['on', 'on'])
  expect(object.metadata.generation).toBe(2)
  expect(object.status.observedGeneration).toBe(2)
})

test.each([
  ['StatefulSet', STATEFUL_SETS],
  ['Deployment', DEPLOYMENTS],
] as const)('a %s scales, makes a lost pod again, and takes its pods with it', (kind, path) => {
  const client = createClient()
  client.post(path, workload(kind))
  expect(names(client)).toHaveLength(1)
  client.patch(`${path}/web`, 'merge', { spec: { replicas: 3 } })
  const [lost, ...others] = uids(client)
  expect(client.delete(`${PODS}/${names(client)[0]}`).object.details.uid).toBe(lost)
  expect(uids(client)).toHaveLength(3)
  expect(uids(client)).not.toContain(lost)
  expect(uids(client)).toEqual(expect.arrayContaining(others))
  client.patch(`${path}/web`, 'merge', { spec: { replicas: 0 } })
  expect(names(client)).toEqual([])
  client.patch(`${path}/web`, 'merge', { spec: { replicas: 1 } })
  client.delete(`${path}/web`, { propagationPolicy: 'Foreground' })
  expect(names(client)).toEqual([])
})

test.each([
  [
    'StatefulSet',
    STATEFUL_SETS,
    { updateStrategy: { type: 'OnDelete' } },
    { updateStrategy: { type: 'RollingUpdate' } },
  ],
  [
    'StatefulSet',
    STATEFUL_SETS,
    { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } },
    { updateStrategy: { rollingUpdate: { partition: 0 } } },
  ],
  [
    'StatefulSet',
    STATEFUL_SETS,
    { ordinals: { start: 3 }, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } },
    { updateStrategy: { rollingUpdate: { partition: 0 } } },
  ],
  ['Deployment', DEPLOYMENTS, { paused: true }, { paused: null }],
] as const)('a %s that waits with its rollout keeps its pods until it goes on', (kind, path, waiting, going) => {
  const client = createClient()
  client.post(path, workload(kind, { replicas: 2, ...waiting }))
  const before = uids(client)
  relabel(client, path, { team: 'red' })
  expect(uids(client)).toEqual(before)
  const { status } = client.get(`${path}/web`).object
  expect(status).toMatchObject({ replicas: 2, readyReplicas: 2, observedGeneration: 2 })
  expect(status).not.toHaveProperty('updatedReplicas')
  client.patch(`${path}/web`, 'merge', { spec: going })
  expect(pods(client).map(({ metadata }) => metadata.labels.team)).toEqual(['red', 'red'])
  expect(client.get(`${path}/web`).object.status).toMatchObject({ updatedReplicas: 2 })
})

test('a pod of a StatefulSet that waits for its deletion comes back with the present template', () => {
  const client = createClient()
  client.post(STATEFUL_SETS, workload('StatefulSet', { replicas: 2, updateStrategy: { type: 'OnDelete' } }))
  relabel(client, STATEFUL_SETS, { team: 'red' })
  client.delete(`${PODS}/web-1`)
  expect(pods(client).map(({ metadata }) => metadata.labels.team)).toEqual([undefined, 'red'])
  expect(client.get(`${STATEFUL_SETS}/web`).object.status).toMatchObject({ updatedReplicas: 1 })
})

test('workloads whose names begin alike keep to their own pods', () => {
  const client = createClient()
  client.post(DEPLOYMENTS, workload('Deployment'))
  client.post(DEPLOYMENTS, { ...workload('Deployment'), metadata: { name: 'web-api' } })
  client.delete(`${DEPLOYMENTS}/web`)
  expect(names(client)).toEqual([expect.stringMatching(/^web-api-/)])
})

test('labels that someone puts on a pod stay until the template changes', () => {
  const client = createClient()
  client.post(STATEFUL_SETS, workload('StatefulSet'))
  client.patch(`${PODS}/web-0`, 'merge', { metadata: { labels: { mesh: 'on' } } })
  client.patch(`${STATEFUL_SETS}/web`, 'merge', { spec: { replicas: 2 } })
  expect(pods(client).map(({ metadata }) => metadata.labels.mesh)).toEqual(['on', undefined])
})

test('listeners hear of a rollout in order, after it is stored', () => {
  const client = createClient()
  client.post(STATEFUL_SETS, workload('StatefulSet'))
  const heard: string[] = []
  client.api.subscribe(({ type, object }) => {
    heard.push(`${type} ${object.kind} ${object.metadata.name}`)
    expect(client.get(`${STATEFUL_SETS}/web`).object.status.observedGeneration).toBe(2)
  })
  relabel(client, STATEFUL_SETS, { mesh: 'on' })
  expect(heard).toEqual([
    'MODIFIED StatefulSet web',
    'DELETED Pod web-0',
    'ADDED Pod web-0',
    'MODIFIED StatefulSet web',
  ])
})

test.each([
  ['StatefulSet', STATEFUL_SETS],
  ['Deployment', DEPLOYMENTS],
] as const)('a %s that goes with its owner takes its pods along', (kind, path) => {
  const client = createClient()
  const { uid } = client.post(CONFIG_MAPS, configMap('owner')).object.metadata
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }
  client.post(path, { ...workload(kind, { replicas: 2 }), metadata: { name: 'web', ownerReferences: [owner] } })
  expect(names(client)).toHaveLength(2)
  client.delete(`${CONFIG_MAPS}/owner`)
  expect(names(client)).toEqual([])
})

test('a namespace takes everything in it', () => {
  const client = createClient()
  client.api.seed([{ ...workload('StatefulSet'), metadata: { name: 'web', namespace: 'shop' } }], { manager: 'juju' })
  expect(client.delete('/api/v1/namespaces/shop').status).toBe(200)
  expect(client.api.objects().map(({ metadata }) => metadata.name)).toEqual(['default'])
})

test('an object with finalizers stays until they are gone', () => {
  const client = createClient()
  const path = '/api/v1/namespaces/default/configmaps'
  client.post(path, { metadata: { name: 'a', finalizers: ['example.com/keep'] } })
  expect(client.delete(`${path}/a`).status).toBe(200)
  expect(client.get(`${path}/a`).object.metadata.deletionTimestamp).toBeDefined()
  client.patch(`${path}/a`, 'merge', { metadata: { finalizers: null } })
  expect(client.get(`${path}/a`).status).toBe(404)
})

test('a StatefulSet whose containers mount its claims has pods', () => {
  const client = createClient()
  const { spec, ...object } = workload('StatefulSet', { replicas: 1 })
  const { template, ...others } = spec as { template: { metadata: object; spec: { containers: object[] } } }
  const containers = template.spec.containers.map((one) => ({
    ...one,
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
  }))
  const claim = {
    metadata: { name: 'data' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  }
  client.post(STATEFUL_SETS, {
    ...object,
    spec: {
      ...others,
      volumeClaimTemplates: [claim],
      template: { ...template, spec: { ...template.spec, containers } },
    },
  })
  expect(names(client)).toEqual(['web-0'])
})
