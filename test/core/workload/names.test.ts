import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { createEmptyWorld, deployed, podSpec } from '../../helpers/application.ts'
import { createWorld, event, isWrite, NAMESPACE, type World } from '../../helpers/world.ts'

const NAMESPACES: KubernetesObject[] = [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }]

const object = (kind: string, name: string, more: Partial<KubernetesObject> = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: NAMESPACE },
  ...more,
})

/** The answer to a config, and what else than reviews and trials it wrote. */
const told = async (world: World, workload: Record<string, unknown>, application = 'web') => {
  world.calls.length = 0
  const response = await world.post(event('config-changed', { application, ...deployed(workload) }))
  const written = world.calls.filter((call) => isWrite(call) && !/reviews$|dryRun=All/.test(call))
  return { status: response.status, text: await response.text(), written }
}

const runningAs = (serviceAccountName: string) => ({ podSpec: { ...podSpec(), serviceAccountName } })

const STATE = { state: JSON.stringify({ version: 2, config: {} }), labels: '{}' }

describe('nobody names an object as one of meshstep', () => {
  test.each<[string, string, Record<string, unknown>]>([
    ['a memory', 'web', { configMaps: { 'juju-service-mesh-ghost-labels': STATE } }],
    [
      'a memory, from a name that begins so',
      'juju-service-mesh',
      { configMaps: { 'juju-service-mesh-x-labels': STATE } },
    ],
    [
      'a memory, in Juju’s form',
      'web',
      { podSpec: { version: 3, ...podSpec(), configMaps: { 'juju-service-mesh-ghost-labels': STATE } } },
    ],
    ['a secret store', 'web', { secrets: { 'meshstep-victim-secrets': { key: 'x' } } }],
    [
      'a secret store, from a name that begins so',
      'meshstep',
      { secrets: { 'meshstep-victim-secrets': { key: 'x' } } },
    ],
    [
      'a secret store, in Juju’s form',
      'web',
      {
        podSpec: {
          version: 3,
          ...podSpec(),
          kubernetesResources: { secrets: [{ name: 'meshstep-victim-secrets', stringData: { key: 'x' } }] },
        },
      },
    ],
    ['an account', 'web', { serviceAccount: { name: 'meshstep-evil' } }],
    ['an account, by its own name', 'meshstep-evil', {}],
    ['the account of the functions, by its own name', 'meshstep', {}],
  ])('%s', async (_, application, workload) => {
    const world = createEmptyWorld()
    const { status, text, written } = await told(world, workload, application)
    expect([status, text, written]).toEqual([400, expect.stringContaining('is reserved'), []])
  })

  test('nobody names an object as one of meshstep, and no pod runs as one, or reads the values of another application, whatever is labelled', async () => {
    const world = createEmptyWorld()
    const trigger = 'meshstep-oidc-eventing.knative.dev-trigger'
    world.api.seed([object('ServiceAccount', trigger)], { manager: 'knative' })
    const volume = { name: 'v', secret: { secretName: 'meshstep-victim-secrets' } }
    const source = { secretRef: { name: 'meshstep-victim-secrets' } }
    for (const workload of [
      runningAs(trigger),
      { podSpec: { ...podSpec(), serviceAccount: trigger } },
      { podSpec: { ...podSpec(), volumes: [volume] } },
      {
        podSpec: {
          ...podSpec(),
          volumes: [{ name: 'v', projected: { sources: [{ secret: { name: source.secretRef.name } }] } }],
        },
      },
      { podSpec: podSpec('web:1', { envFrom: [source] }) },
      { podSpec: podSpec('web:1', { envFrom: [{ configMapRef: { name: 'juju-service-mesh-victim-labels' } }] }) },
    ])
      expect(await told(world, workload)).toMatchObject({
        status: 400,
        text: expect.stringContaining('is reserved'),
        written: [],
      })
  })
})

describe('what an application makes is named by it', () => {
  test.each<[string, Record<string, unknown>]>([
    ['a ConfigMap', { configMaps: { settings: { a: '1' } } }],
    ['a Secret', { secrets: { tls: { a: '1' } } }],
    ['a Secret that begins as its name does', { secrets: { webtls: { a: '1' } } }],
    ['an account', { serviceAccount: { name: 'runner' } }],
    [
      'a Secret in Juju’s form',
      {
        podSpec: {
          version: 3,
          ...podSpec(),
          kubernetesResources: { secrets: [{ name: 'tls', stringData: { a: '1' } }] },
        },
      },
    ],
    ['a ConfigMap in Juju’s form', { podSpec: { version: 3, ...podSpec(), configMaps: { settings: { a: '1' } } } }],
  ])('%s of another name is refused, with the names that are taken', async (_, workload) => {
    const { status, text, written } = await told(createEmptyWorld(), workload)
    expect([status, text, written]).toEqual([
      400,
      expect.stringContaining('expected web, or a name that begins with web-'),
      [],
    ])
  })

  test('files of another container in Juju’s form are in a ConfigMap that begins with its name', async () => {
    const world = createEmptyWorld()
    const volumeConfig = [{ name: 'conf', mountPath: '/conf', files: [{ path: 'a.conf', content: 'a' }] }]
    const containers = [
      { name: 'web', image: 'web:1', volumeConfig: [{ ...volumeConfig[0], name: 'own' }] },
      { name: 'sidecar', image: 'side:1', volumeConfig },
    ]
    expect(await told(world, { podSpec: { version: 3, containers } })).toMatchObject({ status: 200 })
    expect([world.object('ConfigMap', 'web-own')?.data, world.object('ConfigMap', 'web-sidecar-conf')?.data]).toEqual([
      { 'a.conf': 'a' },
      { 'a.conf': 'a' },
    ])
    const spec = world.object('Deployment')?.spec as { template: { spec: { volumes: unknown[] } } }
    expect(JSON.stringify(spec.template.spec.volumes)).toContain('"name":"web-sidecar-conf"')
  })

  test('an account of its prefix that somebody else made is refused', async () => {
    const world = createEmptyWorld()
    world.api.seed([object('ServiceAccount', 'web-admin')], { manager: 'kubectl' })
    const { status, text } = await told(world, { serviceAccount: { name: 'web-admin' } })
    expect([status, text]).toEqual([
      400,
      expect.stringContaining('ServiceAccount shop/web-admin belongs to another owner'),
    ])
    for (const _ of ['first', 'again'])
      expect(await told(world, { serviceAccount: { name: 'web-runner' } })).toMatchObject({ status: 200 })
  })

  test('what was taken before stays as it was while the same is told', async () => {
    const world = createEmptyWorld()
    await world.send('config-changed', deployed({ configMaps: { 'web-settings': { a: '1' } } }))
    const memory = world.object('ConfigMap', 'juju-service-mesh-web-labels') as KubernetesObject
    const state = memory.data?.state?.replaceAll('web-settings', 'settings')
    world.api.handle({
      method: 'PATCH',
      path: `/api/v1/namespaces/${NAMESPACE}/configmaps/${memory.metadata.name}`,
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ data: { state } }),
    })
    expect(await told(world, { configMaps: { settings: { a: '1' } } })).toMatchObject({ status: 200 })
    expect(await told(world, { configMaps: { settings: { a: '2' } } })).toMatchObject({ status: 400 })
    await world.send('resync', {})
    expect(world.object('ConfigMap', 'settings')?.data).toEqual({ a: '1' })
    expect(await told(world, { configMaps: { 'web-settings': { a: '2' } } })).toMatchObject({ status: 200 })
    expect(world.object('ConfigMap', 'settings')).toBeUndefined()
  })
})

describe('a sender who may update one application and its workload', () => {
  const allowed = new Set<string>()
  const createOwn = (more: readonly string[] = [], senders: readonly string[] = []) => {
    allowed.clear()
    for (const about of ['web', 'workload web', ...more]) allowed.add(about)
    const world = createWorld(NAMESPACES, { allows: (about) => allowed.has(about), senders })
    world.api.seed(
      ['robot', 'web-robot'].map((name) => object('ServiceAccount', name)),
      { manager: 'kubectl' },
    )
    return world
  }

  test.each(['robot', 'web-robot'])(
    'a sender who may update one application and its workload runs no workload as the account %s, which is not its own',
    async (name) => {
      const world = createOwn()
      expect(await told(world, runningAs(name))).toMatchObject({
        status: 403,
        text: expect.stringContaining(`may not impersonate serviceaccounts shop/${name}`),
        written: [],
      })
      allowed.add(`impersonate serviceaccounts ${name}`)
      expect(await told(world, runningAs(name))).toMatchObject({ status: 200 })
    },
  )

  test('a sender who may update one application and its workload changes nothing of a workload that somebody else let run as another account', async () => {
    const world = createOwn(['impersonate serviceaccounts robot'])
    await told(world, runningAs('robot'))
    allowed.delete('impersonate serviceaccounts robot')
    world.clock.advance(11_000)
    expect(await told(world, { podSpec: { ...podSpec('evil:1'), serviceAccountName: 'robot' } })).toMatchObject({
      status: 403,
    })
  })

  test.each<[string, Record<string, unknown>]>([
    ['robot', runningAs('robot')],
    ['web', {}],
    ['web-runner', { serviceAccount: { name: 'web-runner' } }],
  ])(
    'a sender who may update one application and its workload runs no workload as %s while that may update applications',
    async (name, workload) => {
      const world = createOwn(['impersonate serviceaccounts robot'], [`system:serviceaccount:${NAMESPACE}:${name}`])
      expect(await told(world, workload)).toMatchObject({
        status: 403,
        text: expect.stringContaining(`ServiceAccount shop/${name} may update applications.meshstep.dev`),
        written: [],
      })
    },
  )

  test('a sender who may update one application and its workload reads no Secret in its pods that it may not get', async () => {
    const world = createOwn()
    const pulling = { podSpec: { ...podSpec(), imagePullSecrets: [{ name: 'registry' }, { name: 'web-registry' }] } }
    expect(await told(world, pulling)).toMatchObject({
      status: 403,
      text: expect.stringContaining('may not get secrets shop/registry'),
    })
    allowed.add('get secrets registry')
    expect(await told(world, pulling)).toMatchObject({ status: 200 })
  })

  test.each([
    ['the Deployment', { workload: { kind: 'Deployment', name: 'db' } }, 'patch deployments'],
    ['the Service', { service: 'db' }, 'patch services'],
  ])(
    'a sender who may update one application and its workload labels not %s of another that it may not patch',
    async (_, config, verb) => {
      const world = createOwn()
      const send = () => world.post(event('config-changed', { config }))
      expect((await send()).status).toBe(403)
      allowed.add(`${verb} db`)
      expect((await send()).status).toBe(200)
    },
  )

  test('whatever it asks for, no object is written that is not named by its application', async () => {
    const name = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom('a', 'a-x', 'a-b-c', 'a-labels') },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          ...['b', 'ab', 'b-a', 'default', 'meshstep', 'meshstep-a', 'meshstep-step', 'meshstep-a-secrets'],
          ...['meshstep-b-secrets', 'juju-service-mesh-a-labels', 'juju-service-mesh-b-labels'],
        ),
      },
    )
    const rarely = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 1 })
    const files = fc.dictionary(name, fc.constant({ key: 'x' }), { maxKeys: 2 })
    const volume = fc.oneof(
      name.map((secretName) => ({ name: 'v', secret: { secretName } })),
      name.map((configMap) => ({ name: 'v', configMap: { name: configMap } })),
    )
    const workload = fc.record(
      {
        podSpec: fc.record(
          {
            containers: name.map((container) => [{ name: container, image: 'x:1', ports: [{ containerPort: 80 }] }]),
            serviceAccountName: rarely(name),
            serviceAccount: rarely(name),
            volumes: volume.map((one) => [one]),
            imagePullSecrets: name.map((one) => [{ name: one }]),
          },
          { requiredKeys: ['containers'] },
        ),
        configMaps: files,
        secrets: files,
        serviceAccount: rarely(fc.record({ name })),
        podDisruptionBudget: fc.constant({ maxUnavailable: 1 }),
      },
      { requiredKeys: ['podSpec'] },
    )
    const named = fc.record({ kind: fc.constantFrom('Deployment', 'StatefulSet'), name })
    const config = fc.record(
      { workload: fc.oneof(workload, workload, named), service: rarely(name), labels: fc.constant({ tier: 'x' }) },
      { requiredKeys: ['workload'] },
    )
    const own = /\/(a|a-[-a-z]+|juju-service-mesh-a-labels|meshstep-a-secrets)(\?|$)/
    let written = 0
    await fc.assert(
      fc.asyncProperty(config, async (given) => {
        const world = createWorld(NAMESPACES, { allows: (about) => ['a', 'workload a'].includes(about) })
        world.api.seed(
          ['b', 'b-a', 'meshstep', 'default'].map((one) => object('ServiceAccount', one)),
          { manager: 'kubectl' },
        )
        world.calls.length = 0
        await world.post(event('config-changed', { application: 'a', config: given }))
        await world.post(event('resync', { application: 'a' }))
        const patched = world.calls.filter((call) => /^(PATCH|PUT|DELETE)/.test(call) && !call.includes('dryRun=All'))
        const foreign = world.api
          .objects()
          .filter(({ kind, metadata: { managedFields = [] } }) =>
            kind === 'Event' ? false : managedFields.some(({ manager }) => manager.startsWith('meshstep')),
          )
          .map(({ kind, metadata }) => `${kind} /${metadata.name}`)
          .filter((one) => !own.test(one) && !/^Pod |^ReplicaSet /.test(one))
        written += patched.length
        expect([patched.filter((call) => !own.test(call) && !/\/events/.test(call)), foreign]).toEqual([[], []])
      }),
      { seed: 31, numRuns: 60 },
    )
    expect(written).toBeGreaterThan(40)
  })
})
