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
} from '../../helpers/cluster.ts'
import { runs } from '../../helpers/runs.ts'
import { isWrite, NAMESPACE, type World } from '../../helpers/world.ts'

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

/** What is related, by which ids, kept beside the world; `next` is the id of the next relation. */
type Related = { mesh: boolean; readonly workers: Map<Worker, number>; next: number }

const nothingRelated = (): Related => ({ mesh: false, workers: new Map(), next: 1 })

/** A platform gives no id twice. */
const idFor = (related: Related, worker: Worker): number => {
  const known = related.workers.get(worker)
  if (known !== undefined) return known
  const id = related.next
  related.next += 1
  related.workers.set(worker, id)
  return id
}

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

const run = async (world: World, related: Related, one: Action): Promise<void> => {
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
      await relate(world, one.worker, idFor(related, one.worker), one.side)
      return
    case 'worker removed':
      await endRelation(world, one.worker, idFor(related, one.worker), one.side)
      related.workers.delete(one.worker)
      return
    case 'pods restarted':
      await restartPods(world, one.application)
      return
    default:
      await world.send('resync', { application: one.application })
  }
}

/** The same relations, told once each to the worker, on a world of its own. */
const straight = async (config: object, { mesh, workers }: Related): Promise<World> => {
  const world = await createCluster({ config: { ...config } })
  for (const [worker, id] of workers) await relate(world, worker, id)
  if (mesh) await run(world, nothingRelated(), { type: 'mesh added' })
  return world
}

const story = fc.array(actionOn('worker', 'coordinator', 'both'), { minLength: 1, maxLength: 12 })

const churn = (minimalDeployment: readonly string[], project: (world: World) => unknown) =>
  fc.asyncProperty(story, async (actions) => {
    const config = { minimalDeployment }
    const world = await createCluster({ config })
    const related = nothingRelated()
    for (const one of actions) await run(world, related, one)
    expect(project(world)).toEqual(project(await straight(config, related)))
    world.calls.length = 0
    for (const application of [COORDINATOR, ...WORKERS]) await world.send('resync', { application })
    expect(world.calls.filter(isWrite)).toEqual([])
  })

const RUNS = { numRuns: runs(12) }

test('whatever comes and goes in whatever order, relations that are the same end the same', async () => {
  await fc.assert(churn([], seen), RUNS)
})

test('labels, policies and routes end the same in whatever order, also while roles are missing', async () => {
  const withoutConfig = (world: World) => ({ ...seen(world), told: undefined })
  await fc.assert(churn(WORKERS, withoutConfig), RUNS)
})
