import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MeshPolicy } from '../../../src/core/policies/models.ts'
import type { Databag, Relation } from '../../../src/core/state/relation.ts'
import { type Coordination, coordinate } from '../../../src/features/coordinated-workers/coordinator.ts'
import { readCoordinator } from '../../../src/features/coordinated-workers/databag.ts'
import { coordinatorStatus } from '../../../src/features/coordinated-workers/roles.ts'
import { readSources, type Sources } from '../../../src/features/coordinated-workers/sources.ts'
import { findTopology, type Topology } from '../../../src/features/coordinated-workers/topology.ts'
import { workerDesiredState } from '../../../src/features/coordinated-workers/worker.ts'
import { TOLD } from '../../helpers/relations.ts'
import { least, runs } from '../../helpers/runs.ts'
import { byId, CONFIG, provider, READER, unitData, WRITER } from './samples.ts'

const almost = <T>(good: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 3, arbitrary: good }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) })

/** JSON, or a string of it, or something cut short. */
const encoded = (value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof(
    value,
    value.map((one) => JSON.stringify(one)),
    value.map((one) => (JSON.stringify(one) ?? '').slice(0, -1)),
  )

const name = fc.constantFrom('reader', 'writer', 'a', '__proto__', 'constructor')
const unitName = fc.constantFrom('reader/0', 'writer/1', '__proto__', 'constructor/0', '/', 'x'.repeat(500))
const url = fc.constantFrom('http://a:1/b', 'b:1', 'x', `http://${'y'.repeat(5000)}`)
const topology = fc.record({ application: almost(name), unit: almost(unitName), charm_name: almost(name) })
const receiver = fc.record({
  protocol: almost(fc.record({ name: almost(name), type: almost(fc.constantFrom('http', 'grpc')) })),
  url: almost(url),
})
const urls = almost(fc.dictionary(name, almost(url)))

const databag: fc.Arbitrary<Databag> = fc.record(
  {
    role: encoded(almost(fc.constantFrom('read', 'all,write', '__proto__', ','.repeat(1000), 'r'.repeat(5000)))),
    juju_topology: encoded(almost(topology)),
    address: encoded(almost(name)),
    endpoint: encoded(almost(fc.record({ url: almost(url) }))),
    remote_write: encoded(almost(fc.record({ url: almost(url) }))),
    receivers: encoded(almost(fc.array(almost(receiver)))),
    worker_config: encoded(almost(name)),
    loki_endpoints: encoded(urls),
    worker_labels: encoded(urls),
    ['__proto__']: encoded(urls),
  },
  { requiredKeys: [] },
)

const relation: fc.Arbitrary<Relation> = fc
  .record({
    id: fc.integer({ min: 10, max: 19 }),
    endpoint: fc.constantFrom('cluster', 'logging', 'send-remote-write', 'charm-tracing', 'workload-tracing'),
    role: fc.constantFrom('provides' as const, 'requires' as const),
    application: fc.constantFrom('reader', 'writer', 'constructor'),
    namespace: fc.constantFrom(undefined, 'shop', 'other'),
    data: databag,
    units: fc.dictionary(unitName, databag),
  })
  .map(({ id, endpoint, role, ...remote }) => ({ id, endpoint, role, interface: 'cluster', ...TOLD, remote }))

const expectBounded = (messages: readonly string[]) => {
  for (const message of messages) expect(message.length).toBeLessThan(400)
}

const expectGood = ({ databags, messages, meshPolicies }: Coordination) => {
  expect(Object.keys(databags)).toEqual(expect.arrayContaining(['4', '5']))
  expectBounded(messages)
  for (const { policy } of meshPolicies) expect(MeshPolicy.parse(policy)).toEqual(policy)
  const told = Object.values(databags).filter(({ data }) => data.receivers === undefined)
  for (const { data } of told) expect(readCoordinator(data, '')).toMatchObject({ value: {} })
}

const expectGoodSources = (seen: Topology, sources: Sources) => {
  expect(coordinatorStatus(CONFIG, seen.relations.length > 0, seen.roles).status).toBe('active')
  expect(sources.logging[0]).toEqual({ unit: 'loki/0', url: 'http://loki' })
  const local = seen.units.filter(({ namespace }) => namespace === 'shop')
  for (const { application } of local) expect(['reader', 'writer', 'constructor']).toContain(application)
}

test('whatever the other sides say, nothing is thrown, and the good ones are not disturbed', () => {
  const loki = provider(6, 'logging', { 'loki/0': { endpoint: '{"url": "http://loki"}' } })
  let units = 0
  let receivers = 0
  fc.assert(
    fc.property(fc.array(relation, { maxLength: 4 }), (hostile) => {
      const relations = byId(READER, WRITER, loki, ...hostile)
      const input = { namespace: 'shop', application: 'tempo', config: CONFIG, relations }
      const result = coordinate({ ...input, mesh: { labels: {}, elsewhere: {} } })
      expectGood(result)
      const seen = findTopology(relations, 'shop', CONFIG)
      const sources = readSources(relations, CONFIG)
      expectGoodSources(seen, sources)
      units += seen.units.length - 3
      receivers += Object.keys(sources.workloadTracing).length

      const worked = workerDesiredState({
        application: 'tempo',
        config: { roles: ['read'] },
        relations: byId(...hostile),
        units: [],
      })
      expectBounded(worked.unserved)
    }),
    { numRuns: runs(300) },
  )
  expect(units).toBeGreaterThan(least(0))
  expect(receivers).toBeGreaterThan(least(0))
})

test('a unit cannot take the name of an application that is not its own', () => {
  const juju_topology = { application: 'admin', unit: 'admin/0', charm_name: 'c' }
  const relations = byId({
    ...READER,
    remote: { ...READER.remote, units: { 'admin/0': { ...unitData('admin/0'), juju_topology } } },
  })
  const input = { namespace: 'shop', application: 'tempo', config: CONFIG, relations }
  const { meshPolicies } = coordinate({ ...input, mesh: { labels: {}, elsewhere: {} } })
  expect(findTopology(relations, 'shop', CONFIG).units).toEqual([])
  expect(meshPolicies.map(({ policy }) => policy.source_app_name)).not.toContain('admin')
})

test('what is nested without end is read in a moment', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const units = { 'reader/0': { juju_topology: deep, address: deep } }
  const relations = byId({ ...READER, remote: { ...READER.remote, data: { role: deep }, units } })
  const { unserved, messages } = coordinate({ namespace: 'shop', application: 'tempo', config: CONFIG, relations })
  expect([...unserved, ...messages]).toEqual([
    'relation 4 (cluster): data.role: expected roles, with commas between them: a string, got a list',
    expect.stringContaining('reader/0.juju_topology: expected the topology: an object, got a list'),
    'relation 4 (cluster): gets a config once it announces a role',
  ])
})
