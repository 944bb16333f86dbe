import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { TrafficView } from '../../../src/ask/traffic/traffic.ts'
import { APP, forService, grantedWithIstio as granted, policy } from '../../ask/lint/place.ts'
import { createPlace, type Place } from '../../ask/preview/planned.ts'
import { trafficApp } from '../../ask/traffic/place.ts'
import { type Query, startFakePrometheus, vectorOf } from '../../helpers/fake-prometheus.ts'

const from = (name: string) => ({ source_workload: name, source_workload_namespace: 'shop' })
const DB = { destination_service: 'db.shop.svc.cluster.local', destination_service_namespace: 'shop' }

/** Answers for the metrics of HTTP, and has no series of others. */
const http =
  (...samples: Parameters<typeof vectorOf>[0]) =>
  (response: ServerResponse, { form }: Query): void => {
    const query = form.get('query') ?? ''
    response.end(vectorOf(query.includes('istio_requests_total') && !query.includes('group(') ? samples : []))
  }

const WEB = { destination_service: 'web.shop.svc.cluster.local', destination_service_namespace: 'shop' }

/** `web` may GET of `db` by a dry run. */
const audited = () => granted({ policies: [APP] }, { enforcement: 'audit' })

const post = async (place: Place, body: string) =>
  await trafficApp(place, undefined).request(QUESTION, { method: 'POST', body })

const QUESTION = '/traffic?namespace=shop&window=2h'

describe('GET /traffic', () => {
  test('GET /traffic has each flow with its relation, its access and its class', async () => {
    const { url, queries } = await startFakePrometheus(
      http(
        [{ reporter: 'waypoint', ...from('web'), ...DB, response_code: '200' }, 12.3],
        [{ reporter: 'waypoint', ...from('scan'), ...DB, response_code: '403' }, 4],
        [{ reporter: 'waypoint', ...from('old'), ...DB, response_code: '200' }, 1],
      ),
    )
    const response = await trafficApp(await granted(), url).request(QUESTION)
    expect(response.status).toBe(200)
    const row = { to: 'shop/db', protocol: 'http', refused: 0, relations: [], ways: ['service'] }
    expect(await response.json()).toEqual({
      namespace: 'shop',
      window: '2h',
      flows: [
        { ...row, from: 'shop/scan', requests: 4, refused: 4, access: 'none', class: 'refused' },
        { ...row, from: 'shop/old', requests: 1, access: 'none', class: 'used without a relation' },
        {
          ...{ ...row, from: 'shop/web', requests: 12, access: 'allowed', class: 'allowed and used' },
          relations: [{ id: 3, label: 'use' }],
        },
      ],
      onMesh: ['shop/db', 'shop/web'],
      notes: [expect.stringContaining('no port')],
    })
    expect(queries).toHaveLength(6)
    for (const { form } of queries) expect(form.get('query')).toMatch(/\[7200s[\]:]/)
  })

  test('a relation that grants access is silent where nothing was seen', async () => {
    const { url } = await startFakePrometheus(http())
    const view = (await (await trafficApp(await granted(), url).request(QUESTION)).json()) as TrafficView
    expect(view.flows).toMatchObject([
      { from: 'shop/web', to: 'shop/db', requests: 0, access: 'allowed', class: 'allowed and silent' },
    ])
  })

  test.each<[string, number | undefined, string[]]>([
    ['for the whole window says nothing', 7_000, []],
    ['for a part of it says so', 1_800, ['Prometheus has scraped proxies for 30 minutes only']],
    ['never asks if it scrapes the mesh', undefined, ['it has no istio_build']],
  ])('a Prometheus that has scraped proxies %s', async (_, seconds, parts) => {
    const { url } = await startFakePrometheus((response, { form }) => {
      const isAsked = seconds !== undefined && form.get('query')?.includes('timestamp(istio_build')
      response.end(vectorOf(isAsked ? [[{}, seconds]] : []))
    })
    const view = (await (await trafficApp(await granted(), url).request(QUESTION)).json()) as TrafficView
    expect(view.coveredSeconds).toBe(seconds)
    expect(view.notes).toEqual([...parts.map((part) => expect.stringContaining(part)), expect.any(String)])
  })

  test('a Prometheus that keeps the counters of proxies alone has scraped them for as long as it has counters', async () => {
    const { url } = await startFakePrometheus((response, { form }) =>
      response.end(vectorOf(form.get('query')?.includes('(group(istio_requests_total') ? [[{}, 1_800]] : [])),
    )
    const view = (await (await trafficApp(await granted(), url).request(QUESTION)).json()) as TrafficView
    expect(view.coveredSeconds).toBe(1_800)
  })

  test('what dry runs would refuse is estimated for each client, beside what the waypoints counted of all', async () => {
    const SHOP = { namespace: 'shop', pod: 'shop-beacon-waypoint-7d4b9c-x2x4z', authz_dry_run_action: 'allow' }
    const { url } = await startFakePrometheus((response, { form }) => {
      const query = form.get('query') ?? ''
      const counter = 'envoy_http_inbound_0_0_0_0_80_rbac'
      const answers: Record<string, Parameters<typeof vectorOf>[0]> = {
        'count by (__name__)': [[{ __name__: counter }, 1]],
        label_replace: [[{ ...SHOP, counter }, 7]],
        istio_requests_total: [
          [{ reporter: 'waypoint', ...from('web'), ...DB, response_code: '200' }, 40],
          [{ reporter: 'waypoint', ...from('db'), ...DB, response_code: '200' }, 7],
          [{ reporter: 'waypoint', ...from('web'), ...WEB, response_code: '200' }, 3],
          [{ reporter: 'destination', ...DB, response_code: '200' }, 5],
          [{ reporter: 'waypoint', ...from('old'), ...DB, response_code: '403' }, 2],
        ],
      }
      const [, found = []] = Object.entries(answers).find(([part]) => query.includes(part)) ?? []
      response.end(vectorOf(found))
    })
    const view = (await (await trafficApp(await audited(), url).request(QUESTION)).json()) as TrafficView
    expect(view.flows.map((flow) => [flow.from, flow.to, flow.access, flow.ifEnforced])).toEqual([
      // all that old sent was refused already
      ['shop/old', 'shop/db', 'open', undefined],
      ['unknown', 'shop/db', 'open', 'no dry run'],
      ['shop/web', 'shop/db', 'open', 'partly refused'],
      ['shop/db', 'shop/db', 'open', 'refused'],
      ['shop/web', 'shop/web', 'open', 'no dry run'],
    ])
    expect(view.wouldRefuse).toEqual([{ waypoint: 'shop/shop-beacon-waypoint', port: 80, allow: 7, deny: 0 }])
    expect(view.notes.slice(-2)).toEqual([
      expect.stringContaining('7 that no ALLOW matched'),
      expect.stringContaining('an estimate'),
    ])
  })

  test('a client that dry runs let through passes, and a Prometheus without counts of dry runs says so', async () => {
    const { url } = await startFakePrometheus(
      http([{ reporter: 'waypoint', ...from('web'), ...DB, response_code: '200' }, 3]),
    )
    const place = await granted({ policies: [{ ...APP, endpoints: [{ ports: [80] }] }] }, { enforcement: 'audit' })
    const view = (await (await trafficApp(place, url).request(QUESTION)).json()) as TrafficView
    expect(view.flows).toMatchObject([{ from: 'shop/web', ifEnforced: 'passes' }])
    expect(view).not.toHaveProperty('wouldRefuse')
    expect(view.notes).toContain('Prometheus has no counts of what dry runs would have refused.')
  })

  test('what depends on a header is not known of a dry run', async () => {
    const { url } = await startFakePrometheus(
      http([{ reporter: 'waypoint', ...from('web'), ...DB, response_code: '200' }, 3]),
    )
    const place = await granted({}, { enforcement: 'audit' })
    const { metadata, ...denied } = policy('header', {
      ...{ ...forService('db'), action: 'DENY' },
      rules: [{ when: [{ key: 'request.headers[x-test]', values: ['1'] }] }],
    })
    place.api.handle({
      ...{ method: 'POST', path: '/apis/security.istio.io/v1/namespaces/shop/authorizationpolicies', headers: {} },
      body: JSON.stringify({ ...denied, metadata: { ...metadata, annotations: { 'istio.io/dry-run': 'true' } } }),
    })
    const view = (await (await trafficApp(place, url).request(QUESTION)).json()) as TrafficView
    expect(view.flows).toMatchObject([{ from: 'shop/web', access: 'open', ifEnforced: 'unknown' }])
  })

  test('an application that no policy guards is open to a client that nobody knows', async () => {
    const { url } = await startFakePrometheus(http([{ reporter: 'destination', ...DB, response_code: '200' }, 3]))
    const view = (await (await trafficApp(createPlace(['db']), url).request(QUESTION)).json()) as TrafficView
    expect(view.flows).toMatchObject([{ from: 'unknown', access: 'open', class: 'used without a relation' }])
  })

  test('without a Prometheus the answer is 404, and names the setting', async () => {
    const response = await trafficApp(createPlace([]), undefined).request(QUESTION)
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ message: expect.stringContaining('PROMETHEUS_URL') })
  })

  test('what a command observed is classed without a Prometheus of the functions', async () => {
    const labels = { reporter: 'waypoint', ...from('web'), ...DB, response_code: '200' }
    const observed = { http: [{ labels, value: 2.4 }], tcp: [], denied: [], coveredSeconds: 9_000 }
    const response = await post(await granted(), JSON.stringify(observed))
    expect(await response.json()).toMatchObject({
      coveredSeconds: 9_000,
      flows: [{ from: 'shop/web', to: 'shop/db', requests: 2, class: 'allowed and used' }],
    })
  })

  test.each([
    ['{', 'body: expected JSON'],
    ['{}', 'body: http'],
    ['{"http":[],"tcp":[],"denied":[{"labels":{"a":1},"value":1}]}', 'denied[0].labels.a'],
    ['{"http":[],"tcp":[],"denied":[{"labels":{},"value":-1}]}', 'denied[0].value'],
    ['{"http":[],"tcp":[],"denied":[{"labels":{},"value":1e308}]}', 'denied[0].value'],
  ])('%s is refused as what a command observed', async (body, part) => {
    const response = await post(createPlace([]), body)
    expect(response.status).toBe(400)
    expect(((await response.json()) as { message: string }).message).toContain(part)
  })

  test.each([
    ['/traffic', 'namespace'],
    ['/traffic?namespace=shop&window=59s', 'from 1m to 7d'],
    ['/traffic?namespace=shop&window=8d', 'from 1m to 7d'],
    ['/traffic?namespace=shop&window=1h30m', 'such as 1h'],
    ['/traffic?namespace=a"}b', 'namespace'],
    ['/traffic?namespace=shop&application=db', 'application'],
  ])('%s is refused before Prometheus is asked', async (path, part) => {
    const { url, queries } = await startFakePrometheus(http())
    const response = await trafficApp(createPlace([]), url).request(path)
    expect(response.status).toBe(400)
    expect(((await response.json()) as { message: string }).message).toContain(part)
    expect(queries).toEqual([])
  })

  test('who may not send events about the namespace is told nothing of its traffic', async () => {
    const { url, queries } = await startFakePrometheus(http())
    const app = trafficApp(createPlace([]), url, true)
    const headers = { authorization: 'Bearer good' }
    const posted = { method: 'POST', body: '{"http":[],"tcp":[],"denied":[]}' }
    for (const asked of [{}, posted]) {
      expect((await app.request(QUESTION, asked)).status).toBe(401)
      expect((await app.request(QUESTION, { ...asked, headers })).status).toBe(403)
    }
    expect(queries).toEqual([])
  })

  test.each([
    [401, 500, 'PROMETHEUS_TOKEN_FILE'],
    [422, 413, '--window'],
    [503, 503, 'a retry may help'],
  ])('an answer %i of Prometheus is answered with %i', async (status, expected, part) => {
    const { url } = await startFakePrometheus((response) => response.writeHead(status).end('no'))
    const response = await trafficApp(createPlace(['db']), url).request(QUESTION)
    expect(response.status).toBe(expected)
    expect(((await response.json()) as { message: string }).message).toContain(part)
  })
})
