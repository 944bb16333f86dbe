import { describe, expect, test } from 'vitest'
import { type Client, createClient, DEPLOYMENTS, PODS, STATEFUL_SETS, workload } from '../client.ts'

const STATE = 'embedded.meshstep.dev/pod'

type Pod = {
  metadata: { name: string; deletionTimestamp?: string }
  status: {
    phase: string
    reason?: string
    conditions: { type: string; status: string }[]
    containerStatuses?: { state: { waiting?: { reason: string } } }[]
  }
}

const podsOf = (client: Client): Pod[] => client.get(PODS).object.items

const seen = ({ metadata, status }: Pod) => ({
  phase: status.phase,
  reason: status.reason ?? status.containerStatuses?.[0]?.state.waiting?.reason,
  isReady: status.conditions.find(({ type }) => type === 'Ready')?.status === 'True',
  isGoing: metadata.deletionTimestamp !== undefined,
})

const annotated = (state: string) => ({
  metadata: { labels: { app: 'web' }, annotations: { [STATE]: state } },
  spec: { containers: [{ name: 'c', image: 'example.invalid/x:1' }] },
})

const rows = [
  ['pending', { phase: 'Pending', reason: undefined, isReady: false, isGoing: false }],
  ['image-pull', { phase: 'Pending', reason: 'ImagePullBackOff', isReady: false, isGoing: false }],
  ['crash-loop', { phase: 'Running', reason: 'CrashLoopBackOff', isReady: false, isGoing: false }],
  ['not-ready', { phase: 'Running', reason: undefined, isReady: false, isGoing: false }],
  ['evicted', { phase: 'Failed', reason: 'Evicted', isReady: false, isGoing: false }],
  ['terminating', { phase: 'Running', reason: undefined, isReady: true, isGoing: true }],
  ['anything else', { phase: 'Running', reason: undefined, isReady: true, isGoing: false }],
] as const

describe.each(['Deployment', 'StatefulSet'] as const)('the annotation of a pod template, of a %s', (kind) => {
  const collection = kind === 'Deployment' ? DEPLOYMENTS : STATEFUL_SETS
  test.each(rows)('%s: its pods look like it, and its status counts those that are ready', (state, looks) => {
    const client = createClient()
    client.post(collection, workload(kind, { replicas: 2, template: annotated(state) }))
    expect(podsOf(client).map(seen)).toEqual([looks, looks])
    const { status } = client.get(`${collection}/web`).object
    const ready = looks.isReady && !looks.isGoing ? 2 : undefined
    expect([status.replicas, status.readyReplicas]).toEqual([2, ready])
  })
})

describe('the annotation of one pod', () => {
  const annotate = (client: Client, name: string, state: string | null) =>
    client.patch(`${PODS}/${name}`, 'merge', { metadata: { annotations: { [STATE]: state } } })

  test.each(['evicted', 'terminating'])('%s: a Deployment makes another pod beside it', (state) => {
    const client = createClient()
    client.post(DEPLOYMENTS, workload('Deployment'))
    const first = podsOf(client)[0]?.metadata.name ?? ''
    expect(annotate(client, first, state).status).toBe(200)
    const pods = podsOf(client)
    expect(pods).toHaveLength(2)
    expect(pods.filter((pod) => seen(pod).isReady && !seen(pod).isGoing)).toHaveLength(1)
    expect(client.get(`${DEPLOYMENTS}/web`).object.status.readyReplicas).toBe(1)
    client.delete(`${PODS}/${first}`)
    expect(podsOf(client).map(({ metadata }) => metadata.name)).not.toContain(first)
  })

  test('evicted: a pod of a StatefulSet stays until it is deleted, and is well again without the annotation', () => {
    const client = createClient()
    client.post(STATEFUL_SETS, workload('StatefulSet'))
    annotate(client, 'web-0', 'evicted')
    expect(podsOf(client).map(seen)).toMatchObject([{ phase: 'Failed' }])
    annotate(client, 'web-0', null)
    expect(podsOf(client).map(seen)).toMatchObject([{ phase: 'Running', isReady: true }])
    expect(client.get(`${STATEFUL_SETS}/web`).object.status.readyReplicas).toBe(1)
  })

  test('pending: a pod that nobody makes another of runs without the annotation', () => {
    const client = createClient()
    const { spec, metadata } = annotated('pending')
    client.post(PODS, { metadata: { name: 'a', annotations: metadata.annotations }, spec })
    expect(annotate(client, 'a', null).object.spec.nodeName).toBe('node')
    expect(podsOf(client).map(seen)).toMatchObject([{ phase: 'Running', isReady: true }])
  })

  test('terminating: a pod is gone when the annotation goes', () => {
    const client = createClient()
    client.post(STATEFUL_SETS, workload('StatefulSet'))
    const { uid } = client.get(`${PODS}/web-0`).object.metadata
    annotate(client, 'web-0', 'terminating')
    expect(client.get(`${PODS}/web-0`).object.metadata.uid).toBe(uid)
    annotate(client, 'web-0', null)
    expect(client.get(`${PODS}/web-0`).object.metadata.uid).not.toBe(uid)
  })
})
