import { describe, expect, test } from 'vitest'
import type { Databag } from '../../../src/core/state/relation.ts'
import { CONFIG, configWith, inNamespace, READER, topology, unitData, WRITER, workers } from './samples.ts'

const broken = { juju_topology: '{', address: '"a"' }

describe('a unit that is not valid is named, and the others count', () => {
  const told = (application: string, unit: string): Databag => ({
    ...unitData('reader/0'),
    juju_topology: { application, unit, charm_name: 'c' },
  })

  test.each([
    ['broken JSON', broken, 'reader/0.juju_topology: expected the topology: an object, got "{"'],
    ['half of it', { address: 'a' }, 'reader/0.juju_topology: expected the topology: an object, got nothing'],
    [
      'the name of another application',
      told('admin', 'admin/0'),
      'reader/0.juju_topology.application: expected "reader", got "admin"',
    ],
    [
      'the name of another unit',
      told('reader', 'reader/1'),
      'reader/0.juju_topology.unit: expected "reader/0", got "reader/1"',
    ],
  ])('%s', (_, databag, problem) => {
    const reader = workers(4, 'reader', 'read', { 'reader/0': databag, 'reader/1': unitData('reader/1') })
    const { units, roles, problems } = topology([reader, WRITER])
    expect(units.map(({ unit }) => unit)).toEqual(['reader/1', 'writer/0', 'writer/1'])
    expect(roles).toEqual({ read: 1, write: 2 })
    expect(problems).toEqual([`relation 4 (cluster): ${problem}`])
  })

  test('a name without end is cut', () => {
    const { problems } = topology([workers(4, 'reader', 'read', { ['x'.repeat(100_000)]: broken })])
    expect(problems).toEqual([expect.stringMatching(/^relation 4 \(cluster\): "x{60}…"\.juju_topology: .{1,80}$/)])
  })

  test('a unit that has told nothing yet is not a problem, and not a unit', () => {
    const { units, roles, problems, relations } = topology([workers(4, 'reader', 'read', { 'reader/0': {} })])
    expect({ units, roles, problems }).toEqual({ units: [], roles: {}, problems: [] })
    expect(relations[0]?.applications).toEqual([])
  })

  test('one that cannot be read costs the application its role, not its access', () => {
    const { relations, roles } = topology([workers(4, 'reader', 'read', { 'reader/0': broken })])
    expect(roles).toEqual({})
    expect(relations[0]?.applications).toEqual([{ namespace: 'shop', application: 'reader' }])
  })
})

describe('a role that does not count is named', () => {
  test.each([
    ['a list', ['read'], /^relation 4 \(cluster\): data\.role: expected roles, with commas .* got a list$/],
    ['one of another cluster', 'backend', /data\.role: expected roles of the cluster, got "backend"$/],
    ['three of these', 'x,y,read,constructor', /expected roles of the cluster, got "x" \(and 2 more\)$/],
  ])('%s', (_, role, problem) => {
    const { problems, units } = topology([workers(4, 'reader', role)])
    expect(problems).toEqual([expect.stringMatching(problem)])
    expect(units).toHaveLength(1)
  })

  test('beside one that does', () => {
    expect(topology([workers(4, 'reader', '__proto__,read,toString')]).roles).toEqual({ read: 1 })
  })

  test('a role that does not count is named, not where none is announced yet', () => {
    expect(topology([workers(4, 'reader', undefined)])).toMatchObject({ roles: {}, problems: [], units: { length: 1 } })
  })
})

test('units by relation and number, roles and addresses sorted', () => {
  const many = workers(5, 'writer', '"write"', ['writer/10', 'writer/9', 'writer/0'])
  const { relations, problems, ...rest } = topology([many, workers(4, 'reader', 'write,read')])
  const at = (unit: string) => `${unit}.endpoints.shop.svc.cluster.local`
  const unit = (name: string) => ({
    namespace: 'shop',
    application: name.split('/')[0],
    unit: name,
    charm_name: 'worker-k8s',
    address: at(name.replace('/', '-')),
  })
  const writing = ['reader-0', 'writer-0', 'writer-10', 'writer-9'].map(at)
  expect(problems).toEqual([])
  expect(rest).toEqual({
    units: ['reader/0', 'writer/0', 'writer/9', 'writer/10'].map(unit),
    roles: { read: 1, write: 4 },
    addresses: writing,
    addressesByRole: { read: [at('reader-0')], write: writing },
  })
  expect(Object.keys(rest.roles)).toEqual(['read', 'write'])
  expect(relations.map(({ key, name, announced, roles }) => ({ key, name, announced, roles }))).toEqual([
    { key: '4', name: 'relation 4 (cluster)', announced: ['write', 'read'], roles: ['read', 'write'] },
    { key: '5', name: 'relation 5 (cluster)', announced: ['write'], roles: ['write'] },
  ])
})

test('a meta role counts as the roles that it stands for, each once', () => {
  expect(topology([workers(4, 'reader', 'all,read', ['reader/0', 'reader/1'])]).roles).toEqual({ read: 2, write: 2 })
})

test('an address is there once, whoever shares it', () => {
  const shared = (unit: string) => unitData(unit, { address: '10.0.0.1' })
  const { addresses, addressesByRole } = topology([
    workers(4, 'reader', 'all', { 'reader/0': shared('reader/0'), 'reader/1': shared('reader/1') }),
  ])
  expect(addresses).toEqual(['10.0.0.1'])
  expect(addressesByRole).toEqual({ read: ['10.0.0.1'], write: ['10.0.0.1'] })
})

test('a role without units is not there', () => {
  expect(topology([workers(4, 'reader', 'read', []), WRITER]).roles).toEqual({ write: 2 })
})

describe('which relations are of the cluster', () => {
  const named = { ...READER, id: 6, endpoint: 'tempo-cluster', interface: 'tempo_cluster' }

  test.each([
    ['those of the interface', CONFIG, [READER, named], [4]],
    ['of any name', CONFIG, [{ ...named, interface: 'cluster' }], [6]],
    [
      'those of the endpoint that is configured',
      configWith({ endpoints: { cluster: 'tempo-cluster' } }),
      [named, WRITER],
      [6],
    ],
    ['not those in which the application works itself', CONFIG, [{ ...READER, role: 'requires' as const }], []],
  ])('%s', (_, config, relations, ids) => {
    expect(topology(relations, config).relations.map(({ key }) => Number(key))).toEqual(ids)
  })
})

describe('a worker in another namespace', () => {
  const elsewhere = (units: Readonly<Record<string, Databag>>) =>
    inNamespace('other', workers(4, 'alias', 'read', units))

  test('a worker in another namespace is called what its units say, not what it is called here', () => {
    const { units, relations, problems } = topology([
      elsewhere({ 'remote-1/0': unitData('reader/0'), 'remote-1/1': unitData('reader/1') }),
    ])
    expect(problems).toEqual([])
    const foreign = { namespace: 'other', application: 'reader' }
    expect(units).toMatchObject([
      { ...foreign, unit: 'reader/0' },
      { ...foreign, unit: 'reader/1' },
    ])
    expect(relations[0]?.applications).toEqual([{ namespace: 'other', application: 'reader' }])
  })

  test('a worker in another namespace has no name while none of its units can be read', () => {
    expect(topology([elsewhere({ 'remote-1/0': broken })]).relations[0]?.applications).toEqual([])
  })

  test('the own namespace is not another', () => {
    expect(topology([inNamespace('shop', READER)])).toEqual(topology([READER]))
  })
})
