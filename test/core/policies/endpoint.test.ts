import { describe, expect, test } from 'vitest'
import { Endpoint } from '../../../src/core/policies/endpoint.ts'
import { MeshPolicy } from '../../../src/core/policies/models.ts'
import { issuesOf } from '../../features/service-mesh/issues.ts'

const APP = { source_namespace: 'clients', source_app_name: 'web', target_namespace: 'shop', target_app_name: 'db' }

describe('an endpoint', () => {
  test.each([
    ['a port of 0', { ports: [0] }, ['ports', 0], /from 1 to 65535/],
    ['a port of 65536', { ports: [80, 65536] }, ['ports', 1], /from 1 to 65535/],
    ['a fraction', { ports: [80.5] }, ['ports', 0], /an integer/],
    ['true', { ports: [true] }, ['ports', 0], /a port/],
    ['null', { ports: [null] }, ['ports', 0], /a port/],
    ['an empty string', { ports: [''] }, ['ports', 0], /a port/],
    ['a port by name', { ports: ['http'] }, ['ports', 0], /a port/],
    ['a number of another notation', { ports: ['0x50'] }, ['ports', 0], /a port/],
    ['digits beyond the range', { ports: ['70000'] }, ['ports', 0], /from 1 to 65535/],
    ['a port that is no list', { ports: 80 }, ['ports'], /expected ports: a list/],
    ['a method of another case', { methods: ['get'] }, ['methods', 0], /one of CONNECT .* TRACE$/],
    ['a method that is not known', { methods: ['GET', 'PURGE'] }, ['methods', 1], /one of CONNECT/],
    ['an empty host', { hosts: [''] }, ['hosts', 0], /a host: a string that is not empty/],
    ['a path that is no string', { paths: [7] }, ['paths', 0], /expected a path: a string/],
    ['a path Istio refuses', { paths: ['/a/{id}'] }, ['paths', 0], /braces/],
    ['nothing in it', {}, [], /no endpoint at all: \[\]$/],
    ['only nulls', { hosts: null, ports: null, methods: null, paths: null }, [], /no endpoint at all: \[\]$/],
    ['only empty lists', { hosts: [], ports: [], methods: [], paths: [] }, [], /no endpoint at all: \[\]$/],
  ])('an endpoint is refused, in the config and on the wire: %s', (_, endpoint, path, message) => {
    const problem = expect.stringMatching(message)
    expect(issuesOf(Endpoint, endpoint)).toEqual([{ path, message: problem }])
    const onTheWire = issuesOf(MeshPolicy, { ...APP, endpoints: [endpoint] })
    expect(onTheWire).toEqual([{ path: ['endpoints', 0, ...path], message: problem }])
  })

  test.each([
    [
      [1, 65535],
      [1, 65535],
    ],
    [
      ['80', '0443'],
      [80, 443],
    ],
    [JSON.parse('[80.0]'), [80]],
  ])('ports %j are %j', (ports, numbers) => {
    expect(Endpoint.parse({ ports })).toEqual({ ports: numbers })
  })

  test.each(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'])('%s', (method) => {
    expect(Endpoint.parse({ methods: [method] })).toEqual({ methods: [method] })
  })
})
