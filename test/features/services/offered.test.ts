import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { announce, nothingAnnounced } from '../../../src/features/services/announced.ts'
import { readServices } from '../../../src/features/services/offered.ts'
import { runs } from '../../helpers/runs.ts'
import { FLAT, forms, offeredBy, relation } from './relations.ts'

const SERVICE = { relation: 7, endpoint: 'db', application: 'postgres', host: 'db.shop.svc.cluster.local', port: 5432 }

describe('what cannot be read keeps what was offered, and says so', () => {
  const announced = announce(nothingAnnounced(), [SERVICE], 1)

  test.each([
    ['an address for a name', { ...FLAT, 'service-name': '10.1.2.3' }, 'service-name: expected the name of a Service'],
    [
      'a pod',
      { ...FLAT, 'service-name': 'db-0.db-endpoints' },
      'service-name: expected the name of a Service, got the name of a pod',
    ],
    ['a list for a name', { ...FLAT, 'service-name': ['db'] }, 'service-name: expected text, got a list'],
    ['a list in YAML', { ...FLAT, 'service-name': '- db' }, 'service-name: expected a single value'],
    ['a boolean', { ...FLAT, 'service-name': true }, 'service-name: expected text, got true'],
    ['broken YAML', { ...FLAT, 'service-name': '"db' }, 'service-name: neither JSON nor YAML'],
    [
      'a port by name',
      { ...FLAT, 'service-port': 'http' },
      'service-port: expected a port: an integer from 1 to 65535, got "http"',
    ],
    ['no port at all', { ...FLAT, 'service-port': '0' }, 'service-port: expected a port'],
    ['too high a port', { ...FLAT, 'service-port': 65536 }, 'service-port: expected a port'],
    ['half a port', { ...FLAT, 'service-port': 80.5 }, 'service-port: expected a port'],
    ['an object for a port', { ...FLAT, 'service-port': {} }, 'service-port: expected text, got {}'],
    ['one key is wrong, the other is missing', { 'service-port': [] }, 'service-port: expected text, got []'],
    ['a port of mlops', { name: 'db', port: 'x' }, 'port: expected a port'],
    ['versions', { ...FLAT, _supported_versions: 'v1' }, '_supported_versions: expected a list'],
    ['a document', { _supported_versions: ['v1'], data: 'db' }, 'data: expected an object, got "db"'],
  ])('%s', (_, data, problem) => {
    const nothing = { services: [], waiting: [] }
    const problems = [expect.stringContaining(`relation 7 (db): ${problem}`)]
    expect(offeredBy([relation(7, data)])).toEqual({ ...nothing, problems })
    expect(offeredBy([relation(7, data)], announced)).toEqual({ ...nothing, services: [SERVICE], problems })
  })

  test('a side without a version in common keeps what it offered', () => {
    const relations = [relation(7, { ...FLAT, _supported_versions: ['v2', 'v3'] })]
    expect(offeredBy(relations)).toEqual({ services: [], waiting: [], problems: [] })
    expect(offeredBy(relations, announced).services).toEqual([SERVICE])
    expect(
      readServices({ namespace: 'shop', relations: [relation(7, FLAT)], versions: { 'k8s-service': [1] }, announced }),
    ).toEqual({
      services: [SERVICE],
      waiting: [],
      problems: [],
    })
  })

  test('one bad relation leaves the others as they are', () => {
    const relations = [relation(6, { 'service-name': [] }), relation(7, FLAT)]
    expect(offeredBy(relations)).toMatchObject({
      services: [SERVICE],
      problems: [expect.stringContaining('relation 6')],
    })
  })
})

describe('what is not complete is not offered', () => {
  test.each([
    [{}, 'service-name and service-port'],
    [{ 'service-name': 'db' }, 'service-port'],
    [{ 'service-port': '5432' }, 'service-name'],
    [{ 'service-name': '', 'service-port': '5432' }, 'service-name'],
    [{ 'service-name': 'db', 'service-port': null }, 'service-port'],
    [{ name: 'db' }, 'port'],
    [{ port: 5432 }, 'name'],
    [{ _supported_versions: '["v0", "v1"]', data: '{}' }, 'service-name and service-port'],
    [{ _supported_versions: '- v1\n' }, 'service-name and service-port'],
    [{ data: 'service-name: db' }, 'service-name and service-port'],
    [{ _supported_versions: ['v1'], data: { 'service-name': '', 'service-port': 5432 } }, 'service-name'],
  ])('%j waits for %s', (data, keys) => {
    const announced = announce(nothingAnnounced(), [SERVICE], 1)
    expect(offeredBy([relation(7, data)], announced)).toMatchObject({
      services: [],
      waiting: [{ object: 'relation 7 (db)', for: ['shop/postgres'], message: `relation 7 (db): waiting for ${keys}` }],
      problems: [],
    })
  })
})

describe('one Service, whatever form it is told in', () => {
  test.each(forms)('%s', (_, data) => {
    expect(offeredBy([relation(7, data)])).toEqual({ services: [SERVICE], waiting: [], problems: [] })
  })

  test('the interface’s keys go before those of mlops, if they say it all', () => {
    const both = { ...FLAT, name: 'other', port: '1' }
    expect(offeredBy([relation(7, both)]).services).toEqual([SERVICE])
    expect(offeredBy([relation(7, { ...both, 'service-port': '' })]).services).toMatchObject([{ port: 1 }])
  })

  test('a short name is one of the provider’s namespace', () => {
    const remote = { application: 'postgres', namespace: 'data', data: { ...FLAT, 'service-name': 'db' } }
    expect(offeredBy([relation(7, {}, { remote })]).services).toMatchObject([{ host: 'db.data.svc.cluster.local' }])
  })

  test('one Service, in whatever form, is read only where the application is the requirer, and of this interface', () => {
    const others = [relation(1, FLAT, { role: 'provides' }), relation(2, FLAT, { interface: 'db' })]
    expect(offeredBy(others)).toEqual({ services: [], waiting: [], problems: [] })
  })
})

test('no databag throws, and each relation is told of once', () => {
  const hostile = fc.oneof(
    fc.jsonValue(),
    fc.string(),
    fc.constantFrom('db', '5432', '', '["v0", "v1"]', '- v1', '{name: db, port: 1}', undefined),
  )
  const keys = ['service-name', 'service-port', 'name', 'port', 'data', '_supported_versions']
  const databag = fc.record(Object.fromEntries(keys.map((key) => [key, hostile])))
  fc.assert(
    fc.property(fc.array(databag, { maxLength: 4 }), (databags) => {
      const relations = databags.map((data, id) => relation(id, data))
      const { services, waiting, problems } = offeredBy(relations)
      expect(services.length + waiting.length + problems.length).toBeLessThanOrEqual(databags.length)
      for (const text of [...waiting.map(({ message }) => message), ...problems]) expect(text.length).toBeLessThan(400)
      for (const { host } of services) expect(host).toMatch(/^[-.a-z0-9]+$/)
    }),
    { numRuns: runs(2000) },
  )
})
