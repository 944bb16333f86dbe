import { describe, expect, test } from 'vitest'
import { configure, createMesh, edit, requires } from '../../helpers/beacon-world.ts'
import type { World } from '../../helpers/world.ts'
import { lintOf, viewOf } from '../answers.ts'

const DB = { application: 'db' }
const KEY = 'istio.io/dataplane-mode'
const LABELS = { labels: { [KEY]: 'none' } }

const STATEFUL_SET = '/apis/apps/v1/namespaces/shop/statefulsets/db'

/** Sets Istio's mark of captured pods on the pods of an application, or takes it off. */
const mark = (world: World, name: string, value: string | null): void => {
  const metadata = { annotations: { 'ambient.istio.io/redirection': value } }
  for (const number of [0, 1]) edit(world, `/api/v1/namespaces/shop/pods/${name}-${number}`, { metadata })
}

test('an application whose pods the mesh has not captured waits, and says so in every answer', async () => {
  const world = createMesh(['db', 'web'])
  await configure(world, { mesh: {} })
  await world.send('relation-changed', requires(7, DB))
  const told = async (message: string | undefined) => {
    const outcome = await world.send('resync', DB)
    const { status, conditions } = await viewOf(world)
    const said = [...(outcome.conditions ?? []), ...conditions].map((one) => one.message)
    expect(status.status).toBe(message === undefined ? 'active' : 'waiting')
    expect(said).toEqual(message === undefined ? [] : Array(2).fill(expect.stringContaining(message)))
    const findings = (await lintOf(world)).map((finding) => finding.message).join('\n')
    expect(findings.includes('StatefulSet shop/db may be off the mesh')).toBe(message !== undefined)
  }
  await told(undefined)
  mark(world, 'db', 'disabled')
  await told('pods of StatefulSet shop/db may be off the mesh: their annotation ambient.istio.io/redirection: disabled')
  // nobody marks pods there
  mark(world, 'db', null)
  await told(undefined)
  mark(world, 'web', 'enabled')
  await told('pods of StatefulSet shop/db may be off the mesh: Istio has not marked them as captured')
  mark(world, 'db', 'enabled')
  await told(undefined)
})

describe('an application that nothing puts on the mesh of its namespace', () => {
  const OPTED_OUT = `${KEY}=none keeps them out of the mesh of their namespace: take the label out of the config or the template`
  const ON_HOST =
    'they run in the network of their node (hostNetwork), where nothing captures them: take hostNetwork out of their template'
  const CASES: [string, object, (world: World) => unknown, string][] = [
    ['its own config', { modelOnMesh: true }, (world) => configure(world, LABELS, DB), OPTED_OUT],
    [
      'the template of its pods',
      { modelOnMesh: true },
      (world) => edit(world, STATEFUL_SET, { spec: { template: { metadata: LABELS } } }),
      OPTED_OUT,
    ],
    [
      'the network of its node, in a namespace on the mesh',
      { modelOnMesh: true },
      (world) => edit(world, STATEFUL_SET, { spec: { template: { spec: { hostNetwork: true } } } }),
      ON_HOST,
    ],
    [
      'the network of its node',
      {},
      (world) => edit(world, STATEFUL_SET, { spec: { template: { spec: { hostNetwork: true } } } }),
      ON_HOST,
    ],
  ]
  test.each(CASES)(
    'an application that nothing puts on the mesh of its namespace waits, and says so in every answer: kept off by %s',
    async (_, mesh, keepOff, reason) => {
      const world = createMesh(['db'])
      await configure(world, { mesh })
      await world.send('relation-changed', requires(7, DB))
      expect((await viewOf(world)).status.status).toBe('active')
      await keepOff(world)
      const outcome = await world.send('resync', DB)
      const message = `pods of StatefulSet shop/db are off the mesh: ${reason}`
      expect(outcome.conditions).toMatchObject([{ message }])
      const { status, conditions } = await viewOf(world)
      expect(status.status).toBe('waiting')
      expect(conditions).toMatchObject([{ message }])
      expect((await lintOf(world)).map((finding) => finding.message).join('\n')).toContain(message)
    },
  )
})
