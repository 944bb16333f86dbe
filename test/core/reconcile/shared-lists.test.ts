import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createBudget } from '../../../src/platform/base/budget.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { createSharedLists } from '../../../src/platform/kubernetes/shared-lists.ts'
import { configDocument, crowd, documentEvent } from '../../helpers/crowd.ts'
import { createWorld, event, NAMESPACE, service, type World, workload } from '../../helpers/world.ts'

const NAMES = Array.from({ length: 20 }, (_, index) => `new-${index}`)

/** So many looks through memories fit into a small budget, beside the documents and what the last one leaves others. */
const LOOKS = 4

/** Twenty applications without a memory, with a config document each, beside 30 memories of 100 kB. */
const createCrowded = async (most?: number): Promise<World> => {
  const own = NAMES.flatMap((name) => [workload('StatefulSet', name), service(name), configDocument(name)])
  const budget = most === undefined ? {} : { budget: createBudget(most, 'busy') }
  const world = createWorld([...(await crowd(30)), ...own], { share: createSharedLists(), ...budget })
  world.calls.length = 0
  world.intercept = async () => void (await turn())
  return world
}

const listsIn = ({ calls }: World, selector: string) =>
  calls.filter((call) => call.includes('/configmaps?') && call.includes(selector))

const applied = (world: World) => NAMES.filter((name) => world.labels(name).template.tier === 'gold')

test('20 first steps at once in one namespace read two lists of its memories, in pages of at most 2 MiB', async () => {
  const world = await createCrowded()
  const answers = await Promise.all(NAMES.map((name) => world.post(documentEvent(name))))
  expect(answers.map(({ status }) => status)).toEqual(NAMES.map(() => 200))
  expect(applied(world)).toEqual(NAMES)
  const memories = listsIn(world, 'managed-by')
  // each begins with one that is too long, and is not read to its end
  expect(memories.filter((call) => !call.includes('continue=') && call.includes('limit=500'))).toHaveLength(2)
  expect(memories.length).toBeGreaterThan(4)
  expect(memories.length).toBeLessThanOrEqual(10)
  expect(listsIn(world, 'meshstep.dev%2Fkind')).toHaveLength(2)
})

test('who finds the budget full is answered 429 with Retry-After, the rest are served, and all are right after redelivery', async () => {
  const world = await createCrowded((LOOKS + 1 / 2) * 64 * 1024)
  const answers = await Promise.all(NAMES.map((name) => world.post(documentEvent(name))))
  const busy = answers.filter(({ status }) => status === 429)
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(LOOKS)
  expect(busy).toHaveLength(NAMES.length - LOOKS)
  expect(busy.map(({ headers }) => headers.get('retry-after'))).toEqual(busy.map(() => '1'))
  expect(applied(world)).toHaveLength(LOOKS)
  for (const name of NAMES) expect((await world.post(documentEvent(name))).status).toBe(200)
  expect(applied(world)).toEqual(NAMES)
})

const documentOf = (application: string, index: number, relation: unknown): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: `more-${index}`, namespace: NAMESPACE, labels: { 'meshstep.dev/kind': 'relation' } },
  data: {
    application,
    relation: JSON.stringify(relation),
    remote: JSON.stringify({ application: 'db', data: { text: 'x'.repeat(100_000) } }),
  },
})

const relationOf = (id: number) => ({ id, endpoint: 'api', interface: 'http', role: 'provides' })

/** Two applications without a memory, with five large documents of the first, and a budget for four of these. */
const createTwo = (relation: (index: number) => unknown, most: number): World => {
  const own = NAMES.slice(0, 2).flatMap((name) => [workload('StatefulSet', name), service(name), configDocument(name)])
  const large = Array.from({ length: 5 }, (_, index) => documentOf('new-0', index, relation(index)))
  const bound = { most, problem: 'too much' }
  return createWorld([...own, ...large], {
    share: createSharedLists(),
    budget: createBudget(400_000, 'busy', bound),
  })
}

test('an application whose documents are more than all of the budget leaves others their look', async () => {
  const world = createTwo(relationOf, 1_000_000)
  const answers = await Promise.all(['new-0', 'new-1'].map((name) => world.post(documentEvent(name))))
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
})

test('documents that cannot be read take no more room than what is told of them', async () => {
  const world = createTwo(() => 'none', 100_000)
  const answer = await world.post(documentEvent('new-0'))
  expect(answer.status).toBe(200)
  expect(await answer.text()).toContain('more-4')
})

test('documents that are read by their names count as well', async () => {
  const world = createTwo(relationOf, 100_000)
  const documents = [0, 1, 2].map((index) => `more-${index}`)
  const resync = event('resync', { application: 'new-1', documents, named: [] })
  expect((await world.post(event('config-changed', { application: 'new-1', config: {} }))).status).toBe(200)
  expect((await world.post(resync)).status).toBe(429)
})

test('memories of others that are read by their names count as well', async () => {
  const budget = createBudget(90_000, 'busy', { most: 90_000, problem: 'too much' })
  const world = createWorld([workload(), service(), ...(await crowd(1))], { budget })
  await world.send('config-changed', { config: {} })
  const relation = { id: 1, endpoint: 'api', interface: 'http', role: 'provides' }
  const told = event('relation-changed', { relation, remote: { application: 'app-0', data: {} } })
  const answer = await world.post(told)
  expect([answer.status, await answer.text()]).toEqual([429, expect.stringContaining('too much')])
})
