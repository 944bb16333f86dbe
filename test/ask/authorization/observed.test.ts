import { describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import {
  application,
  bookinfo,
  createMesh,
  type Mesh,
  namespace,
  ON_MESH,
  WAYPOINT,
  waypoint,
} from '../../helpers/mesh.ts'
import { custom, hardened, managed, pods, service } from '../../mesh/istio/bookinfo.ts'

const productpage = (changes: Parameters<typeof application>[1]) =>
  application('productpage', { kind: 'Deployment', ...changes })
const details = (changes: Parameters<typeof application>[1]) => application('details', changes)
const AMBIENT = { 'istio.io/dataplane-mode': 'ambient' }
const NO_LABELS = {}
/** Of the pods of a rollout that has not come to them. */
const OFF = { 'istio.io/dataplane-mode': null }
const WITHOUT_BEACON: readonly KubernetesObject[] = [...details({}), ...productpage({})]

/** Labels as many running pods of an application as it is told; null takes a label off. */
const labelPods = (mesh: Mesh, name: string, labels: Record<string, string | null>, count = 2) => {
  for (const pod of podsNamed(mesh, name).slice(0, count)) patchPod(mesh, pod, { metadata: { labels } })
}

const podsNamed = (mesh: Mesh, name: string): KubernetesObject[] =>
  mesh.api
    .objects()
    .filter(({ kind, metadata }) => kind === 'Pod' && metadata.labels?.['app.kubernetes.io/name'] === name)

const patchPod = (mesh: Mesh, { metadata }: KubernetesObject, change: object) =>
  mesh.api.handle({
    method: 'PATCH',
    path: `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify(change),
  })

/** Sets Istio's mark of captured pods, or takes it off. */
const markPods = (mesh: Mesh, name: string, mark: string | null) => {
  const metadata = { annotations: { 'ambient.istio.io/redirection': mark } }
  for (const pod of podsNamed(mesh, name)) patchPod(mesh, pod, { metadata })
}

describe('pods that the mesh may not have captured', () => {
  const POD = { via: 'pod', method: undefined, path: undefined, port: '9999' }
  /** Lets only one account of shop reach the pods of details. */
  const allowing = (account: string) =>
    custom('own', {
      ...pods('details'),
      rules: [{ from: [{ source: { principals: [`cluster.local/ns/shop/sa/${account}`] } }] }],
    })
  const MARK = 'it is not known if the mesh captures its pods: '

  test('a request is undecided that a policy refuses, and that reaches pods which are not captured', async () => {
    const mesh = createMesh(bookinfo)
    mesh.api.seed([allowing('db')])
    expect(await mesh.explain(POD)).toMatchObject({ allowed: false, decided: true })
    markPods(mesh, 'details', 'disabled')
    const answer = await mesh.explain(POD)
    expect(answer).toMatchObject({ allowed: false, decided: false })
    expect(answer.sentence).toContain(
      `of the destination ${MARK}their annotation ambient.istio.io/redirection: disabled`,
    )
  })

  test('a request that passes either way stays decided', async () => {
    const mesh = createMesh(bookinfo)
    mesh.api.seed([allowing('productpage')])
    markPods(mesh, 'details', 'disabled')
    expect(await mesh.explain(POD)).toMatchObject({ allowed: true, decided: true })
  })

  test('a client that may have no identity is undecided where its identity lets it in', async () => {
    const mesh = createMesh(bookinfo)
    mesh.api.seed([allowing('productpage')])
    expect(await mesh.explain(POD)).toMatchObject({ allowed: true, decided: true })
    markPods(mesh, 'productpage', 'pending')
    const answer = await mesh.explain(POD)
    expect(answer).toMatchObject({ allowed: false, decided: false })
    expect(answer.sentence).toContain(`of the client ${MARK}Istio has marked them as captured in part`)
  })
})

describe('the client', () => {
  test.each<[string, readonly KubernetesObject[], Record<string, string>, string]>([
    ['outside the mesh', productpage({ labels: NO_LABELS }), {}, 'shop/productpage, outside the mesh, may not'],
    [
      'in the network of its node',
      productpage({ podSpec: { serviceAccountName: 'productpage', hostNetwork: true } }),
      {},
      'shop/productpage, outside the mesh, may not',
    ],
    [
      'that stays away from the mesh of its namespace',
      [namespace('shop', AMBIENT), ...productpage({ labels: { 'istio.io/dataplane-mode': 'none' } })],
      {},
      'shop/productpage, outside the mesh, may not',
    ],
    [
      'on the mesh by its namespace',
      [namespace('shop', AMBIENT), ...productpage({ labels: NO_LABELS })],
      {},
      'shop/productpage may send',
    ],
    ['on the mesh by its pod template', productpage({}), {}, 'shop/productpage may send'],
    ['that is a StatefulSet', productpage({ kind: 'StatefulSet' }), {}, 'shop/productpage may send'],
    [
      'with a ServiceAccount of its own',
      productpage({ podSpec: { serviceAccountName: 'web' } }),
      {},
      'shop/web may not send',
    ],
    [
      'that runs as another application',
      application('other', { podSpec: { serviceAccountName: 'productpage' } }),
      { from: 'shop/other' },
      'shop/productpage may send',
    ],
    [
      'of the same name, in another namespace',
      productpage({ namespace: 'bank' }),
      { from: 'bank/productpage' },
      'bank/productpage may not send',
    ],
  ])('%s', async (_, objects, changes, sentence) => {
    const mesh = createMesh([...objects, ...details({}), waypoint(), ...managed])
    const answer = await mesh.explain({ autoAllowWaypoint: 'true', ...changes })
    expect(answer.sentence.slice(0, sentence.length)).toBe(sentence)
    expect(answer.allowed).toBe(!sentence.includes('may not'))
  })

  test('the client is on the mesh in place: its pods have the label, and their template has not', async () => {
    const mesh = createMesh([...productpage({ labels: NO_LABELS }), ...details({}), waypoint(), ...managed])
    expect(await mesh.explain()).toMatchObject({ allowed: false })
    labelPods(mesh, 'productpage', AMBIENT, 1)
    const partly = await mesh.explain({ autoAllowWaypoint: 'true' })
    expect(partly).toMatchObject({ allowed: false, decided: false })
    expect(partly.sentence).toMatch(
      /^shop\/productpage may or may not .*: of the client only 1 of its 2 pods are on the mesh\.$/,
    )
    expect(partly.steps[0]).toEqual({ at: 'client', note: 'only 1 of its 2 pods are on the mesh' })
    labelPods(mesh, 'productpage', AMBIENT)
    expect((await mesh.explain()).steps.map(({ at }) => at)).not.toContain('client')
  })

  test.each([['Deployment'], ['StatefulSet']] as const)(
    'the client that is a %s whose rollout has not come to its pods is off the mesh, and partly on it on the way',
    async (kind) => {
      const mesh = createMesh([...productpage({ kind }), ...details({}), waypoint(), ...managed])
      labelPods(mesh, 'productpage', OFF)
      const before = await mesh.explain({ autoAllowWaypoint: 'true' })
      expect(before).toMatchObject({ allowed: false, decided: true })
      expect(before.sentence).toMatch(/^shop\/productpage, outside the mesh, may not/)
      labelPods(mesh, 'productpage', AMBIENT, 1)
      expect((await mesh.explain()).steps[0]).toEqual({
        at: 'client',
        note: 'only 1 of its 2 pods are on the mesh',
      })
    },
  )

  test('the client without pods is as its template says', async () => {
    const mesh = createMesh([...productpage({ replicas: 0 }), ...details({}), waypoint(), ...managed])
    expect(await mesh.explain()).toMatchObject({ allowed: true })
  })

  test('whose pods were evicted is as those are that took their place', async () => {
    const mesh = createMesh([...productpage({}), ...details({}), waypoint(), ...managed])
    labelPods(mesh, 'productpage', OFF)
    for (const pod of podsNamed(mesh, 'productpage'))
      patchPod(mesh, pod, { metadata: { annotations: { 'embedded.meshstep.dev/pod': 'evicted' } } })
    expect(podsNamed(mesh, 'productpage')).toHaveLength(4)
    const answer = await mesh.explain()
    expect(answer).toMatchObject({ allowed: true })
    expect(answer.steps.map(({ at }) => at)).not.toContain('client')
  })

  test('a pod that only looks like one of its own says nothing', async () => {
    const stray: KubernetesObject = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'stray', namespace: 'shop', labels: { 'app.kubernetes.io/name': 'productpage', ...AMBIENT } },
      spec: { containers: [{ name: 'c', image: 'x:1' }] },
    }
    const mesh = createMesh([...productpage({ labels: NO_LABELS }), ...details({}), waypoint(), ...managed, stray])
    expect(await mesh.explain()).toMatchObject({ allowed: false })
  })
})

describe('the destination', () => {
  const closed = custom('closed', pods('details'))
  const openDetails = { labels: NO_LABELS }

  test.each<[string, readonly KubernetesObject[], boolean, string]>([
    ['outside the mesh', details(openDetails), true, 'its pods are not on the mesh, where nothing guards them'],
    [
      'in the network of its node',
      details({ labels: AMBIENT, podSpec: { hostNetwork: true } }),
      true,
      'its pods are not on the mesh, where nothing guards them',
    ],
    ['on the mesh by its namespace', [namespace('shop', AMBIENT), ...details(openDetails)], false, 'shop/closed'],
    ['on the mesh by its pod template', details({ labels: AMBIENT }), false, 'shop/closed'],
  ])('%s', async (_, objects, allowed, because) => {
    const answer = await createMesh([...objects, ...productpage({}), closed]).explain()
    expect(answer.allowed).toBe(allowed)
    expect(answer.sentence).toContain(because)
  })

  test('the destination is on the mesh in place', async () => {
    const mesh = createMesh([...details(openDetails), ...productpage({}), closed])
    labelPods(mesh, 'details', AMBIENT, 1)
    const answer = await mesh.explain()
    expect(answer).toMatchObject({ allowed: false, decided: false })
    expect(answer.sentence).toMatch(
      /: of the destination only 1 of its 2 pods are on the mesh, and nothing guards the others\.$/,
    )
    expect(answer.steps[0]?.note).toBe('only 1 of its 2 pods are on the mesh, and nothing guards the others')
  })

  test.each([['Deployment'], ['StatefulSet']] as const)(
    'the destination that is a %s whose rollout has not come to its pods is not guarded, and partly on the way',
    async (kind) => {
      const mesh = createMesh([...details({ kind, labels: AMBIENT }), ...productpage({}), closed])
      labelPods(mesh, 'details', OFF)
      const before = await mesh.explain()
      expect(before).toMatchObject({ allowed: true, decided: true, at: 'destination' })
      expect(before.sentence).toContain('its pods are not on the mesh, where nothing guards them')
      labelPods(mesh, 'details', AMBIENT, 1)
      const partly = await mesh.explain()
      expect(partly).toMatchObject({ allowed: false, decided: false })
      expect(partly.steps[0]?.note).toBe('only 1 of its 2 pods are on the mesh, and nothing guards the others')
      labelPods(mesh, 'details', AMBIENT)
      expect(await mesh.explain()).toMatchObject({ allowed: false, decided: true, policy: 'shop/closed' })
    },
  )

  test('the destination partly on the mesh is decided where that makes no difference', async () => {
    const open = createMesh([...details({ labels: AMBIENT }), ...productpage({})])
    for (const name of ['details', 'productpage']) labelPods(open, name, OFF, 1)
    const answer = await open.explain()
    expect(answer).toMatchObject({ allowed: true, decided: true })
    expect(answer.steps.map(({ at }) => at)).toEqual(['client', 'destination'])
    const mesh = createMesh([
      ...details({}),
      ...productpage({}),
      waypoint(),
      custom('deny', { ...service('details'), action: 'DENY', rules: [{}] }),
    ])
    labelPods(mesh, 'details', OFF, 1)
    expect(await mesh.explain()).toMatchObject({ allowed: false, decided: true, policy: 'shop/deny' })
  })

  test('the destination partly on the mesh is not decided where only two that are off it both would differ', async () => {
    const deny = { action: 'DENY' as const, rules: [{}] }
    const mesh = createMesh([
      ...[...details({}), ...productpage({}), waypoint()],
      ...[custom('service', { ...service('details'), ...deny }), custom('pods', { ...pods('details'), ...deny })],
    ])
    for (const name of ['details', 'productpage']) labelPods(mesh, name, OFF, 1)
    const answer = await mesh.explain()
    expect(answer).toMatchObject({ allowed: false, decided: false })
    expect(answer.sentence).toContain(
      ': of the client only 1 of its 2 pods are on the mesh, and of the destination only 1 of its 2 pods are on the mesh',
    )
  })

  test('the destination off the mesh is reached through the waypoint of its pods, as a ztunnel sends through it whatever they are', async () => {
    const all = waypoint({
      metadata: { name: WAYPOINT, namespace: 'shop', labels: { 'istio.io/waypoint-for': 'all' } },
    })
    const guard = custom('guard', {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: WAYPOINT }],
      rules: [{ to: [{ operation: { methods: ['POST'] } }] }],
    })
    const labels = { 'istio.io/use-waypoint': WAYPOINT }
    const mesh = createMesh([...details({ labels }), ...productpage({}), all, guard])
    expect(await mesh.explain({ via: 'pod' })).toMatchObject({ allowed: false, decided: true, policy: 'shop/guard' })
    expect(await mesh.explain({ via: 'pod', method: 'POST' })).toMatchObject({ allowed: true, at: 'waypoint' })
  })

  test('whose pods have a sidecar still, and whose template has none any more, is not decided', async () => {
    const mesh = createMesh([...details({ labels: AMBIENT }), ...productpage({}), closed])
    labelPods(mesh, 'details', { 'sidecar.istio.io/inject': 'true' }, 1)
    expect(await mesh.explain()).toMatchObject({ allowed: false, decided: false })
  })

  test('the destination that is a Service of another name: its pods are those that it selects', async () => {
    const alias: KubernetesObject = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'alias', namespace: 'shop' },
      spec: { selector: { 'app.kubernetes.io/name': 'details' }, ports: [{ port: 9080 }] },
    }
    const on = createMesh([...details({}), ...productpage({}), alias, closed])
    expect(await on.explain({ to: 'shop/alias' })).toMatchObject({ allowed: false, policy: 'shop/closed' })
    const off = createMesh([...details(openDetails), ...productpage({}), alias, closed])
    expect(await off.explain({ to: 'shop/alias' })).toMatchObject({ allowed: true, at: 'destination' })
  })

  test.each<[string, Record<string, unknown>, string]>([
    [
      'that selects none',
      { selector: { 'app.kubernetes.io/name': 'nothing' } },
      'the Service does not select the pods of shop/details, but others or none',
    ],
    [
      'that selects those of another application',
      { selector: { 'app.kubernetes.io/name': 'productpage' } },
      'the Service does not select the pods of shop/details, but others or none',
    ],
    ['without a selector', { selector: {} }, 'the Service has no selector: where it leads to is not known here'],
    [
      'of type ExternalName',
      { type: 'ExternalName', externalName: 'db.example.org' },
      'the Service is of type ExternalName: it stands for another name, which is not followed here',
    ],
  ])('the destination with a Service %s is not decided', async (_, serviceSpec, why) => {
    const mesh = createMesh([...details({ labels: AMBIENT, serviceSpec }), ...productpage({})])
    const answer = await mesh.explain()
    expect(answer).toMatchObject({ allowed: false, decided: false })
    expect(answer.sentence.endsWith(`: ${why}.`)).toBe(true)
    expect(await mesh.explain({ via: 'pod' })).toMatchObject({ allowed: true, decided: true })
  })

  test.each([
    ['selects none', { selector: { 'app.kubernetes.io/name': 'nothing' } }, 'the Service selects no pods'],
    ['has no selector', {}, 'the Service has no selector: where it leads to is not known here'],
  ])('the destination that is a Service that %s is not decided', async (_, spec, why) => {
    const metadata = { name: 'alias', namespace: 'shop' }
    const alias = { apiVersion: 'v1', kind: 'Service', metadata, spec: { ...spec, ports: [{ port: 9080 }] } }
    const answer = await createMesh([...productpage({}), alias]).explain({ to: 'shop/alias' })
    expect(answer).toMatchObject({ allowed: false, decided: false })
    expect(answer.sentence.endsWith(`: ${why}.`)).toBe(true)
    expect(answer.steps.map(({ note }) => note)).toContain('the pods are not known, and taken to be on the mesh')
  })
})

describe('the port', () => {
  const ports = (...list: object[]) => ({ serviceSpec: { ports: list } })
  const container = { name: 'c', image: 'x:1', ports: [{ name: 'http', containerPort: 8000 }] }
  const allow = (port: string) =>
    custom('allow', { ...pods('details'), rules: [{ to: [{ operation: { ports: [port] } }] }] })

  test.each<[string, Parameters<typeof application>[1], string, string | undefined]>([
    ['is that of the pods too', ports({ port: 9080 }), '9080', undefined],
    [
      'is another one of the pods',
      ports({ port: 9080, targetPort: 8000 }),
      '8000',
      'port 9080 of the Service is port 8000 of the pods',
    ],
    [
      'has a name in the pods',
      { ...ports({ port: 9080, targetPort: 'http' }), podSpec: { containers: [container] } },
      '8000',
      'port 9080 of the Service is port 8000 of the pods',
    ],
    [
      'has a name that no container knows',
      ports({ port: 9080, targetPort: 'http' }),
      '9080',
      'no container names its port http: it is taken to be 9080',
    ],
  ])('%s', async (_, changes, port, note) => {
    const mesh = createMesh([...details({ labels: AMBIENT, ...changes }), ...productpage({}), allow(port)])
    const answer = await mesh.explain()
    expect(answer).toMatchObject({ allowed: true, policy: 'shop/allow' })
    const notes = answer.steps.filter(({ at }) => at === 'destination').map((step) => step.note)
    expect(notes).toEqual(note === undefined ? [] : [note])
  })

  test('the port that the Service does not have is not decided, and the sentence says which it has', async () => {
    const list = ports({ name: 'a', port: 80 }, { name: 'b', port: 443 })
    const mesh = createMesh([...details({ labels: AMBIENT, ...list }), ...productpage({}), allow('9080')])
    const answer = await mesh.explain()
    expect(answer).toMatchObject({ allowed: false, decided: false })
    expect(answer.sentence).toMatch(/: the Service has no port 9080, but 80 and 443\.$/)
  })

  test('the port is that of the pod when it is asked for one', async () => {
    const mesh = createMesh([
      ...details({ labels: AMBIENT, ...ports({ port: 80 }) }),
      ...productpage({}),
      allow('9080'),
    ])
    expect(await mesh.explain({ via: 'pod' })).toMatchObject({ allowed: true, policy: 'shop/allow' })
  })
})

const SINCE = { lastTransitionTime: '2026-01-01T00:00:00Z', reason: 'Invalid', message: 'no' }
const LISTENERS = [{ name: 'mesh', port: 15008, protocol: 'HBONE' }]

describe('the waypoint', () => {
  test('the waypoint takes nothing that goes to a Service without an address', async () => {
    const headless = details({ serviceSpec: { clusterIP: 'None', ports: [{ port: 9080, targetPort: 8000 }] } })
    const mesh = createMesh([...headless, ...productpage({}), waypoint(), ...managed])
    const answer = await mesh.explain({ autoAllowWaypoint: 'true' })
    expect(answer).toMatchObject({
      allowed: false,
      at: 'ztunnel',
      policy: `shop/istio_allow_waypoint_shop_${WAYPOINT}`,
    })
    // its name is resolved to the addresses of pods, so nothing translates the port either
    expect(answer.steps.filter(({ at }) => at === 'destination').map(({ note }) => note)).toEqual([
      'the Service has no address of its own: requests go straight to the pods',
    ])
  })

  test('of a whole namespace is behind its labels', async () => {
    const mesh = createMesh([
      namespace('shop', ON_MESH),
      ...details({ labels: NO_LABELS }),
      ...productpage({ labels: NO_LABELS }),
      waypoint(),
      ...managed,
    ])
    expect(await mesh.explain()).toMatchObject({ allowed: true, at: 'waypoint' })
    expect(await mesh.explain({ method: 'POST' })).toMatchObject({ allowed: false, at: 'waypoint' })
  })

  test.each<[string, readonly KubernetesObject[], string]>([
    ['does not exist', [], 'does not exist'],
    [
      'is for pods',
      [waypoint({ metadata: { name: WAYPOINT, namespace: 'shop', labels: { 'istio.io/waypoint-for': 'workload' } } })],
      'is for workload, not for Services',
    ],
    [
      'is not programmed',
      [
        waypoint({
          spec: { gatewayClassName: 'other', listeners: LISTENERS },
          status: { conditions: [{ type: 'Programmed', status: 'False', ...SINCE }] },
        }),
      ],
      'is not ready: Istio has given it no address',
    ],
  ])('the waypoint that %s enforces nothing, and the sentence says so', async (_, gateways, problem) => {
    const mesh = createMesh([...WITHOUT_BEACON, ...gateways, ...managed])
    const answer = await mesh.explain({ method: 'POST', autoAllowWaypoint: 'false' })
    expect(answer).toMatchObject({ allowed: true, decided: true, at: 'ztunnel' })
    const why = `the waypoint shop/${WAYPOINT} ${problem}`
    expect(answer.sentence.endsWith(`; ${why}, so no policy of the Service is enforced.`)).toBe(true)
    expect(answer.steps).toContainEqual({ at: 'destination', note: `${why}: no policy of the Service is enforced` })
    const closed = createMesh([...WITHOUT_BEACON, ...gateways, ...managed, ...hardened])
    expect(await closed.explain()).toMatchObject({ allowed: false, at: 'ztunnel' })
  })

  test('of another Service may close the pods as well', async () => {
    const [workload, plain] = details({ labels: AMBIENT })
    const alias = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'alias', namespace: 'shop', labels: ON_MESH },
      spec: { selector: { 'app.kubernetes.io/name': 'details' }, ports: [{ port: 9080 }] },
    }
    const objects = [workload, plain].filter((object) => object !== undefined)
    expect(await createMesh([...objects, ...productpage({}), waypoint()]).explain()).toMatchObject({ allowed: true })
    const mesh = createMesh([...objects, ...productpage({}), waypoint(), alias])
    expect(await mesh.explain({ autoAllowWaypoint: 'true' })).toMatchObject({ allowed: false, at: 'ztunnel' })
    expect(await mesh.explain({ autoAllowWaypoint: 'false' })).toMatchObject({ allowed: true })
    const unsaid = await mesh.explain()
    expect(unsaid).toMatchObject({ allowed: false, decided: false, at: 'ztunnel' })
    expect(unsaid.sentence).toContain('only if istiod runs with PILOT_AUTO_ALLOW_WAYPOINT_POLICY')
  })

  test('the waypoint with a ServiceAccount of its own is known by that', async () => {
    const annotated = waypoint({
      metadata: { name: WAYPOINT, namespace: 'shop', annotations: { 'gateway.istio.io/service-account': 'proxy' } },
    })
    const principals = ['cluster.local/ns/shop/sa/proxy']
    const allow = custom('allow', { ...pods('details'), rules: [{ from: [{ source: { principals } }] }] })
    const open = custom('open', { ...service('details'), rules: [{}] })
    const mesh = createMesh([...WITHOUT_BEACON, annotated, allow, open])
    expect(await mesh.explain({ autoAllowWaypoint: 'false' })).toMatchObject({ allowed: true, at: 'waypoint' })
    const other = createMesh([...bookinfo, allow, open])
    expect(await other.explain({ autoAllowWaypoint: 'false' })).toMatchObject({ allowed: false, at: 'ztunnel' })
  })
})
