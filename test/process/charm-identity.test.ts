import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { temporaryDirectory } from './helpers.ts'
import { hasOpenssl, makeCertificate } from './https-server.ts'
import { deploy, EXAMPLE, hasPython } from './juju.ts'
import { startSink } from './sink.ts'

/** A charm of its own, with these endpoints. */
const program = async (url: string, endpoints: string, more = ''): Promise<string> => {
  const path = join(await temporaryDirectory(), 'charm.py')
  const code = `import sys; sys.path.insert(0, ${JSON.stringify(EXAMPLE)})
from meshstep import *
Meshstep("${url}", {${endpoints}}, budget=5${more}).tell()
`
  await writeFile(path, code)
  return path
}

const MESH = '"beacon": Endpoint("service_mesh", "provides"), "service-mesh": Endpoint("service_mesh", "requires")'
const NAMES = '"require-cmr-mesh": Endpoint("cross_model_mesh", "requires")'
const METRICS = '"scrape": Endpoint("prometheus_scrape", "requires")'

const ALIAS = `remote-${'0123456789abcdef'.repeat(2)}`
const ORDERS = JSON.stringify({ app_name: 'orders', juju_model_name: 'front' })
const OWN = { app_name: 'details', juju_model_name: 'bookinfo' }
const ELSEWHERE = '00000000-0000-4000-8000-000000000001'

describe.skipIf(!hasPython)('an application of another model', () => {
  const start = async (endpoints: string) => {
    const sink = await startSink({ status: 200 })
    const charm = await deploy({ name: 'details/0', program: await program(sink.url, endpoints) })
    const told = () => sink.events.map(({ data }) => (data as { remote?: unknown }).remote)
    return { charm, told }
  }

  test.each([
    ['who consumes the beacon', 'beacon', ALIAS],
    ['the beacon, as it is consumed', 'service-mesh', 'mesh-of-front'],
  ])('a charm tells the real name of %s once that says it, and says its own', async (_, endpoint, alias) => {
    const { charm, told } = await start(MESH)
    await charm.change(({ relations }) => {
      relations[`${endpoint}:1`] = { application: alias, data: {}, units: {}, model: ELSEWHERE }
    })
    const early = await charm.hook(`${endpoint}-relation-created`, `${endpoint}:1`)
    expect(told()).toEqual([])
    expect(early.unit.log.join()).toContain(
      `INFO meshstep: relation ${endpoint}:1 is told later: ${alias} is in another model`,
    )
    expect(JSON.parse(early.unit.relations[`${endpoint}:1`]?.own?.cmr_data ?? '')).toEqual(OWN)
    await charm.change(({ relations }) => {
      Object.assign(relations[`${endpoint}:1`]?.data ?? {}, { cmr_data: ORDERS, mesh_type: '"istio"' })
    })
    const { unit } = await charm.hook(`${endpoint}-relation-changed`, `${endpoint}:1`)
    expect(told()).toEqual([{ application: 'orders', namespace: 'front', data: { mesh_type: '"istio"' }, units: {} }])
    expect(JSON.parse(unit.state.meshstep ?? '{}').missed).toBe(false)
  })

  test.each([
    ['is no JSON', 'orders'],
    ['lacks the model', JSON.stringify({ app_name: 'orders' })],
    ['claims this model', JSON.stringify({ app_name: 'orders', juju_model_name: 'bookinfo' })],
    ['has no text', JSON.stringify({ app_name: ['orders'], juju_model_name: 'front' })],
  ])('a charm believes no name that %s', async (_, said) => {
    const { charm, told } = await start(MESH)
    await charm.change(({ relations }) => {
      relations['beacon:1'] = { application: ALIAS, data: { cmr_data: said }, units: {}, model: ELSEWHERE }
    })
    const { code, unit } = await charm.hook('beacon-relation-changed', 'beacon:1')
    expect([code, told()]).toEqual([0, []])
    expect(unit.log.join()).toContain('is told later')
  })

  test('a charm of a Juju that tells no models knows the alias of an offer by its form', async () => {
    const { charm, told } = await start(MESH)
    await charm.change((unit) => {
      unit.fails = { 'relation-model-get': 'unrecognized command' }
      unit.relations['beacon:1'] = { application: ALIAS, data: { cmr_data: ORDERS }, units: {} }
      unit.relations['beacon:2'] = { application: 'remote-details', data: {}, units: {} }
    })
    await charm.hook('beacon-relation-changed', 'beacon:1')
    await charm.hook('beacon-relation-changed', 'beacon:2')
    expect(told()).toMatchObject([{ application: 'orders', namespace: 'front' }, { application: 'remote-details' }])
  })

  test('a charm says its name to whom it is a client of, as the charm library does', async () => {
    const { charm, told } = await start(NAMES)
    await charm.change(({ relations }) => {
      relations['require-cmr-mesh:1'] = { application: 'ratings', data: {}, units: {}, model: ELSEWHERE }
    })
    const { unit } = await charm.hook('require-cmr-mesh-relation-created', 'require-cmr-mesh:1')
    expect(unit.relations['require-cmr-mesh:1']?.own).toEqual({
      cmr_data: '{"app_name": "details", "juju_model_name": "bookinfo"}',
    })
    expect(told()).toEqual([{ application: 'ratings', data: {}, units: {} }])
  })

  test('a charm tells what to scrape, and nothing else of that databag', async () => {
    const { charm, told } = await start(METRICS)
    await charm.change(({ relations }) => {
      const data = { scrape_jobs: '[]', alert_rules: '{}', password: 'hunter2' }
      relations['scrape:1'] = { application: 'db', data, units: { 'db/0': { password: 'hunter2' } } }
    })
    await charm.hook('scrape-relation-changed', 'scrape:1')
    expect(told()).toEqual([{ application: 'db', data: { scrape_jobs: '[]' } }])
  })
})

type Account = {
  directory: string
  environment: Record<string, string>
  asked: { url?: string; token?: string; body: unknown }[]
}

/** The account of a pod, and an API server that gives it tokens, or refuses. */
const createAccount = async (
  status: number,
  answer: object,
  claims: object = { sub: 'system:serviceaccount:bookinfo:details' },
): Promise<Account> => {
  const certificate = await makeCertificate('kubernetes')
  const asked: Account['asked'] = []
  const server = createServer(certificate, (request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const { url = '', headers } = request
      asked.push({ url, token: headers.authorization ?? '', body: JSON.parse(Buffer.concat(parts).toString('utf8')) })
      response.writeHead(status).end(JSON.stringify(answer))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const directory = join(await temporaryDirectory(), 'account')
  await mkdir(directory)
  await writeFile(join(directory, 'ca.crt'), certificate.cert)
  await writeFile(join(directory, 'token'), ownToken(claims))
  const { port } = server.address() as AddressInfo
  return {
    directory,
    asked,
    environment: { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(port) },
  }
}

const ownToken = (claims: object): string =>
  ['{}', JSON.stringify(claims), 'signed'].map((part) => Buffer.from(part).toString('base64url')).join('.')

describe.skipIf(!hasPython || !hasOpenssl)('a token of the API server (skipped without python3 and openssl)', () => {
  const hookWith = async ({ directory, environment }: Account) => {
    const sink = await startSink({ status: 200 })
    const path = await program(sink.url, '', `, config={}, audience="meshstep", account="${directory}"`)
    const charm = await deploy({ name: 'details/0', program: path, environment })
    const ran = await charm.hook('leader-elected')
    return { ...ran, sink }
  }

  test('a trusted charm asks for a token of its own account, once in a hook, and sends that and not its own', async () => {
    const account = await createAccount(201, { status: { token: 'for-meshstep' } })
    const { sink, code } = await hookWith(account)
    expect(code).toBe(0)
    expect(account.asked).toEqual([
      {
        url: '/api/v1/namespaces/bookinfo/serviceaccounts/details/token',
        token: `Bearer ${ownToken({ sub: 'system:serviceaccount:bookinfo:details' })}`,
        body: {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenRequest',
          spec: { audiences: ['meshstep'], expirationSeconds: 600 },
        },
      },
    ])
    expect(new Set(sink.tokens)).toEqual(new Set(['Bearer for-meshstep']))
    expect(sink.events).toHaveLength(2)
  })

  test.each<[string, number, object, object | undefined, RegExp]>([
    [
      'may not',
      403,
      { message: 'forbidden' },
      undefined,
      /it answers 403: forbidden; juju trust details --scope=cluster lets it/,
    ],
    ['gets none', 201, { status: {} }, undefined, /gives no token: it answers 201/],
    ['is of no account', 201, {}, { sub: 'somebody' }, /the token of the pod is none of a ServiceAccount/],
  ])('a charm that %s sends nothing, and says why', async (_, status, answer, claims, reason) => {
    const { sink, code, unit } = await hookWith(await createAccount(status, answer, claims))
    expect([code, sink.requests]).toEqual([0, []])
    expect(unit.log.join()).toMatch(reason)
  })

  test('a charm asks no server that another authority vouches for', async () => {
    const account = await createAccount(201, { status: { token: 'for-meshstep' } })
    await writeFile(join(account.directory, 'ca.crt'), (await makeCertificate('other')).cert)
    const { sink, unit } = await hookWith(account)
    expect([account.asked, sink.requests]).toEqual([[], []])
    expect(unit.log.join()).toMatch(/the API server gives no token: .*CERTIFICATE_VERIFY_FAILED/)
  })
})
