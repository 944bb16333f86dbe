import { describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { application, createMesh, type Mesh } from '../../helpers/mesh.ts'
import { custom, pods } from '../../mesh/istio/bookinfo.ts'

const AMBIENT = { 'istio.io/dataplane-mode': 'ambient' }
const TIER = { ...AMBIENT, tier: 'a' }
const STATEFUL = { kind: 'StatefulSet' } as const
const PORTS = [{ port: 9080, targetPort: 'http' }]
const named = (containerPort: number) => [{ name: 'c', image: 'x:1', ports: [{ name: 'http', containerPort }] }]

const identity = (serviceAccount: string) => ({
  from: [{ source: { principals: [`cluster.local/ns/shop/sa/${serviceAccount}`] } }],
})
const admitWeb = custom('admit-web', { ...pods('details'), rules: [identity('web')] })
const denyTier = custom('deny-tier', { selector: { matchLabels: { tier: 'a' } }, action: 'DENY', rules: [{}] })
const admitPort = custom('admit-port', {
  ...pods('details'),
  rules: [{ to: [{ operation: { ports: ['8000'] } }] }],
})

const client = (serviceAccountName: string, changes: Parameters<typeof application>[1] = {}) =>
  application('productpage', { kind: 'Deployment', labels: AMBIENT, podSpec: { serviceAccountName }, ...changes })
const target = (changes: Parameters<typeof application>[1] = {}) =>
  application('details', { kind: 'Deployment', labels: AMBIENT, ...changes })

/** Applies as a person does who has paused the rollout: the pods stay as they are. */
const changeTemplate = (mesh: Mesh, name: string, template: object) =>
  patch(mesh, `/apis/apps/v1/namespaces/shop/deployments/${name}`, { spec: { paused: true, template } })

const patch = (mesh: Mesh, path: string, change: object) => {
  const headers = { 'content-type': 'application/merge-patch+json' }
  const { status } = mesh.api.handle({ method: 'PATCH', path, headers, body: JSON.stringify(change) })
  expect(status).toBe(200)
}

const podsNamed = (mesh: Mesh, name: string): KubernetesObject[] =>
  mesh.api
    .objects()
    .filter(({ kind, metadata }) => kind === 'Pod' && metadata.labels?.['app.kubernetes.io/name'] === name)

/** Labels one of the running pods by hand; null takes a label off. */
const labelPod = (mesh: Mesh, name: string, labels: Record<string, string | null>, index = 1) =>
  patch(mesh, `/api/v1/namespaces/shop/pods/${podsNamed(mesh, name)[index]?.metadata.name}`, { metadata: { labels } })

/** Applies a template to a StatefulSet, and replaces the second of its pods alone. */
const replaceOne = (mesh: Mesh, name: string, spec: object) => {
  const change = { spec: { updateStrategy: { type: 'OnDelete', rollingUpdate: null }, template: { spec } } }
  patch(mesh, `/apis/apps/v1/namespaces/shop/statefulsets/${name}`, change)
  mesh.api.handle({ method: 'DELETE', path: `/api/v1/namespaces/shop/pods/${name}-1`, headers: {}, body: '' })
  expect(podsNamed(mesh, name)).toHaveLength(2)
}

describe('a template that has not come to the pods says nothing', () => {
  test.each([
    ['web', 'default', true],
    ['default', 'web', false],
  ])(
    'a template that has not come to the pods says nothing about the identity of the client: its pods run as %s',
    async (runs, template, allowed) => {
      const mesh = createMesh([...client(runs), ...target(), admitWeb])
      changeTemplate(mesh, 'productpage', { spec: { serviceAccountName: template } })
      const answer = await mesh.explain()
      expect(answer).toMatchObject({ allowed, decided: true })
      expect(answer.sentence).toContain(`shop/${runs} may`)
    },
  )

  test.each<[string, Record<string, string>, string | null, boolean]>([
    ['keep a label that it lost', TIER, null, false],
    ['have no label that it got', AMBIENT, 'a', true],
  ])(
    'a template that has not come to the pods says nothing about what holds for the destination: its pods %s',
    async (_, labels, tier, allowed) => {
      const mesh = createMesh([...client('web'), ...target({ labels }), denyTier])
      changeTemplate(mesh, 'details', { metadata: { labels: { tier } } })
      expect(await mesh.explain()).toMatchObject({ allowed, decided: true })
    },
  )

  test('a template that has not come to the pods says nothing about the port that a name stands for', async () => {
    const podSpec = { containers: named(8000) }
    const mesh = createMesh([...client('web'), ...target({ podSpec, serviceSpec: { ports: PORTS } }), admitPort])
    changeTemplate(mesh, 'details', { spec: { containers: named(8001) } })
    expect(await mesh.explain()).toMatchObject({ allowed: true, decided: true })
  })

  test('a template that has not come to the pods says nothing about whom the Service selects', async () => {
    const serviceSpec = { selector: { tier: 'a' } }
    const mesh = createMesh([...client('web'), ...target({ labels: TIER, serviceSpec })])
    changeTemplate(mesh, 'details', { metadata: { labels: { tier: null } } })
    expect(await mesh.explain()).toMatchObject({ allowed: true, decided: true })
  })

  test('a template that has not come to the pods says nothing, unless no pod runs', async () => {
    const mesh = createMesh([...client('default', { replicas: 0 }), ...target({ replicas: 0 }), admitWeb])
    expect(await mesh.explain()).toMatchObject({ allowed: false, decided: true })
    changeTemplate(mesh, 'productpage', { spec: { serviceAccountName: 'web' } })
    expect(await mesh.explain()).toMatchObject({ allowed: true, decided: true })
    changeTemplate(mesh, 'details', { metadata: { labels: { tier: 'a' } } })
    patch(mesh, '/apis/security.istio.io/v1/namespaces/shop/authorizationpolicies/admit-web', {
      spec: { selector: { matchLabels: { tier: 'a' } }, action: 'DENY' },
    })
    expect(await mesh.explain()).toMatchObject({ allowed: false, decided: true })
  })
})

describe('an answer that depends on which of the running pods takes part is not decided', () => {
  test('where they run as different ServiceAccounts', async () => {
    const mesh = createMesh([...client('web', STATEFUL), ...target(), admitWeb])
    replaceOne(mesh, 'productpage', { serviceAccountName: 'default' })
    const answer = await mesh.explain()
    expect(answer).toMatchObject({ allowed: false, decided: false })
    expect(answer.sentence).toMatch(/: of the client the pods have different ServiceAccounts\.$/)
  })

  test('where a policy selects some of them', async () => {
    const mesh = createMesh([...client('web', STATEFUL), ...target(), denyTier])
    labelPod(mesh, 'details', { tier: 'a' })
    const answer = await mesh.explain()
    expect(answer).toMatchObject({ allowed: false, decided: false })
    expect(answer.sentence).toMatch(/: of the destination the pods have different labels\.$/)
  })

  test('where a name stands for different ports', async () => {
    const podSpec = { containers: named(8000) }
    const mesh = createMesh([
      ...client('web', STATEFUL),
      ...target({ ...STATEFUL, podSpec, serviceSpec: { ports: PORTS } }),
      admitPort,
    ])
    replaceOne(mesh, 'details', { containers: named(8001) })
    const answer = await mesh.explain()
    expect(answer).toMatchObject({ allowed: false, decided: false })
    expect(answer.sentence).toMatch(/: of the destination the pods have different named ports\.$/)
  })

  test('where the Service selects some of them', async () => {
    const serviceSpec = { selector: { tier: 'a' } }
    const mesh = createMesh([...client('web', STATEFUL), ...target({ labels: TIER, serviceSpec })])
    labelPod(mesh, 'details', { tier: null })
    expect(await mesh.explain()).toMatchObject({ allowed: false, decided: false })
  })

  test('where only a certain one may not reach a certain other', async () => {
    const denied = { selector: { matchLabels: { tier: 'a' } }, action: 'DENY' as const, rules: [identity('web')] }
    const mesh = createMesh([...client('default', STATEFUL), ...target(), custom('deny', denied)])
    expect(await mesh.explain()).toMatchObject({ allowed: true, decided: true })
    replaceOne(mesh, 'productpage', { serviceAccountName: 'web' })
    expect(await mesh.explain()).toMatchObject({ allowed: true, decided: true })
    labelPod(mesh, 'details', { tier: 'a' })
    const answer = await mesh.explain()
    expect(answer).toMatchObject({ allowed: false, decided: false })
    expect(answer.sentence).toMatch(
      /: of the client the pods have different ServiceAccounts, and of the destination the pods have different labels\.$/,
    )
  })

  test('where they differ in more ways than are looked at', async () => {
    const mesh = createMesh([...client('web', STATEFUL), ...target({ replicas: 33 }), denyTier])
    for (let index = 0; index < 33; index += 1) labelPod(mesh, 'details', { tier: `b${index}` }, index)
    const answer = await mesh.explain()
    expect(answer).toMatchObject({ allowed: false, decided: false })
    expect(answer.sentence).toMatch(/: the pods of either side differ in more ways than are looked at\.$/)
  })
})

describe('an answer is decided', () => {
  test('where pods differ in what makes no difference to it', async () => {
    const mesh = createMesh([...client('web', STATEFUL), ...target()])
    replaceOne(mesh, 'productpage', { serviceAccountName: 'default' })
    labelPod(mesh, 'details', { tier: 'a' })
    expect(await mesh.explain()).toMatchObject({ allowed: true, decided: true })
  })

  test('whatever labels that nobody selects say of each pod', async () => {
    const mesh = createMesh([...client('web', STATEFUL), ...target({ replicas: 40 })])
    for (let index = 0; index < 40; index += 1)
      labelPod(mesh, 'details', { 'apps.kubernetes.io/pod-index': `${index}` }, index)
    expect(await mesh.explain()).toMatchObject({ allowed: true, decided: true })
  })

  test('an answer is decided by the identity of those on the mesh, where the others are refused as well', async () => {
    const mesh = createMesh([...client('web', STATEFUL), ...target(), custom('nobody', { ...pods('details') })])
    labelPod(mesh, 'productpage', { 'istio.io/dataplane-mode': null }, 0)
    replaceOne(mesh, 'productpage', { serviceAccountName: 'other' })
    const answer = await mesh.explain()
    expect(answer).toMatchObject({ allowed: false, decided: true })
    expect(answer.sentence).toContain('shop/other may not send')
  })
})
