import { expect, test } from 'vitest'
import { createWorld, workload } from '../../helpers/world.ts'

const CONFIG = { config: { policies: [{ type: 'app', relation: 'db', endpoints: [] }] } }
const RELATION = { id: 9, endpoint: 'db', interface: 'sql', role: 'provides' }
const ALONE = { relation: RELATION, remote: { application: 'api', data: { user: 'me' } } }

test('a step is saved if something that was told changed in the memory alone, and unchanged if nothing did', async () => {
  const world = createWorld([workload('StatefulSet')])
  const told: readonly (readonly [string, Record<string, unknown>, string])[] = [
    ['config-changed', CONFIG, 'saved'],
    ['config-changed', CONFIG, 'unchanged'],
    ['relation-changed', ALONE, 'saved'],
    ['relation-changed', ALONE, 'unchanged'],
    ['relation-changed', { ...ALONE, remote: { application: 'api', data: { user: 'you' } } }, 'saved'],
    ['pod-restarted', { pod: { name: 'web-0', uid: 'u' } }, 'unchanged'],
    ['pod-restarted', { pod: { name: 'web-0', uid: 'u' }, status: { status: 'active', message: '' } }, 'saved'],
    ['leader-elected', { unit: 'web/0' }, 'saved'],
    ['leader-elected', { unit: 'web/0' }, 'unchanged'],
    ['resync', {}, 'unchanged'],
    ['relation-broken', { relation: { id: 9 } }, 'saved'],
    ['relation-broken', { relation: { id: 9 } }, 'unchanged'],
    ['relation-broken', { relation: { id: 8 } }, 'saved'],
  ]
  for (const [type, data, status] of told)
    expect([type, data, (await world.send(type, data)).status]).toEqual([type, data, status])
})
