import { expect, test } from 'vitest'
import { UNCHANGED, withDelivered } from '../../../src/core/reconcile/outcome.ts'
import { createWorld, meshRelation, type World, workload } from '../../helpers/world.ts'

const REFUSED = { name: 'settings-changed', reason: 'it is full' }

test.each([
  ['changed', 'waiting'],
  ['saved', 'waiting'],
  ['unchanged', 'waiting'],
  ['waiting', 'waiting'],
  ['conflict', 'conflict'],
] as const)('an outcome that is %s is %s once a receiver has refused its part', (status, result) => {
  const outcome = withDelivered({ ...UNCHANGED, status }, { published: [], refused: [REFUSED], effects: [] })
  expect(outcome.status).toBe(result)
  expect(outcome.messages).toEqual([expect.stringContaining(REFUSED.reason)])
})

const EVENTS: readonly (readonly [string, Record<string, unknown>])[] = [
  ['config-changed', { config: { labels: { tier: 'a' } } }],
  ['relation-changed', meshRelation()],
  ['relation-changed', { ...meshRelation(), relation: { id: 9, endpoint: 'db', interface: 'sql', role: 'requires' } }],
  ['pod-restarted', { pod: { name: 'web-0', uid: 'u' } }],
  ['leader-elected', { unit: 'web/0' }],
  ['relation-broken', { relation: { id: 9 } }],
  ['resync', {}],
  ['application-removed', {}],
]

test('an outcome names the memory among what was written, each time that it was', async () => {
  const world: World = createWorld([workload('StatefulSet')])
  const version = () => world.object('ConfigMap', 'juju-service-mesh-web-labels')?.metadata.resourceVersion
  for (const [type, data] of EVENTS) {
    const before = version()
    const { written } = await world.send(type, data)
    const isNamed = written.includes('ConfigMap shop/juju-service-mesh-web-labels')
    expect([type, isNamed]).toEqual([type, version() !== before])
  }
})
