import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { Services } from '../../../src/features/services/provided.ts'
import { serviceDatabags } from './databags.ts'
import { offeredBy, relation } from './relations.ts'

const services = { db: { name: 'postgres-primary', port: 5432 } }

const provides = (id: number, endpoint = 'db') => relation(id, {}, { endpoint, role: 'provides' })

describe('a pod’s address cannot be offered', () => {
  test.each([
    '10.1.232.144',
    'fd00::1',
    'db-0.db-endpoints',
    'db-0.db-endpoints.shop.svc.cluster.local',
    '10-1-232-144.shop.pod',
    '10',
    'DB',
    '',
    'x'.repeat(64),
  ])('%j', (name) => {
    expect(Services.safeParse({ db: { name, port: 80 } }).success).toBe(false)
  })

  test.each([0, 65536, 'http', null, undefined])('a pod’s address cannot be offered, nor the port %j', (port) => {
    expect(Services.safeParse({ db: { name: 'db', port } }).success).toBe(false)
  })

  test('the Service can', () => {
    expect(Services.parse({ db: { name: 'db-0', port: '80' } })).toEqual({ db: { name: 'db-0', port: 80 } })
  })
})

test('full name and port, in both versions', () => {
  expect(serviceDatabags({ namespace: 'shop', relations: [provides(7)], services })).toEqual([
    {
      relation: 7,
      data: {
        'service-name': 'postgres-primary.shop.svc.cluster.local',
        'service-port': '5432',
        data: '{"service-name": "postgres-primary.shop.svc.cluster.local", "service-port": "5432"}',
        _supported_versions: '["v0", "v1"]',
      },
    },
  ])
})

test('what a charm with serialized-data-interface would read', () => {
  const [published] = serviceDatabags({ namespace: 'shop', relations: [provides(7)], services })
  expect(parse(published?.data._supported_versions ?? '')).toContain('v1')
  expect(parse(published?.data.data ?? '')).toEqual({
    'service-name': 'postgres-primary.shop.svc.cluster.local',
    'service-port': '5432',
  })
})

test('each relation of the interface by id: what its endpoint offers, else only the versions', () => {
  const relations = [
    provides(10, 'constructor'),
    relation(9, {}),
    provides(2),
    relation(1, {}, { role: 'provides', interface: 'cluster' }),
  ]
  const databags = serviceDatabags({ namespace: 'shop', relations, services, versions: { 'k8s-service': [0] } })
  const versions = { _supported_versions: '["v0"]' }
  const address = { 'service-name': 'postgres-primary.shop.svc.cluster.local', 'service-port': '5432' }
  expect(databags).toEqual([
    { relation: 2, data: { ...address, ...versions } },
    { relation: 9, data: versions },
    { relation: 10, data: versions },
  ])
  expect(serviceDatabags({ namespace: 'shop', relations: [provides(2)] })).toMatchObject([{ data: { data: '{}' } }])
})

test('it is read as it was offered', () => {
  const [published] = serviceDatabags({ namespace: 'data', relations: [provides(7)], services })
  const remote = { application: 'postgres', data: published?.data ?? {} }
  expect(offeredBy([relation(3, {}, { remote })]).services).toEqual([
    {
      relation: 3,
      endpoint: 'db',
      application: 'postgres',
      host: 'postgres-primary.data.svc.cluster.local',
      port: 5432,
    },
  ])
})
