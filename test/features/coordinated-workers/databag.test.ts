import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Databag } from '../../../src/core/state/relation.ts'
import {
  type CoordinatorData,
  coordinatorDatabag,
  readCoordinator,
  readRoles,
  readWorkerUnit,
  workerDatabag,
  workerUnitDatabag,
} from '../../../src/features/coordinated-workers/databag.ts'
import { unitData } from './samples.ts'

const NAME = 'relation 7 (cluster): data'

describe('what cannot be read is named', () => {
  test.each([
    ['no config', { worker_config: 5 }, 'worker_config: expected a config: a string, got 5'],
    ['broken JSON', { worker_config: 'a', loki_endpoints: '{"a":' }, 'loki_endpoints: expected URLs: an object, got'],
    ['a URL', { worker_config: 'a', loki_endpoints: { 'loki/0': 5 } }, 'loki_endpoints["loki/0"]: expected a URL: a'],
    ['endpoints', { worker_config: 'a', remote_write_endpoints: ['x'] }, 'remote_write_endpoints[0]: expected an end'],
    [
      'a port',
      { worker_config: 'a', worker_ports: [80, '80'] },
      'worker_ports[1]: expected a port: an integer, got "80"',
    ],
    [
      'labels',
      { worker_config: 'a', worker_labels: { a: null } },
      'worker_labels.a: expected a value: a string, got null',
    ],
    [
      'two things',
      { worker_config: 'a', ca_cert: 1, server_cert: 2 },
      'ca_cert: expected a certificate: a string, got 1 (and',
    ],
  ])('of a coordinator: %s', (_, databag, problem) => {
    expect(readCoordinator(databag, NAME)).toEqual({ unreadable: expect.stringContaining(`${NAME}.${problem}`) })
  })

  test.each([
    ['only an address', { address: '"a"' }, '.juju_topology: expected the topology: an object, got nothing'],
    [
      'only a topology',
      unitData('w/0', { address: undefined }),
      '.address: expected an address: a string, got nothing',
    ],
    [
      'a text as topology',
      unitData('w/0', { juju_topology: 'w/0' }),
      '.juju_topology: expected the topology: an object',
    ],
    [
      'an address that is text for nginx',
      unitData('w/0', { address: 'a; include /etc/passwd' }),
      '.address: expected an address: a host name or an IP address, got "a; include',
    ],
    [
      'a unit of somebody else',
      unitData('w/0', { juju_topology: { application: 'w', unit: 'x/0', charm_name: 'c' } }),
      '.juju_topology.unit: expected a unit of its application: its name, a slash and a number, got "x/0"',
    ],
    [
      'an application that is none',
      unitData('w/0', { juju_topology: { application: 'W *', unit: 'W */0', charm_name: 'c' } }),
      '.juju_topology.application: expected an application: at most 63',
    ],
  ])('of a unit: %s', (_, databag, problem) => {
    expect(readWorkerUnit(databag, 'w/0')).toEqual({ unreadable: expect.stringContaining(`w/0${problem}`) })
  })

  test.each([[['read']], [{}], [5], [true]])('of a worker: the role %j', (role) => {
    expect(readRoles({ role }, NAME)).toEqual({ unreadable: expect.stringContaining(`${NAME}.role: expected roles`) })
  })
})

describe('what is not told yet is not a problem', () => {
  test.each<[Databag]>([[{}], [{ constructor: 'x' }], [{ loki_endpoints: '{}', worker_config: null }]])(
    'coordinator: %j',
    (databag) => {
      expect(readCoordinator(databag, NAME)).toEqual({ value: undefined })
    },
  )

  test.each([{}, { 'ingress-address': '10.0.0.1' }])('unit: %j', (databag) => {
    expect(readWorkerUnit(databag, 'w/0')).toEqual({ value: undefined })
  })

  test.each([{}, { role: '' }, { role: '""' }, { role: ' , ' }, { role: null }])('role: %j', (databag) => {
    expect(readRoles(databag, NAME)).toEqual({ value: undefined })
  })
})

describe('what is read', () => {
  test.each([
    ['JSON in a string, as in Juju', '"read, write,read"'],
    ['the string itself', 'read, write,read'],
  ])('roles: %s', (_, role) => {
    expect(readRoles({ role }, NAME)).toEqual({ value: ['read', 'write'] })
  })

  test.each(['10.0.0.1', '::1', 'w-0.w-endpoints.shop.svc.cluster.local'])('a unit at %s', (address) => {
    const juju_topology = { application: 'w', unit: 'w/12', charm_name: 'worker-k8s' }
    const told = { juju_topology: { ...juju_topology, model: 'shop' }, address, 'egress-subnets': '10.0.0.0/8' }
    expect(readWorkerUnit(told, 'w/12')).toEqual({ value: { juju_topology, address } })
  })

  test('unknown keys and null are as absent', () => {
    const databag = { worker_config: '""', ca_cert: 'null', 'private-address': 'x', future: '{' }
    expect(readCoordinator(databag, NAME)).toEqual({ value: { worker_config: '' } })
  })
})

const text = fc.string({ unit: 'binary', maxLength: 20 })
const urls = fc.dictionary(text, text, { maxKeys: 3, noNullPrototype: true })
const coordinatorData: fc.Arbitrary<CoordinatorData> = fc.record(
  {
    worker_config: text,
    loki_endpoints: urls,
    charm_tracing_receivers: urls,
    workload_tracing_receivers: urls,
    remote_write_endpoints: fc.array(fc.record({ url: text }, { noNullPrototype: true })),
    worker_ports: fc.array(fc.integer()),
    ca_cert: text,
    server_cert: text,
    s3_tls_ca_chain: text,
    privkey_secret_id: text,
    worker_labels: urls,
  },
  { requiredKeys: ['worker_config'], noNullPrototype: true },
)

describe('what is written', () => {
  test('a key for each field that is there, in the order of the wire, as Python writes JSON', () => {
    const databag = coordinatorDatabag({
      worker_labels: { a: 'b' },
      ca_cert: 'PEM\n',
      s3_tls_ca_chain: undefined,
      worker_ports: [80, 443],
      remote_write_endpoints: [{ url: 'http://p' }],
      loki_endpoints: { 'loki/0': 'http://l' },
      workload_tracing_receivers: {},
      worker_config: 'a: "ü"\n',
    })
    expect(Object.entries(databag)).toEqual([
      ['worker_config', '"a: \\"\\u00fc\\"\\n"'],
      ['loki_endpoints', '{"loki/0": "http://l"}'],
      ['workload_tracing_receivers', '{}'],
      ['remote_write_endpoints', '[{"url": "http://p"}]'],
      ['worker_ports', '[80, 443]'],
      ['ca_cert', '"PEM\\n"'],
      ['worker_labels', '{"a": "b"}'],
    ])
  })

  test('a worker and its units', () => {
    expect(workerDatabag([])).toEqual({})
    expect(workerDatabag(['read', 'write'])).toEqual({ role: '"read,write"' })
    const juju_topology = { charm_name: 'c', unit: 'w/0', application: 'w' }
    expect(workerUnitDatabag({ address: 'w-0', juju_topology })).toEqual({
      juju_topology: '{"application": "w", "unit": "w/0", "charm_name": "c"}',
      address: '"w-0"',
    })
  })

  test('what is written is read as it was, whatever it is', () => {
    fc.assert(
      fc.property(coordinatorData, (data) => {
        const withoutPrototype = JSON.parse(JSON.stringify(data), (key, value) =>
          key === '__proto__' ? undefined : value,
        )
        expect(readCoordinator(coordinatorDatabag(data), NAME)).toEqual({ value: withoutPrototype })
      }),
    )
  })
})
