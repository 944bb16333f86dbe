import { describe, expect, test } from 'vitest'
import type { Databag, Relation } from '../../../src/core/state/relation.ts'
import { findTopology } from '../../../src/features/coordinated-workers/topology.ts'
import { workerDesiredState } from '../../../src/features/coordinated-workers/worker.ts'
import { TOLD } from '../../helpers/relations.ts'
import { byId, CONFIG } from './samples.ts'

const coordinator = (id: number, data: Databag): Relation => ({
  id,
  endpoint: 'cluster',
  interface: 'cluster',
  ...{ role: 'requires', ...TOLD },
  remote: { application: 'tempo', data },
})

const UNITS = [10, 9].map((number) => ({
  unit: `reader/${number}`,
  address: `reader-${number}.reader-endpoints`,
  charmName: 'worker-k8s',
}))

const worker = (relations: readonly Relation[], roles: string[] = ['read']) =>
  workerDesiredState({ application: 'reader', config: { roles }, relations: byId(...relations), units: UNITS })

describe('how far it came', () => {
  test.each([
    ['nothing', [], 'blocked', 'Missing relation to a coordinator charm'],
    ['silence', [coordinator(3, {})], 'waiting', 'Cluster relation not ready'],
    [
      'labels alone',
      [coordinator(3, { worker_labels: '{}' })],
      'waiting',
      'Waiting for coordinator to publish a config',
    ],
    [
      'an empty config',
      [coordinator(3, { worker_config: '""' })],
      'waiting',
      'Waiting for coordinator to publish a config',
    ],
    ['a config', [coordinator(3, { worker_config: '"a: b"' })], 'active', 'read ready.'],
    ['a config and silence', [coordinator(3, { worker_config: 'a: b' }), coordinator(4, {})], 'active', 'read ready.'],
    [
      'its own workers',
      [{ ...coordinator(3, {}), role: 'provides' as const }],
      'blocked',
      'Missing relation to a coordinator charm',
    ],
  ])('it was told: %s', (_, relations, status, message) => {
    const result = worker(relations)
    expect(result.status).toEqual({ status, message })
    expect(result.unserved).toEqual([])
  })

  test('what it was told cannot be read', () => {
    const result = worker([coordinator(3, { worker_config: 'a: b', worker_ports: 'many' })])
    expect(result.status).toEqual({ status: 'waiting', message: 'Waiting for coordinator to publish a config' })
    expect(result.unserved).toEqual(['relation 3 (cluster): data.worker_ports: expected ports: a list, got "many"'])
  })
})

test('it tells its roles, and of each unit what it is and where', () => {
  const unit = (number: number) => ({
    juju_topology: `{"application": "reader", "unit": "reader/${number}", "charm_name": "worker-k8s"}`,
    address: `"reader-${number}.reader-endpoints"`,
  })
  const { databags } = worker([coordinator(3, {})], ['write', 'read'])
  expect(databags).toEqual({
    3: { data: { role: '"write,read"' }, units: { 'reader/9': unit(9), 'reader/10': unit(10) } },
  })
  expect(Object.keys(databags[3]?.units ?? {})).toEqual(['reader/9', 'reader/10'])
})

test('a worker without a role tells none', () => {
  const { databags, status } = worker([coordinator(3, { worker_config: 'a' })], [])
  expect(databags[3]?.data).toEqual({})
  expect(status.status).toBe('blocked')
})

test('its coordinator reads what it tells', () => {
  const { data, units } = worker([coordinator(3, {})]).databags[3] ?? { data: {} }
  const relation = { ...coordinator(8, {}), role: 'provides' as const }
  const seen = findTopology(byId({ ...relation, remote: { application: 'reader', data, units } }), 'shop', CONFIG)
  expect(seen.problems).toEqual([])
  expect(seen.roles).toEqual({ read: 2 })
  expect(seen.addresses).toEqual(['reader-10.reader-endpoints', 'reader-9.reader-endpoints'])
})
