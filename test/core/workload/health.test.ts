import { describe, expect, test } from 'vitest'
import { createEmptyWorld, deployed, pods, remove, view, writesOf } from '../../helpers/application.ts'
import { createWorld, NAMESPACE, type World, workload } from '../../helpers/world.ts'

const withStatus = (world: World, path: string, status: Record<string, unknown>) =>
  world.api.handle({
    method: 'PATCH',
    path: `${path}/status`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify({ status }),
  })

const DEPLOYMENT = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/web`
/** The controller of the embedded API would take it back at once. */
const deploymentHas = (world: World, status: Record<string, unknown>) => {
  world.intercept = async (request) => {
    if (request.method !== 'GET' || request.path !== DEPLOYMENT) return undefined
    const answer = await world.api.handle(request)
    const object = JSON.parse(answer.body)
    return { ...answer, body: JSON.stringify({ ...object, status: { ...object.status, ...status } }) }
  }
}

const podPath = (world: World) => `/api/v1/namespaces/${NAMESPACE}/pods/${pods(world)[0]?.metadata.name}`

const ofOthers = async () => {
  const world = createWorld([workload('Deployment')])
  await world.send('config-changed', { config: {} })
  return world
}

const own = async () => {
  const world = createEmptyWorld()
  await world.send('config-changed', deployed({ replicas: 2 }))
  return world
}

const unavailable = (conditions: unknown[] = []) => ({ availableReplicas: 0, readyReplicas: 0, conditions })

const waiting = (reason: string, message?: string) => ({
  containerStatuses: [{ name: 'web', state: { waiting: { reason, ...(message && { message }) } } }],
})

describe.each([
  ['a workload of others', ofOthers],
  ['a workload of its own', own],
])('%s', (_, start) => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>, string, string]>([
    ['no pod is available', unavailable(), {}, 'waiting', '0 of 2 pods are available'],
    [
      'a container crashes',
      unavailable(),
      waiting('CrashLoopBackOff', 'back-off 5m0s'),
      'error',
      'container web: CrashLoopBackOff: back-off 5m0s',
    ],
    ['an image is not there', unavailable(), waiting('ImagePullBackOff'), 'error', 'container web: ImagePullBackOff'],
    ['a container is being made', unavailable(), waiting('ContainerCreating'), 'waiting', '0 of 2 pods are available'],
    [
      'a claim is missing',
      unavailable(),
      {
        conditions: [
          {
            type: 'PodScheduled',
            status: 'False',
            reason: 'Unschedulable',
            message: 'persistentvolumeclaim "data" not found',
          },
        ],
      },
      'blocked',
      'cannot be scheduled: persistentvolumeclaim "data" not found',
    ],
    [
      'the rollout takes too long',
      unavailable([
        {
          type: 'Progressing',
          status: 'False',
          reason: 'ProgressDeadlineExceeded',
          message: 'has timed out progressing',
        },
      ]),
      {},
      'error',
      'Deployment web: has timed out progressing',
    ],
    [
      'no pod can be made',
      unavailable([{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota' }]),
      {},
      'error',
      'Deployment web: exceeded quota',
    ],
    ['only one is available', { availableReplicas: 1 }, {}, 'waiting', '1 of 2 pods are available'],
  ])('where %s is not active, and nothing of it is remembered', async (__, status, podStatus, expected, message) => {
    const world = await start()
    withStatus(world, podPath(world), podStatus)
    deploymentHas(world, status)
    let outcome: Awaited<ReturnType<World['send']>> | undefined
    const writes = await writesOf(world, async () => {
      outcome = await world.send('resync', {})
    })
    expect(writes).toEqual([])
    expect(outcome?.applicationStatus).toMatchObject({ status: expected, message: expect.stringContaining(message) })
    expect((await view(world)).status).toEqual(outcome?.applicationStatus)
  })
})

describe('an application is not active', () => {
  test('whose workload is somebody else’s namesake', async () => {
    const world = createWorld([workload('Deployment')])
    const outcome = await world.send('config-changed', deployed())
    expect(outcome.applicationStatus).toEqual({
      status: 'blocked',
      message: "Deployment shop/web is somebody else's: the application's own is not deployed",
    })
    expect(await view(world)).toMatchObject({ status: outcome.applicationStatus, units: [] })
  })

  test('an application is not active that waits for the address of a Service', async () => {
    const world = createWorld()
    const outcome = await world.send('relation-changed', {
      relation: { id: 3, endpoint: 'db', interface: 'k8s-service', role: 'requires' },
      remote: { application: 'db', data: {} },
    })
    expect(outcome.applicationStatus).toMatchObject({
      status: 'waiting',
      message: expect.stringContaining('relation 3 (db): waiting for'),
    })
    expect((await view(world)).status).toEqual(outcome.applicationStatus)
  })

  test('an application is not active that is to have labels on a workload that is not there', async () => {
    const world = createWorld()
    await world.send('config-changed', { config: { labels: { team: 'blue' } } })
    expect((await view(world)).status.status).toBe('active')
    remove(world, 'StatefulSet', 'web')
    expect(await world.send('resync', {})).toMatchObject({ applicationStatus: { status: 'waiting' } })
    expect((await view(world)).status).toMatchObject({
      status: 'waiting',
      message: 'StatefulSet or Deployment shop/web does not exist: its labels are applied by the next pod-restarted',
    })
  })

  test('of which the API server refuses an object, until it does not', async () => {
    const world = createWorld()
    const refusal = { kind: 'Status', status: 'Failure', code: 422, reason: 'Invalid', message: 'is invalid: x' }
    world.intercept = ({ method, path }) =>
      method === 'PATCH' && path.includes('/authorizationpolicies/')
        ? { status: 422, headers: { 'content-type': 'application/json' }, body: JSON.stringify(refusal) }
        : undefined
    const policy = {
      apiVersion: 'security.istio.io/v1',
      kind: 'AuthorizationPolicy',
      metadata: { name: 'deny' },
      spec: { action: 'DENY', rules: [{}] },
    }
    const outcome = await world.send('config-changed', { config: { rawPolicies: [policy] } })
    expect(outcome.applicationStatus).toMatchObject({
      status: 'error',
      message: expect.stringContaining('is invalid: x'),
    })
    expect((await view(world)).status).toEqual(outcome.applicationStatus)
    world.intercept = undefined
    expect(await world.send('resync', {})).not.toHaveProperty('applicationStatus')
  })
})
