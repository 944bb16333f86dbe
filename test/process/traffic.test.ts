import { beforeAll, expect, test } from 'vitest'
import { startFakePrometheus, vectorOf } from '../helpers/fake-prometheus.ts'
import { ensureBundle, serve, startCluster } from './helpers.ts'

beforeAll(ensureBundle)

const SERIES = { reporter: 'destination', destination_service: 'details.bookinfo.svc', response_code: '200' }

test.each([
  { from: 'the bundle', isFromSnapshot: false },
  { from: 'its snapshot', isFromSnapshot: true },
])('the server loads questions beside $from, and answers their errors as its own', async ({ isFromSnapshot }) => {
  const { environment } = await startCluster([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'bookinfo' } }])
  let status = 200
  const { url } = await startFakePrometheus((response) => response.writeHead(status).end(vectorOf([[SERIES, 2]])))
  const server = await serve({ environment: { ...environment, PROMETHEUS_URL: url }, isFromSnapshot })
  const ask = () => fetch(`${server.url}/traffic?namespace=bookinfo`)
  expect(await (await ask()).json()).toMatchObject({ flows: [{ to: 'bookinfo/details' }, {}] })
  const answers: [number, number][] = []
  for (status of [401, 422, 503]) answers.push([status, (await ask()).status])
  expect(answers).toEqual([
    [401, 500],
    [422, 413],
    [503, 503],
  ])
  status = 200
  const proposed = await fetch(`${server.url}/propose?namespace=bookinfo`)
  expect(await proposed.json()).toMatchObject({ listed: [{ kind: 'left', to: 'bookinfo/details' }] })
  const linted = await Promise.all(['bookinfo', 'nowhere'].map((one) => fetch(`${server.url}/lint?namespace=${one}`)))
  expect(linted.map(({ status }) => status)).toEqual([200, 404])
  await server.end('SIGTERM')
})
