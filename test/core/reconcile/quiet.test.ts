import { expect, test } from 'vitest'
import { features } from '../../../src/features.ts'
import { ask, configure, edit, path, policiesIn, remove, waypoint, wire } from '../../helpers/beacon-world.ts'
import { createWorld, isWrite, service, workload } from '../../helpers/world.ts'

const POLICIES = Array.from({ length: 20 }, (_, index) =>
  wire({
    target_type: 'unit',
    target_app_name: null,
    target_selector_labels: { 'app.kubernetes.io/name': 'db', part: String(index) },
    endpoints: [{ ports: [80] }],
  }),
)

/** A beacon with policies. Its desired state is counted each time it is made, and all that is made of a policy or published. */
const createCounted = async () => {
  let made = 0
  const others: string[] = []
  const world = createWorld([waypoint(), workload('StatefulSet', 'db'), service('db')], {
    isOwnSink: true,
    features: {
      ...features,
      desire: (input) => {
        made += 1
        return features.desire(input)
      },
      publications: (input) => {
        others.push('publications')
        return features.publications(input)
      },
      mesh: {
        ...features.mesh,
        targetOf: (policy) => {
          others.push('targetOf')
          return features.mesh.targetOf(policy)
        },
      },
    },
  })
  await configure(world, { mesh: {} })
  for (const _ of ['granted', 'seen', 'quiet']) await ask(world, POLICIES)
  expect(policiesIn(world)).toHaveLength(POLICIES.length)
  const quiet = async () => {
    made = 0
    others.length = 0
    world.calls.length = 0
    await ask(world, POLICIES)
    return { made, writes: world.calls.filter((call) => isWrite(call) && call.includes('/authorizationpolicies/')) }
  }
  return { world, quiet, others }
}

test('a step that reads what the one before read makes, publishes and plans nothing anew', async () => {
  const { quiet, others } = await createCounted()
  expect(await quiet()).toEqual({ made: 0, writes: [] })
  expect(others).toEqual([])
})

test.each([
  ['edited', (at: string, world: Parameters<typeof edit>[0]) => edit(world, at, { spec: { action: 'DENY' } })],
  ['deleted', (at: string, world: Parameters<typeof edit>[0]) => remove(world, at)],
])('a policy that was %s meanwhile is taken back', async (_, happen) => {
  const { world, quiet } = await createCounted()
  const before = policiesIn(world).map(({ spec }) => spec)
  const [policy] = policiesIn(world)
  if (policy) happen(path(policy), world)
  await world.send('resync', { application: policy?.metadata.labels?.['meshstep.dev/application'] })
  expect(policiesIn(world).map(({ spec }) => spec)).toEqual(before)
  await quiet()
  expect(await quiet()).toEqual({ made: 0, writes: [] })
})
