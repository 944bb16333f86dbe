import { describe, expect, test } from 'vitest'
import { edit } from '../../helpers/beacon-world.ts'
import { COORDINATOR, clusterRelation, createCluster, meshOf, ON_MESH, relate } from '../../helpers/cluster.ts'
import { application, namespace } from '../../helpers/mesh.ts'
import { FORBIDDEN, isWrite, type World } from '../../helpers/world.ts'

const configureMesh = (world: World, mesh: object) =>
  world.send('config-changed', { application: 'beacon', config: { mesh } })

/** A coordinator and workers whose beacon has all of their namespace on the mesh. */
const inModel = async (): Promise<World> => {
  const workers = ['querier', 'ingester']
  const world = await createCluster({ config: { minimalDeployment: [] }, workers })
  await configureMesh(world, { modelOnMesh: true })
  await world.send('relation-changed', { application: COORDINATOR, ...meshOf() })
  for (const [index, name] of workers.entries()) await relate(world, name, index + 1)
  return world
}

const ENROLMENT = 'istio.io/dataplane-mode'

const isNamespaceOn = (world: World): boolean =>
  world.api.objects().some(({ kind, metadata }) => kind === 'Namespace' && metadata.labels?.[ENROLMENT] === 'ambient')

/** Those of the cluster that carry labels of the mesh themselves. */
const carrying = (world: World): string[] =>
  [COORDINATOR, 'querier', 'ingester'].filter((name) => world.labels(name).template[ENROLMENT] === 'ambient')

describe('a namespace that is on the mesh as a whole', () => {
  test('a namespace that is on the mesh as a whole stays there until the workers of a coordinator carry labels of their own', async () => {
    const world = await inModel()
    expect([isNamespaceOn(world), carrying(world)]).toEqual([true, []])
    world.intercept = ({ method, path }) =>
      method === 'PATCH' && path.includes('/statefulsets/querier?') ? FORBIDDEN : undefined
    await configureMesh(world, {})
    await world.send('resync', { application: 'beacon' })
    expect([isNamespaceOn(world), carrying(world)]).toEqual([true, [COORDINATOR, 'ingester']])
    expect(await world.send('resync', { application: COORDINATOR })).toMatchObject({
      messages: expect.arrayContaining(['waiting for shop/querier to carry labels of the mesh']),
    })
    world.intercept = undefined
    await world.send('resync', { application: 'querier' })
    expect([isNamespaceOn(world), carrying(world)]).toEqual([false, [COORDINATOR, 'querier', 'ingester']])
  })

  test('a namespace that is on the mesh as a whole stays there until the pods of the workers that run do so, too', async () => {
    const world = await inModel()
    const querier = '/apis/apps/v1/namespaces/shop/statefulsets/querier'
    edit(world, querier, { spec: { updateStrategy: { type: 'OnDelete', rollingUpdate: null } } })
    edit(world, '/api/v1/namespaces/shop/pods/querier-0', {
      metadata: { labels: { 'app.kubernetes.io/name': 'querier' } },
    })
    await configureMesh(world, {})
    expect([isNamespaceOn(world), carrying(world)]).toEqual([true, [COORDINATOR, 'querier', 'ingester']])
    expect(await world.send('resync', { application: 'beacon' })).toMatchObject({
      messages: expect.arrayContaining([expect.stringMatching(/^Namespace shop stays .*: waiting for shop\/tempo$/)]),
    })
    expect(await world.send('resync', { application: COORDINATOR })).toMatchObject({
      messages: expect.arrayContaining(['waiting for shop/querier to carry labels of the mesh']),
    })
    edit(world, querier, { spec: { updateStrategy: { type: 'RollingUpdate' } } })
    await world.send('resync', { application: 'querier' })
    expect(isNamespaceOn(world)).toBe(false)
  })
})

const WORKER = { namespace: 'logs', application: 'far' }

/** Relates a worker of another namespace to the coordinator. */
const relateFar = async (world: World) => {
  world.api.seed([namespace('logs', {}), ...application('far', { namespace: 'logs', labels: {} })], { manager: 'juju' })
  await world.send('config-changed', { ...WORKER, config: { worker: { roles: ['querier'] } } })
  const there = clusterRelation('requires', COORDINATOR, 9)
  await world.send('relation-changed', { ...WORKER, ...there, remote: { ...there.remote, namespace: 'shop' } })
  const here = clusterRelation('provides', 'far', 4)
  return await world.send('relation-changed', {
    application: COORDINATOR,
    ...here,
    remote: { ...here.remote, namespace: 'logs' },
  })
}

const FAR = '/apis/apps/v1/namespaces/logs/statefulsets/far'

const farLabels = (world: World): Record<string, string> => {
  const { body } = world.api.handle({ method: 'GET', path: FAR, headers: {} })
  const { 'app.kubernetes.io/name': _, ...labels } = JSON.parse(body).spec.template.metadata.labels
  return labels
}

describe('a worker in another namespace than the coordinator, whose namespace is on the mesh as a whole', () => {
  test('a worker in another namespace than the coordinator, whose namespace is on the mesh as a whole has labels of its own, which the coordinator hands on', async () => {
    const world = await inModel()
    await relateFar(world)
    expect([farLabels(world), carrying(world)]).toEqual([ON_MESH, []])
    world.calls.length = 0
    for (const one of [WORKER, { application: COORDINATOR }, { application: 'beacon' }]) await world.send('resync', one)
    expect(world.calls.filter(isWrite)).toEqual([])
  })

  test('a worker in another namespace than the coordinator, whose namespace is on the mesh as a whole keeps them where the namespace joins or leaves', async () => {
    const world = await inModel()
    await relateFar(world)
    const written: string[] = []
    world.intercept = ({ method, path }) => {
      if (method === 'PATCH' && path.startsWith(FAR)) written.push(path)
      return undefined
    }
    for (const modelOnMesh of [false, true]) {
      await configureMesh(world, { modelOnMesh })
      expect([isNamespaceOn(world), farLabels(world)]).toEqual([modelOnMesh, ON_MESH])
    }
    expect(written).toEqual([])
  })

  test('a worker in another namespace than the coordinator, whose namespace is on the mesh as a whole keeps the waypoint as long as it is led there', async () => {
    const world = await inModel()
    await relateFar(world)
    world.intercept = ({ method, path }) => (method === 'PATCH' && path.startsWith(FAR) ? FORBIDDEN : undefined)
    await configureMesh(world, { modelOnMesh: true, waypoint: false })
    await world.send('resync', { application: 'beacon' })
    expect([farLabels(world), world.object('Gateway', 'shop-beacon-waypoint')?.kind]).toEqual([ON_MESH, 'Gateway'])
    world.intercept = undefined
    await world.send('resync', WORKER)
    expect(farLabels(world)).toEqual({ [ENROLMENT]: 'ambient' })
    expect(world.object('Gateway', 'shop-beacon-waypoint')).toBeUndefined()
  })

  test('a worker in another namespace than the coordinator, whose namespace is on the mesh as a whole is named where the beacon names no labels for it', async () => {
    const world = await createCluster({ config: { minimalDeployment: [] }, workers: [] })
    const { relation } = meshOf()
    const beacon = { application: 'elsewhere', data: { labels: '{}', mesh_type: '"istio"' } }
    await world.send('relation-changed', { application: COORDINATOR, relation, remote: beacon })
    expect(await relateFar(world)).toMatchObject({
      messages: expect.arrayContaining([
        'relation 4 (cluster): it is in logs, for which the beacon names no labels: it is not put on the mesh',
      ]),
    })
  })
})
