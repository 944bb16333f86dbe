import { rm } from 'node:fs/promises'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Directive } from '../../../../src/features/coordinated-workers/nginx/directives.ts'
import { nginxConfiguration, proxiedEndpoints } from '../../../../src/features/coordinated-workers/nginx/routing.ts'
import { runs } from '../../../helpers/runs.ts'
import { hasOpenssl } from '../../../process/https-server.ts'
import { pathAndQuery, routing } from './arbitraries.ts'
import { startHttpBackend } from './backends.ts'
import { makeCertificate } from './certificate.ts'
import { arrived } from './clients.ts'
import { nginxDirectory, objection, startNginx } from './nginx.ts'
import { flattened, parse } from './nginx-file.ts'
import { nginxProgram } from './nginx-program.ts'
import { routingOf } from './routing.ts'

/** What is in a file without any telemetry, and what telemetry adds to it. */
const KNOWN = new Set([
  ...flattened(parse(nginxConfiguration(routingOf({ tls: true })).text)).map(([name]) => name),
  ...['proxy_pass', 'grpc_pass', 'set', 'if', 'return'],
])
const PATH =
  /^\/$|^\/status$|^\/proxy\/[-._a-z0-9/]*$|^\/[a-z0-9._]+\.(Trace|Metrics|Logs|Collector)Service\/(Export|PostSpans)$/
const BACKEND = /^(https?|grpcs?):\/\/([-_.a-z0-9]+|\[[0-9a-f:]+\])(:\d+)?(\/[!-~]*|\$tracing_path)?$/
/** Every dollar sign is of one of these. */
const DOLLAR = /\$(?!is_args\b|args\b|more_arguments$|tracing_path$|\{dollar\})/

const expectKnown = ([name, ...parameters]: Directive): void => {
  const last = parameters.findLast((parameter) => typeof parameter === 'string') ?? ''
  expect(KNOWN).toContain(name)
  if (name === 'location') expect(last).toMatch(PATH)
  if (name !== 'proxy_pass' && name !== 'set') return
  expect(last).toMatch(BACKEND)
  expect(last).not.toMatch(DOLLAR)
}

describe('whatever others say', () => {
  test('there are no directives but those of telemetry, each with parameters of its own', () => {
    fc.assert(
      fc.property(routing, (given) => {
        for (const directive of flattened(parse(nginxConfiguration(given).text))) expectKnown(directive)
      }),
    )
  })

  test('no location is there twice in a server', () => {
    fc.assert(
      fc.property(routing, (given) => {
        for (const server of nginxConfiguration(given).text.split('server {').slice(1)) {
          const locations = server.match(/^ +location .*/gm) ?? []
          expect(locations).toEqual([...new Set(locations)])
        }
      }),
    )
  })
})

describe.skipIf(nginxProgram === undefined)('a real nginx (skipped without one)', () => {
  let directory: string
  beforeAll(async () => {
    directory = await nginxDirectory(hasOpenssl ? await makeCertificate() : undefined)
  })
  afterAll(() => rm(directory, { recursive: true }))

  test('a real nginx takes every file', async () => {
    await fc.assert(
      fc.asyncProperty(hasOpenssl ? routing : routing.filter(({ tls }) => !tls), async (given) => {
        expect(await objection(directory, nginxConfiguration(given).text)).toBeUndefined()
      }),
      { numRuns: runs(60) },
    )
  })

  test('a real nginx sends to the path and query of each URL, as they are written there', async () => {
    const backend = await startHttpBackend('backend')
    onTestFinished(backend.stop)
    const origin = `http://127.0.0.1:${backend.port}`
    const urls = fc.sample(pathAndQuery, { numRuns: 200, seed: 1 }).map((rest) => `${origin}${rest}`)
    const nginx = await startNginx({ logging: urls.map((url, index) => ({ unit: `loki/${index}`, url })) })
    onTestFinished(nginx.stop)
    const { loki_endpoints } = proxiedEndpoints(nginx.routing)
    const routed = urls.flatMap((url, index) => {
      const endpoint = loki_endpoints[`loki/${index}`]
      return endpoint === undefined ? [] : [{ url, endpoint }]
    })
    expect(routed.length).toBeGreaterThan(100)
    for (const { url, endpoint } of routed) {
      const { pathname, search } = new URL(url)
      expect((await arrived(endpoint)).url).toBe(`${pathname}${search}`)
    }
  })
})
