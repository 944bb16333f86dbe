import { expect, test } from 'vitest'
import { configure, createMesh, edit, related, requires } from '../../helpers/beacon-world.ts'
import type { World } from '../../helpers/world.ts'
import { lintOf, viewOf } from '../answers.ts'

const DB = { application: 'db' }
const WEB = { application: 'web' }
const NAME = 'app.kubernetes.io/name'
const LABELS = `pods of StatefulSet shop/db do not have the label ${NAME}: db, by which policies select them, so that none holds for them: add it to labels of the config, or to the template`
const NOBODY = 'by its relations nobody may reach shop/db: no relation in which it provides something'

const STATEFUL_SET = (name: string) => `/apis/apps/v1/namespaces/shop/statefulsets/${name}`
const TEMPLATE = (metadata: object, spec: object = {}) => ({ spec: { template: { metadata, spec } } })
/** The workload as Online Boutique has it: its pods, its selector and its Service go by `app`. */
const publish = (world: World): void => {
  const object = world.api.objects().find(({ kind, metadata }) => kind === 'StatefulSet' && metadata.name === 'db')
  world.api.handle({ method: 'DELETE', path: STATEFUL_SET('db'), headers: {} })
  const { resourceVersion: _, uid: _u, ...metadata } = object?.metadata ?? { name: 'db' }
  const labels = { app: 'db' }
  const template = {
    metadata: { labels },
    spec: { serviceAccountName: 'db', containers: [{ name: 'c', image: 'x:1' }] },
  }
  world.api.seed(
    [
      {
        ...object,
        apiVersion: 'apps/v1',
        kind: 'StatefulSet',
        metadata,
        spec: { replicas: 2, serviceName: 'db', selector: { matchLabels: labels }, template },
      },
    ],
    { manager: 'juju' },
  )
  edit(world, '/api/v1/namespaces/shop/services/db', { spec: { selector: { [NAME]: null, app: 'db' } } })
}

const messagesOf = (conditions: readonly { message: string }[] = []) => conditions.map(({ message }) => message)

const createShop = async (config: Record<string, unknown> = { policies: 'related' }): Promise<World> => {
  const world = createMesh(['db', 'web'])
  await configure(world, { mesh: {} })
  await configure(world, config, DB)
  return world
}

test('an application whose pods no policy selects waits, says so in every answer, and nowhere that nobody may reach it', async () => {
  const world = await createShop()
  publish(world)
  const outcomes = [
    await world.send('relation-changed', requires(7, DB)),
    await world.send('resync', { application: 'beacon' }),
    await world.send('resync', DB),
  ]
  expect(messagesOf(outcomes[2]?.conditions)).toEqual([LABELS])
  expect(JSON.stringify(outcomes)).not.toContain('nobody may reach')
  const { status, conditions, messages } = await viewOf(world)
  expect(status.status).toBe('waiting')
  expect(messagesOf(conditions)).toEqual([LABELS])
  expect(messages).toEqual([])
  expect((await lintOf(world)).map(({ message }) => message).join('\n')).toContain(LABELS)
})

test('the label that is named makes policies select the pods, wherever it is put', async () => {
  for (const put of [
    (world: World) => configure(world, { policies: 'related', labels: { [NAME]: 'db' } }, DB),
    async (world: World) => edit(world, STATEFUL_SET('db'), TEMPLATE({ labels: { [NAME]: 'db' } })),
  ]) {
    const world = await createShop()
    publish(world)
    await world.send('relation-changed', requires(7, DB))
    await put(world)
    const outcome = await world.send('resync', DB)
    expect(outcome.conditions ?? []).toEqual([])
    expect(outcome.messages).toEqual([NOBODY])
    expect((await viewOf(world)).status.status).toBe('active')
  }
})

test('an application that is no target of policies needs no label', async () => {
  const world = await createShop({})
  publish(world)
  await world.send('relation-changed', requires(7, DB))
  expect((await world.send('resync', DB)).conditions ?? []).toEqual([])
})

test('a Service that does not select the pods of its application is waited for', async () => {
  const world = await createShop()
  edit(world, '/api/v1/namespaces/shop/services/db', { spec: { selector: { app: 'other' } } })
  await world.send('relation-changed', requires(7, DB))
  const message =
    'Service shop/db does not select the pods of the application, so that its policies hold for other pods or for none: correct its selector'
  expect(messagesOf((await world.send('resync', DB)).conditions)).toEqual([message])
  expect(messagesOf((await viewOf(world)).conditions)).toEqual([message])
})

const ACCOUNT =
  'pods of StatefulSet shop/web run as the ServiceAccount runner, and what is granted to web lets in pods of the ServiceAccount web alone: set serviceAccountName: web in their template'

test('a client that runs as another ServiceAccount than the grants name waits, and says so in every answer', async () => {
  const world = await createShop()
  await world.send('relation-changed', requires(7, DB))
  await world.send('relation-changed', requires(8, WEB))
  edit(world, STATEFUL_SET('web'), TEMPLATE({}, { serviceAccountName: 'runner' }))
  expect((await world.send('resync', WEB)).conditions ?? []).toEqual([])
  await world.send('relation-changed', related(3, 'db', WEB, DB))
  expect(messagesOf((await world.send('resync', WEB)).conditions)).toEqual([ACCOUNT])
  const { status, conditions } = await viewOf(world, 'web')
  expect(status.status).toBe('waiting')
  expect(messagesOf(conditions)).toEqual([ACCOUNT])
  const found = (await lintOf(world)).filter(({ message }) => message.includes('runner'))
  expect(found.map(({ rule }) => rule)).toEqual(['grant-without-effect'])
})

test('a client is let in that runs as the ServiceAccount which its beacon names for it', async () => {
  const world = await createShop()
  for (const [id, of] of [
    [7, DB],
    [8, WEB],
  ] as const)
    await world.send('relation-changed', requires(id, of))
  edit(world, STATEFUL_SET('web'), TEMPLATE({}, { serviceAccountName: 'runner' }))
  await world.send('relation-changed', related(3, 'db', WEB, DB))
  await configure(world, { mesh: {}, serviceAccounts: { 'shop/web': 'runner' } })
  expect((await world.send('resync', WEB)).conditions ?? []).toEqual([])
  expect((await viewOf(world, 'web')).conditions).toEqual([])
})

test('lint names a client that is granted access and has no identity, as it is outside of the mesh', async () => {
  const world = await createShop()
  await world.send('relation-changed', requires(7, DB))
  await world.send('relation-changed', related(3, 'db', WEB, DB))
  const found = async () => (await lintOf(world)).filter(({ rule }) => rule === 'grant-without-effect')
  expect(await found()).toMatchObject([
    { about: 'StatefulSet shop/web', message: expect.stringContaining('have no identity outside of the mesh') },
  ])
  await world.send('relation-changed', requires(8, WEB))
  expect(await found()).toEqual([])
})

test('nobody is said to be kept out of pods in the network of their node, where no policy holds', async () => {
  const world = await createShop()
  edit(world, STATEFUL_SET('db'), TEMPLATE({}, { hostNetwork: true }))
  await world.send('relation-changed', requires(7, DB))
  const told = [
    await world.send('resync', { application: 'beacon' }),
    await world.send('resync', DB),
    await viewOf(world),
  ]
  expect(JSON.stringify(told)).toContain('hostNetwork')
  expect(JSON.stringify(told)).not.toContain('nobody may reach')
})

test('lint of a namespace that does not exist is refused', async () => {
  const { status } = await (await createShop()).app.request('/lint?namespace=nowhere')
  expect(status).toBe(404)
})

test('a client without a beacon is not said to run as the wrong ServiceAccount, as the beacon of whom it uses may name that one', async () => {
  const world = await createShop()
  await world.send('relation-changed', requires(7, DB))
  edit(world, STATEFUL_SET('web'), TEMPLATE({}, { serviceAccountName: 'runner' }))
  await configure(world, { mesh: {}, serviceAccounts: { 'shop/web': 'runner' } })
  await world.send('relation-changed', related(3, 'db', WEB, DB))
  expect((await world.send('resync', WEB)).conditions ?? []).toEqual([])
})

test('pods whose name is set by somebody else wait, though the config has another one for them', async () => {
  const world = await createShop({ policies: 'related', labels: { [NAME]: 'db' } })
  const labels = { [NAME]: 'platform' }
  const object = world.api.objects().find(({ kind, metadata }) => kind === 'StatefulSet' && metadata.name === 'db')
  world.api.handle({ method: 'DELETE', path: STATEFUL_SET('db'), headers: {} })
  const template = {
    metadata: { labels },
    spec: { serviceAccountName: 'db', containers: [{ name: 'c', image: 'x:1' }] },
  }
  const spec = { replicas: 1, serviceName: 'db', selector: { matchLabels: labels }, template }
  world.api.seed(
    [
      {
        apiVersion: 'apps/v1',
        kind: 'StatefulSet',
        metadata: { name: 'db', namespace: 'shop', labels: object?.metadata.labels },
        spec,
      },
    ],
    { manager: 'juju' },
  )
  await world.send('relation-changed', requires(7, DB))
  expect(messagesOf((await world.send('resync', DB)).conditions).join()).toContain('do not have the label')
})

test('a Service of another name that does not select the pods by name is waited for, and nobody is said to be kept out', async () => {
  const world = await createShop({ policies: 'related', service: 'front' })
  world.api.seed(
    [
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'front', namespace: 'shop' },
        spec: { selector: { app: 'db' }, ports: [{ port: 80 }] },
      },
    ],
    { manager: 'juju' },
  )
  await world.send('relation-changed', requires(7, DB))
  const message = `Service shop/front does not select the pods of db by ${NAME}: it gets no policy`
  const told = await world.send('resync', DB)
  expect([messagesOf(told.conditions), told.messages.join()]).toEqual([[message], message])
  const view = await viewOf(world)
  expect([messagesOf(view.conditions), view.messages, view.status.status]).toEqual([[message], [], 'waiting'])
})

test('lint goes by the ServiceAccounts that a beacon names for applications', async () => {
  const world = await createShop()
  await world.send('relation-changed', requires(7, DB))
  await world.send('relation-changed', requires(8, WEB))
  await world.send('relation-changed', related(3, 'db', WEB, DB))
  const found = async () => (await lintOf(world)).filter(({ rule }) => rule === 'grant-without-effect')
  await configure(world, { mesh: {}, serviceAccounts: { 'shop/web': 'db' } })
  await world.send('resync', DB)
  await world.send('resync', { application: 'beacon' })
  expect(await found()).toMatchObject([
    { about: 'StatefulSet shop/web', message: expect.stringContaining('run as the ServiceAccount web') },
  ])
})
