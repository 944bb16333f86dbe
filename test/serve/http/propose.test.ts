import { describe, expect, test } from 'vitest'
import type { Proposed } from '../../../src/ask/propose/proposal.ts'
import { createAuthenticate } from '../../../src/core/access/authenticate.ts'
import { features } from '../../../src/features.ts'
import { createKubernetes } from '../../../src/platform/kubernetes/client.ts'
import { createApp } from '../../../src/serve/http/app.ts'
import { createPropose } from '../../../src/serve/http/propose.ts'
import { createTraffic } from '../../../src/serve/http/traffic.ts'
import { createPlace as createAnyPlace, type Place } from '../../ask/preview/planned.ts'
import { enrol } from '../../ask/propose/place.ts'

/** Applications in `shop`, which is on the mesh. */
const createPlace = (applications: readonly string[]): Place => {
  const place = createAnyPlace(applications)
  enrol(place)
  return place
}

const silent = () => undefined

/** Answers about what was proposed for the applications of a place, to anybody, or to a user without a right. */
const appOf = ({ api, clock }: Pick<Place, 'api' | 'clock'>, isAuthenticated = false) => {
  const dependencies = {
    ...{ features, clock, environment: { resolver: '10.96.0.10' }, timeoutMilliseconds: 10_000 },
    connect: (deadline: number) =>
      createKubernetes({ transport: async (request) => api.handle(request), clock, deadline }),
    ...(isAuthenticated && { authenticate: createAuthenticate({ audience: 'meshstep', clock }) }),
  }
  const traffic = createTraffic({ ...dependencies, settings: { PROMETHEUS_URL: undefined } })
  const propose = createPropose({ ...dependencies, traffic })
  return createApp({ propose, clock, log: { info: silent, warn: silent, error: silent } })
}

const WEB = { source_workload: 'web', source_workload_namespace: 'shop' }
const DB = { destination_service: 'db.shop.svc.cluster.local', destination_service_namespace: 'shop' }
const labels = { reporter: 'waypoint', ...WEB, ...DB, response_code: '200' }
const OBSERVED = JSON.stringify({ http: [{ labels, value: 12 }], tcp: [], denied: [] })

const ask = async (place: Place, query: string, isAuthenticated = false) =>
  await appOf(place, isAuthenticated).request(`/propose?${query}`, { method: 'POST', body: OBSERVED })

const titles = ({ documents }: Proposed): string[] =>
  documents.map(({ document: { metadata, data } }) => `${metadata.name} of ${data?.application}`)

describe('POST /propose', () => {
  test('POST /propose has documents for all applications of a namespace, and their evidence', async () => {
    const response = await ask(createPlace(['db', 'web']), 'namespace=shop&window=2h')
    const proposed = (await response.json()) as Proposed
    expect([response.status, titles(proposed)]).toEqual([
      200,
      [
        'config-beacon of beacon',
        'relation-1 of db',
        'config-db of db',
        'config-web of web',
        'relation-2 of db',
        'relation-3 of web',
      ],
    ])
    expect(proposed.documents[1]?.comments).toEqual([
      'shop/web → shop/db: 12 HTTP requests in the last 2h, none refused.',
    ])
    expect(proposed.notes).toEqual([])
  })

  test('POST /propose is about the applications that are named', async () => {
    const response = await ask(createPlace(['db', 'web', 'api']), 'namespace=shop&application=db')
    expect(titles((await response.json()) as Proposed)).toEqual([
      'config-beacon of beacon',
      'relation-1 of db',
      'config-db of db',
      'relation-2 of db',
    ])
  })

  test.each<[string, object, string]>([
    ['nothing is counted', { http: [], tcp: [], denied: [] }, 'knows no proxy of Istio'],
    ['less is counted than was asked', { ...JSON.parse(OBSERVED), coveredSeconds: 7_200 }, 'for 2 hours only'],
  ])('POST /propose says if %s', async (_, observed, part) => {
    const asked = { method: 'POST', body: JSON.stringify(observed) }
    const response = await appOf(createPlace(['db', 'web'])).request('/propose?namespace=shop', asked)
    expect(((await response.json()) as Proposed).notes).toEqual([expect.stringContaining(part)])
  })

  test('POST /propose looks back a day, and writes dry runs where that is asked', async () => {
    const response = await ask(createPlace(['db', 'web']), 'namespace=shop&audit=true')
    const { window, documents } = (await response.json()) as Proposed
    expect([window, documents[0]?.document.data?.config]).toEqual(['24h', 'mesh:\n  enforcement: audit\n'])
  })

  test.each([
    ['namespace=shop&application=nobody', 404, 'shop/nobody'],
    ['namespace=shop&application=A', 400, 'application'],
    ['namespace=shop&audit=yes', 400, 'audit'],
    ['namespace=shop&window=8d', 400, 'from 1m to 7d'],
    ['namespace=shop&port=80', 400, 'port'],
    ['window=1h', 400, 'namespace'],
  ])('POST /propose?%s is answered %i', async (query, status, part) => {
    const response = await ask(createPlace(['db']), query)
    const { message } = (await response.json()) as { message: string }
    expect([response.status, message]).toEqual([status, expect.stringContaining(part)])
  })

  test('without what was observed the answer is 404, and names the setting', async () => {
    const response = await appOf(createPlace([])).request('/propose?namespace=shop')
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ message: expect.stringContaining('PROMETHEUS_URL') })
  })

  test('who may not send events about the namespace is told nothing', async () => {
    const app = appOf(createPlace([]), true)
    const asked = { method: 'POST', body: OBSERVED }
    expect((await app.request('/propose?namespace=shop', asked)).status).toBe(401)
    const authorization = 'Bearer good'
    expect((await app.request('/propose?namespace=shop', { ...asked, headers: { authorization } })).status).toBe(403)
  })
})
