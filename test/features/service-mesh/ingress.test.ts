import { describe, expect, test } from 'vitest'
import { BEACON, configure, createMesh, policiesIn, related, sourcesOf } from '../../helpers/beacon-world.ts'
import { waypoint } from '../../helpers/mesh.ts'
import type { World } from '../../helpers/world.ts'

const GATEWAY = [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'beacon' }]

const createBank = () => {
  const world = createMesh([], false)
  world.api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bank' } }])
  return world
}

const specs = (world: World) =>
  Object.fromEntries(policiesIn(world).map(({ metadata, spec }) => [`${metadata.namespace}/${metadata.name}`, spec]))

describe('an ingress', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    [
      'addresses that are none',
      { externalTraffic: ['10.0.0.0/33'] },
      /mesh.externalTraffic.0: expected an address or a CIDR/,
    ],
    ['a backend without ports', { backends: [{ application: 'web' }] }, /mesh.backends.0.ports/],
    ['a key that is not known', { backend: [] }, /mesh: Unrecognized key: .*backend/],
  ])('an ingress refuses %s', async (_, mesh, message) => {
    await expect(configure(createBank(), { mesh })).rejects.toThrow(message)
  })

  test.each<[string, string[], unknown]>([
    [
      'from some addresses',
      ['10.0.0.0/8', '192.168.0.1'],
      [{ from: [{ source: { ipBlocks: ['10.0.0.0/8', '192.168.0.1'] } }] }],
    ],
    ['from nowhere', [], undefined],
  ])('an ingress is reached %s', async (_, externalTraffic, rules) => {
    const world = createBank()
    expect(await configure(world, { mesh: { externalTraffic } })).toMatchObject({
      status: 'waiting',
      messages: [expect.stringMatching(/^Gateway shop\/beacon does not exist: until it does, no policy guards/)],
    })
    world.api.seed([{ ...waypoint(), metadata: { name: 'beacon', namespace: 'shop' } }])
    expect(specs(world)).toEqual({
      'shop/beacon-shop-external-traffic': {
        targetRefs: GATEWAY,
        action: 'ALLOW',
        ...(rules !== undefined && { rules }),
      },
    })
    expect((await world.send('resync', BEACON)).status).toBe('unchanged')
    await configure(world, { mesh: {} })
    expect(specs(world)).toEqual({})
  })

  test('an ingress reaches its backends, on their ports', async () => {
    const world = createBank()
    await configure(world, {
      mesh: {
        backends: [
          { namespace: 'bank', application: 'web', ports: [443, 80] },
          { application: 'db', ports: [] },
        ],
      },
    })
    expect(specs(world)).toEqual({
      'bank/web-beacon-bank-l4': {
        selector: { matchLabels: { 'app.kubernetes.io/name': 'web' } },
        action: 'ALLOW',
        rules: [
          {
            from: [{ source: { principals: ['cluster.local/ns/shop/sa/beacon-istio'] } }],
            to: [{ operation: { ports: ['80', '443'] } }],
          },
        ],
      },
    })
  })

  test('an ingress reaches a backend that is named twice on all of its ports, and writes nothing the second time', async () => {
    const world = createBank()
    const backend = { application: 'web', ports: [80] }
    await configure(world, { mesh: { backends: [backend, { ...backend, ports: [443, 80], namespace: 'shop' }] } })
    expect(specs(world)['shop/web-beacon-shop-l4']?.rules?.[0]?.to).toEqual([{ operation: { ports: ['80', '443'] } }])
    expect((await world.send('resync', BEACON)).status).toBe('unchanged')
  })

  test('of another namespace that has the same name and the same backend is a conflict, not a takeover', async () => {
    const world = createBank()
    const mesh = { backends: [{ namespace: 'bank', application: 'web', ports: [80] }] }
    const other = { namespace: 'bank', application: 'beacon' }
    await configure(world, { mesh })
    expect(await configure(world, { mesh }, other)).toMatchObject({
      status: 'conflict',
      conflicts: [{ object: 'AuthorizationPolicy bank/web-beacon-bank-l4', manager: 'meshstep/beacon' }],
    })
    expect((await world.send('resync', BEACON)).status).toBe('unchanged')
    expect(sourcesOf(policiesIn(world))).toEqual(['shop/beacon-istio'])
    await world.send('application-removed', other)
    expect(policiesIn(world)).toHaveLength(1)
  })

  test('an ingress is authorized by an extension provider', async () => {
    const world = createBank()
    await configure(world, { mesh: { externalAuthorizer: 'oauth' } })
    expect(specs(world)).toEqual({
      'shop/ext-authz-beacon': { targetRefs: GATEWAY, action: 'CUSTOM', provider: { name: 'oauth' }, rules: [{}] },
    })
  })
})

describe('the metrics of a beacon', () => {
  const scraper = (id: number, remote: { application: string; namespace?: string }) =>
    related(id, 'metrics-endpoint', remote, BEACON, { interface: 'prometheus_scrape' })

  test('the metrics of a beacon are open to whom it is related, on their port alone', async () => {
    const world = createBank()
    await world.send('relation-changed', scraper(9, { application: 'prometheus' }))
    await configure(world, { mesh: {} })
    expect(policiesIn(world)).toMatchObject([
      {
        metadata: { annotations: { 'meshstep.dev/requested-by': 'relation 9 (metrics-endpoint) of shop/beacon' } },
        spec: {
          selector: { matchLabels: { 'app.kubernetes.io/name': 'beacon' } },
          rules: [{}, { to: [{ operation: { ports: ['15090'] } }] }],
        },
      },
    ])
    expect(sourcesOf(policiesIn(world))).toEqual(['shop/prometheus'])
    await configure(world, { mesh: { manageAuthorizationPolicies: false } })
    expect(policiesIn(world)).toEqual([])
  })

  const identity = (data: Record<string, unknown>) => ({
    ...related(10, 'provide-cmr-mesh', { application: 'prometheus', namespace: 'bank' }, BEACON, {
      interface: 'cross_model_mesh',
    }),
    remote: { application: 'prometheus', namespace: 'bank', data },
  })

  test.each<[string, Record<string, unknown>]>([
    ['a beacon', {}],
    ['a beacon that is on another mesh itself', { asks: true }],
  ])('of another model wait until its name is known: %s', async (_, { asks }) => {
    const world = createBank()
    await configure(world, { mesh: {} })
    if (asks)
      await world.send('relation-changed', {
        ...BEACON,
        relation: { id: 1, endpoint: 'upstream', interface: 'service_mesh', role: 'requires' },
        remote: { application: 'root', data: {} },
      })
    expect(
      await world.send('relation-changed', scraper(9, { application: 'prometheus', namespace: 'bank' })),
    ).toMatchObject({
      status: 'waiting',
      messages: [expect.stringMatching(/^relation 9 \(metrics-endpoint\): prometheus is in another model/)],
    })
    expect(policiesIn(world)).toEqual([])
    await world.send('relation-changed', identity({ cmr_data: '{"app_name": "prom", "juju_model_name": "bank"}' }))
    expect(sourcesOf(policiesIn(world))).toEqual(['bank/prom'])
  })

  test('the metrics of a beacon are not opened to a whole namespace by a name that is a wildcard', async () => {
    const world = createBank()
    await configure(world, { mesh: {} })
    await world.send('relation-changed', scraper(9, { application: 'prometheus', namespace: 'bank' }))
    const outcome = await world.send(
      'relation-changed',
      identity({ cmr_data: { app_name: '*', juju_model_name: 'bank' } }),
    )
    expect(outcome.messages).toContainEqual(
      expect.stringMatching(/^relation 9 \(metrics-endpoint\): source_app_name: expected .*: it gets no policy$/),
    )
    expect(policiesIn(world)).toEqual([])
  })
})
