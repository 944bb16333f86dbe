import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  COORDINATOR,
  clusterRelation,
  createCluster,
  meshOf,
  relate,
  type Side,
  seen,
  WORKERS,
} from '../helpers/cluster.ts'
import { isWrite, NAMESPACE, type World } from '../helpers/world.ts'

type Worker = (typeof WORKERS)[number]

type Action =
  | { type: 'mesh added' | 'mesh removed' }
  | { type: 'worker added' | 'worker removed'; worker: Worker; side: Side }
  | { type: 'pods restarted' | 'resync'; application: string }

const actionOn = (...sides: Side[]): fc.Arbitrary<Action> =>
  fc.oneof(
    fc.record({ type: fc.constantFrom('mesh added' as const, 'mesh removed' as const) }),
    fc.record({
      type: fc.constantFrom('worker added' as const, 'worker removed' as const),
      worker: fc.constantFrom(...WORKERS),
      side: fc.constantFrom(...sides),
    }),
    fc.record({
      type: fc.constantFrom('pods restarted' as const, 'resync' as const),
      application: fc.constantFrom(COORDINATOR, ...WORKERS),
    }),
  )

type Ids = Readonly<Record<Worker, number>>

/** What is related at the end, kept beside the world. */
type Related = { mesh: boolean; workers: Set<Worker> }

const endRelation = async (world: World, worker: Worker, id: number, told: Side): Promise<void> => {
  if (told !== 'coordinator') await world.send('relation-broken', { application: worker, relation: { id } })
  if (told === 'worker') return
  const { relation, remote } = clusterRelation('provides', worker, id)
  const data = { relation, remote: { application: remote.application } }
  await world.send('relation-broken', { application: COORDINATOR, ...data })
}

/** Deletes the pods of a workload, which makes others, and says so of each. */
const restartPods = async (world: World, application: string): Promise<void> => {
  const pods = world.api
    .objects()
    .filter(({ kind, metadata }) => kind === 'Pod' && metadata.name.startsWith(`${application}-`))
  const path = `/api/v1/namespaces/${NAMESPACE}/pods`
  for (const { metadata } of pods)
    await world.api.handle({ method: 'DELETE', path: `${path}/${metadata.name}`, headers: {} })
  for (const { metadata } of world.api
    .objects()
    .filter(({ kind, metadata: { name } }) => kind === 'Pod' && pods.some((pod) => pod.metadata.name === name)))
    await world.send('pod-restarted', { application, pod: { name: metadata.name, uid: metadata.uid } })
}

const run = async (world: World, ids: Ids, related: Related, one: Action): Promise<void> => {
  switch (one.type) {
    case 'mesh added':
      related.mesh = true
      await world.send('relation-changed', { application: COORDINATOR, ...meshOf() })
      return
    case 'mesh removed':
      related.mesh = false
      await world.send('relation-broken', { application: COORDINATOR, relation: { id: 99 } })
      return
    case 'worker added':
      related.workers.add(one.worker)
      await relate(world, one.worker, ids[one.worker], one.side)
      return
    case 'worker removed':
      related.workers.delete(one.worker)
      await endRelation(world, one.worker, ids[one.worker], one.side)
      return
    case 'pods restarted':
      await restartPods(world, one.application)
      return
    default:
      await world.send('resync', { application: one.application })
  }
}

/** The same relations, told once each to the worker, on a world of its own. */
const straight = async (config: object, ids: Ids, { mesh, workers }: Related): Promise<World> => {
  const world = await createCluster({ config: { ...config } })
  const related = { mesh, workers: new Set<Worker>() }
  for (const worker of workers) await run(world, ids, related, { type: 'worker added', worker, side: 'worker' })
  if (mesh) await run(world, ids, related, { type: 'mesh added' })
  return world
}

/** A platform gives each relation an id of its own; workers that only tell of themselves may count alike. */
const story = fc.oneof(
  fc.record({
    ids: fc.constant({ querier: 1, ingester: 2, compactor: 3 }),
    actions: fc.array(actionOn('worker', 'coordinator', 'both'), { minLength: 1, maxLength: 12 }),
  }),
  fc.record({
    ids: fc.constant({ querier: 1, ingester: 1, compactor: 1 }),
    actions: fc.array(actionOn('worker'), { minLength: 1, maxLength: 12 }),
  }),
)

const churn = (minimalDeployment: readonly string[], project: (world: World) => unknown) =>
  fc.asyncProperty(story, async ({ actions, ids }) => {
    const config = { minimalDeployment }
    const world = await createCluster({ config })
    const related: Related = { mesh: false, workers: new Set() }
    for (const one of actions) await run(world, ids, related, one)
    expect(project(world)).toEqual(project(await straight(config, ids, related)))
    world.calls.length = 0
    for (const application of [COORDINATOR, ...WORKERS]) await world.send('resync', { application })
    expect(world.calls.filter(isWrite)).toEqual([])
  })

const RUNS = { numRuns: 25 }

test('whatever comes and goes in whatever order, relations that are the same end the same', async () => {
  await fc.assert(churn([], seen), RUNS)
})

test('labels, policies and routes do so while roles are missing, too', async () => {
  const withoutConfig = (world: World) => ({ ...seen(world), told: undefined })
  await fc.assert(churn(WORKERS, withoutConfig), RUNS)
})
