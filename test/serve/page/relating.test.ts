import { describe, expect, test } from 'vitest'
import type { ApplicationView } from '../../../src/serve/http/applications.ts'
import { type Name, relate, unrelate } from '../../../src/serve/page/relating.ts'

const name = (text: string): Name => {
  const [application = '', endpoint] = text.split(':')
  return { namespace: 'shop', application, ...(endpoint !== undefined && { endpoint }) }
}

const view = (application: string, changes: object = {}) =>
  ({ namespace: 'shop', application, config: {}, relations: [], ...changes }) as unknown as ApplicationView

const VIEWS = [
  view('beacon', { config: { mesh: {} } }),
  view('details', { config: { policies: [{ type: 'app', relation: 'details', endpoints: [] }] } }),
  view('page', {
    relations: [{ id: 4, endpoint: 'backend', role: 'requires', remote: 'shop/reviews', stands: true }],
  }),
  view('reviews'),
]

/** The application that is told, its endpoint and role, and the other one. */
const told = (first: string, second: string, role?: string): string => {
  const { subject, data } = relate(VIEWS, { own: name(first), remote: name(second), role })
  const { relation, remote } = data as {
    relation: { endpoint: string; role: string; interface: string }
    remote: { application: string }
  }
  return `${subject}:${relation.endpoint} ${relation.role} ${relation.interface} ${remote.application}`
}

describe('two applications are related in either order', () => {
  test.each([
    ['details:details', 'page', 'shop/details:details provides http page'],
    ['page', 'details:details', 'shop/details:details provides http page'],
    ['page:backend', 'details', 'shop/page:backend requires http details'],
    ['page:other', 'details:details', 'shop/page:other requires http details'],
    ['page:other', 'reviews', 'shop/page:other provides http reviews'],
    ['details', 'beacon', 'shop/details:service-mesh requires service_mesh beacon'],
    ['beacon', 'details', 'shop/details:service-mesh requires service_mesh beacon'],
    ['beacon:service-mesh', 'details', 'shop/details:service-mesh requires service_mesh beacon'],
    ['beacon:metrics', 'page', 'shop/beacon:metrics provides http page'],
    [
      'reviews:provide-cmr-mesh',
      'page:require-cmr-mesh',
      'shop/reviews:provide-cmr-mesh provides cross_model_mesh page',
    ],
  ])('%s and %s', (first, second, expected) => {
    expect(told(first, second)).toBe(expected)
  })

  test.each([
    ['page', 'details:other', 'requires', 'shop/details:other provides http page'],
    ['page:other', 'details', 'requires', 'shop/page:other requires http details'],
    ['beacon:mesh', 'details:service-mesh', 'provides', 'shop/beacon:mesh provides service_mesh details'],
  ])('%s and %s, where the first %s', (first, second, role, expected) => {
    expect(told(first, second, role)).toBe(expected)
  })

  test.each([
    ['page', 'details', /as in page:ENDPOINT details or details:details page$/],
    ['page:other', 'details', /--role provides if page does, and --role requires if details does$/],
    ['reviews:a', 'page:b', /nothing tells which of the two provides/],
  ])('%s and %s ask what cannot be told', (first, second, message) => {
    expect(() => told(first, second)).toThrow(message)
  })
})

test('a relation is ended by the endpoint of either side', () => {
  const relation = { id: 3, endpoint: 'details', remote: 'shop/page', remoteEndpoint: 'backend', stands: true }
  const end = (own: string, remote: string) => () =>
    unrelate({ relations: [relation] as never }, { own: name(own), remote: name(remote) })
  expect(end('details:details', 'page')()).toMatchObject({ data: { relation: { id: 3 } } })
  expect(end('details:details', 'page:backend')()).toMatchObject({ data: { relation: { id: 3 } } })
  expect(end('details:details', 'page:other')).toThrow('no such relation')
})
