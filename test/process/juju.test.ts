import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { run, serveExample, temporaryDirectory } from './helpers.ts'
import { deploy, EXAMPLE, hasPython, PYTHON, relate, type Unit } from './juju.ts'
import { startSink } from './sink.ts'

/** A port that nobody listens on. */
const NOBODY = 'http://127.0.0.1:1'

const POLICIES = {
  policies: [{ type: 'app', relation: 'website', endpoints: [{ ports: [9080], methods: ['GET'] }] }],
}

const missed = ({ state }: Unit): unknown => JSON.parse(state.meshstep ?? '{}').missed

/** A charm of its own, whose calls a test writes. */
const program = async (code: string): Promise<string> => {
  const path = join(await temporaryDirectory(), 'charm.py')
  await writeFile(path, `import sys; sys.path.insert(0, ${JSON.stringify(EXAMPLE)})\nfrom meshstep import *\n${code}\n`)
  return path
}

describe.skipIf(!hasPython)('a charm (skipped without python3)', () => {
  test('a charm goes on while meshstep is down, says so, and tells everything once it is back', async () => {
    const config = { 'meshstep-url': NOBODY, 'meshstep-seconds': 0.2 }
    const charm = await deploy({ name: 'details/0', config })
    await charm.change(({ relations }) => {
      relations['backend:3'] = { application: 'ratings', data: {}, units: {} }
    })
    const down = await charm.hook('config-changed')
    expect(down).toMatchObject({ code: 0, stderr: '' })
    expect(down.unit.status).toEqual(['waiting', expect.stringContaining('does not answer')])
    expect(down.unit.log.join()).toMatch(/WARNING meshstep: the config, .* is not told: .*given up after \d+ attempt/)
    expect(missed(down.unit)).toBe(true)

    const sink = await startSink({ status: 200 })
    await charm.change((unit) => {
      unit.config['meshstep-url'] = sink.url
    })
    const back = await charm.hook('update-status')
    expect(sink.types()).toEqual(['leader-elected', 'relation-changed', 'config-changed'])
    expect(back.unit.status).toEqual(['active', ''])
    expect(missed(back.unit)).toBe(false)
    expect((await charm.hook('update-status')).code).toBe(0)
    expect(sink.events).toHaveLength(3)
  })

  test('a charm fails its hook for meshstep where it asks to', async () => {
    const strict = await program(`Meshstep("${NOBODY}", {}, {}, budget=0.2, strict=True).tell()`)
    const charm = await deploy({ name: 'details/0', program: strict })
    const { code, stderr, unit } = await charm.hook('config-changed')
    expect([code, stderr]).toEqual([1, expect.stringContaining('does not answer')])
    expect(unit.log.join()).toContain('the config, and what comes after it, is not told')
  })

  test('a charm sends the same event again after a 503', async () => {
    const sink = await startSink({ status: 503, headers: { 'retry-after': '0' } }, { status: 200 })
    const charm = await deploy({ name: 'details/0', config: { 'meshstep-url': sink.url } })
    const { unit } = await charm.hook('config-changed')
    expect(new Set(sink.events.map(({ id }) => id)).size).toBe(1)
    expect(sink.events).toHaveLength(2)
    expect(unit.status).toEqual(['active', ''])
  })

  test.each([
    ['a number of seconds', '3600'],
    ['a date', 'Fri, 31 Dec 2100 23:59:59 GMT'],
  ])('a charm gives up at once when Retry-After, %s, is beyond its time', async (_, after) => {
    const sink = await startSink({ status: 503, headers: { 'retry-after': after }, body: '{"message":"busy"}' })
    const charm = await deploy({ name: 'details/0', config: { 'meshstep-url': sink.url, 'meshstep-seconds': 60 } })
    const { unit } = await charm.hook('leader-elected')
    expect(sink.events).toHaveLength(1)
    expect(unit.log.join()).toContain('answers 503: busy; given up after 1 attempt, as the hook has 60 s for it')
  })

  test('a charm does not repeat what is refused, and tells the rest', async () => {
    const sink = await startSink({ status: 400, body: '{"message":"data.config: no"}' }, { status: 200 })
    const charm = await deploy({ name: 'details/0', config: { 'meshstep-url': sink.url } })
    const { unit } = await charm.hook('leader-elected')
    expect(sink.types()).toEqual(['leader-elected', 'config-changed'])
    expect(unit.log.join()).toContain('answers 400: data.config: no')
    expect(missed(unit)).toBe(true)
  })

  test('a charm follows no answer elsewhere, with its token', async () => {
    const other = await startSink({ status: 200 })
    const sink = await startSink({ status: 307, headers: { location: other.url } })
    const token = join(await temporaryDirectory(), 'token')
    await writeFile(token, 'secret\n')
    const charm = await deploy({
      name: 'details/0',
      config: { 'meshstep-url': sink.url, 'meshstep-token-file': token },
    })
    const { unit } = await charm.hook('config-changed')
    expect(sink.tokens).toEqual(['Bearer secret'])
    expect(other.requests).toEqual([])
    expect(unit.log.join()).toContain('answers 307')
    expect(unit.log.join()).not.toContain('secret')
  })

  test('a charm sends nothing without the token that it is to send', async () => {
    const sink = await startSink({ status: 200 })
    const charm = await deploy({
      name: 'details/0',
      config: { 'meshstep-url': sink.url, 'meshstep-token-file': '/nowhere/token' },
    })
    const { unit } = await charm.hook('config-changed')
    expect(sink.requests).toEqual([])
    expect(unit.log.join()).toContain('the token cannot be read')
  })

  test.each([
    ['a URL without a scheme', 'meshstep:8080'],
    ['a port that is none', 'http://meshstep:99999'],
    ['an address that is none', 'http://[::'],
  ])('a charm takes %s for no crash', async (_, url) => {
    const charm = await deploy({ name: 'details/0', config: { 'meshstep-url': url, 'meshstep-seconds': 0.2 } })
    const { code, stderr, unit } = await charm.hook('config-changed')
    expect([code, stderr]).toEqual([0, ''])
    expect(unit.status?.[0]).toBe('waiting')
  })

  test.each([
    [
      'is no JSON',
      { prints: { 'relation-get': Buffer.from('not JSON').toString('hex') } },
      'printed no JSON: not JSON',
    ],
    ['is not UTF-8', { prints: { 'relation-get': 'ff7b' } }, 'printed something that is not UTF-8'],
    ['is a list', { prints: { 'relation-get': Buffer.from('[]').toString('hex') } }, 'printed [], expected a dict'],
    ['fails', { fails: { 'relation-get': 'permission denied' } }, 'ended with 1: ERROR permission denied'],
  ])('a charm leaves out a relation of which what a tool says %s, and tells the others', async (_, broken, reason) => {
    const sink = await startSink({ status: 200 })
    const charm = await deploy({ name: 'details/0', config: { 'meshstep-url': sink.url } })
    await charm.change((unit) => {
      unit.relations['service-mesh:1'] = { application: 'beacon', data: {}, units: {} }
      unit.relations['website:3'] = { application: 'productpage', data: {}, units: {} }
      Object.assign(unit, broken)
    })
    const { code, unit } = await charm.hook('leader-elected')
    expect(code).toBe(0)
    expect(sink.types()).toEqual(['leader-elected', 'relation-changed', 'config-changed'])
    expect(unit.log.join()).toContain('relation service-mesh:1 is not told: relation-get')
    expect(unit.log.join()).toContain(reason)
    expect(missed(unit)).toBe(true)
  })

  test('a charm counts on whatever became of the state, the pod or the clock', async () => {
    const sink = await startSink({ status: 200 })
    const charm = await deploy({ name: 'details/0', config: { 'meshstep-url': sink.url } })
    await charm.hook('config-changed')
    await charm.change(({ state }) => {
      state.meshstep = JSON.stringify({ sequence: 9_000_000_000_000_000, missed: false })
    })
    await charm.hook('config-changed')
    await charm.hook('config-changed')
    await charm.change(({ state }) => {
      state.meshstep = 'half of'
    })
    await charm.hook('config-changed')
    const [first, second, third, ...others] = sink.events.map(({ sequence }) => BigInt(sequence))
    expect([second, third]).toEqual([9_000_000_000_000_001n, 9_000_000_000_000_002n])
    expect(others.every((one) => one > (first ?? 0n))).toBe(true)
    expect(sink.types().slice(3)).toEqual(['leader-elected', 'config-changed'])
    expect(new Set(sink.events.map(({ source }) => source)).size).toBe(1)
  })

  test('a charm tells the databags that meshstep reads, in any script, and none that may hold credentials', async () => {
    const sink = await startSink({ status: 200 })
    const charm = await deploy({ name: 'details/0', config: { 'meshstep-url': sink.url } })
    const data = { labels: '{"größe":"日本 😀 \\u0000"}', password: 'hunter2' }
    const units = { 'beacon/0': { 'ingress-address': '10.1.0.3', note: 'é' } }
    await charm.change(({ relations }) => {
      relations['service-mesh:1'] = { application: 'beacon', data, units }
      relations['backend:2'] = { application: 'db', data, units }
    })
    await charm.hook('service-mesh-relation-changed', 'service-mesh:1')
    await charm.hook('backend-relation-changed', 'backend:2')
    expect(sink.events.map(({ data }) => data)).toEqual([
      {
        relation: { id: 1, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' },
        remote: { application: 'beacon', data, units: { 'beacon/0': { note: 'é' } } },
      },
      {
        relation: { id: 2, endpoint: 'backend', interface: 'http', role: 'requires' },
        remote: { application: 'db', data: {} },
      },
    ])
  })

  test('a charm tells the real name and the namespace of an alias that it knows', async () => {
    const sink = await startSink({ status: 200 })
    const known = await program(
      `Meshstep("${sink.url}", {"mesh": Endpoint("service_mesh", "requires")}, remotes={"far": ("istio", "beacon")}).tell()`,
    )
    const charm = await deploy({ name: 'details/0', program: known })
    await charm.change(({ relations }) => {
      relations['mesh:1'] = { application: 'far', data: {}, units: {} }
    })
    await charm.hook('mesh-relation-created', 'mesh:1')
    expect(sink.events[0]?.data).toMatchObject({ remote: { namespace: 'istio', application: 'beacon' } })
  })

  test('a charm leaves it to the leader to speak, but for the start of a pod', async () => {
    const sink = await startSink({ status: 200 })
    const charm = await deploy({ name: 'details/1', config: { 'meshstep-url': sink.url }, leader: false })
    for (const hook of ['install', 'config-changed', 'start', 'update-status', 'stop']) await charm.hook(hook)
    expect(sink.types()).toEqual(['resync'])
  })

  test('a charm does not end the relations of an application that only gets smaller', async () => {
    const sink = await startSink({ status: 200 })
    const charm = await deploy({ name: 'details/1', config: { 'meshstep-url': sink.url } })
    await charm.change((unit) => {
      unit.units = { 'details/0': 'active', 'details/1': 'dying' }
      unit.relations['website:3'] = { application: 'productpage', data: {}, units: {} }
    })
    for (const event of ['departed', 'broken']) await charm.hook(`website-relation-${event}`, 'website:3')
    await charm.hook('remove')
    expect(sink.events).toEqual([])
    await charm.change((unit) => {
      unit.fails = { 'goal-state': 'no connection' }
    })
    const { unit } = await charm.hook('website-relation-broken', 'website:3')
    expect(sink.events).toEqual([])
    expect(missed(unit)).toBe(true)
    await charm.change((changed) => {
      changed.fails = {}
      changed.units = { 'details/1': 'dying' }
    })
    await charm.hook('website-relation-broken', 'website:3')
    await charm.hook('remove')
    expect(sink.types()).toEqual(['leader-elected', 'relation-broken', 'config-changed', 'application-removed'])
  })

  test('a charm takes an action for no hook', async () => {
    const sink = await startSink({ status: 200 })
    const charm = await deploy({ name: 'details/0', config: { 'meshstep-url': sink.url } })
    await charm.hook('../actions/remove')
    expect(sink.events).toEqual([])
  })

  test('of two applications puts both on the mesh, with the policy between them, and ends it', async () => {
    const server = await serveExample()
    const config = (value: object) => ({ 'meshstep-url': server.url, 'meshstep-config': JSON.stringify(value) })
    const beacon = await deploy({ name: 'beacon/0', config: config({ mesh: {} }) })
    const details = await deploy({ name: 'details/0', config: config(POLICIES) })
    const productpage = await deploy({ name: 'productpage/0', config: config({}) })
    for (const charm of [beacon, details, productpage])
      for (const hook of ['install', 'leader-elected', 'config-changed', 'start']) await charm.hook(hook)
    const mesh = { charm: beacon, application: 'beacon', endpoint: 'beacon' }
    const page = { charm: productpage, application: 'productpage' }
    await relate(1, mesh, { charm: details, application: 'details', endpoint: 'service-mesh' })
    await relate(2, mesh, { ...page, endpoint: 'service-mesh' })
    const site = { charm: details, application: 'details', endpoint: 'website' }
    await relate(3, site, { ...page, endpoint: 'backend' })

    const ask = async (path: string) => (await (await fetch(`${server.url}${path}`)).json()) as Record<string, unknown>
    const passes = async (method: string) =>
      (await ask(`/explain?from=bookinfo/productpage&to=bookinfo/details&port=9080&path=/&method=${method}`)).allowed
    const isOnMesh = async (application: string) => {
      const views = (await ask('/applications/bookinfo')) as unknown as { application: string; labels: object }[]
      return Object.keys(views.find((one) => one.application === application)?.labels ?? {}).length > 0
    }
    expect(await Promise.all(['details', 'productpage'].map(isOnMesh))).toEqual([true, true])
    expect(await passes('GET')).toBe(true)
    expect(await passes('POST')).toBe(false)
    const { unit } = await details.hook('update-status')
    expect(unit.status).toEqual(['active', ''])
    expect(unit.log.filter((line) => line.startsWith('WARNING'))).toEqual([])
    expect(await ask('/applications/bookinfo/details')).toMatchObject({ leader: { unit: 'details/0' } })

    // the relation goes while meshstep is away for one side, and for good for the other
    await details.change((changed) => {
      changed.config['meshstep-url'] = NOBODY
      changed.config['meshstep-seconds'] = 0.2
    })
    await details.hook('website-relation-broken', 'website:3')
    await details.change((changed) => {
      delete changed.relations['website:3']
      Object.assign(changed.config, { 'meshstep-url': server.url, 'meshstep-seconds': 10 })
    })
    expect(await passes('GET')).toBe(true)
    await details.hook('update-status')
    expect(await passes('GET')).toBe(false)

    await details.change((changed) => {
      changed.units = { 'details/0': 'dying' }
    })
    await details.hook('service-mesh-relation-broken', 'service-mesh:1')
    await details.hook('remove')
    expect(await Promise.all(['details', 'productpage'].map(isOnMesh))).toEqual([false, true])
    await server.end('SIGTERM')
  })

  test('a charm has the endpoints of its metadata', async () => {
    const metadata = parse(readFileSync(`${EXAMPLE}metadata.yaml`, 'utf8'))
    const code = 'import json, charm; print(json.dumps({k: [v.role, v.interface] for k, v in charm.ENDPOINTS.items()}))'
    const { stdout } = await run(PYTHON, ['-B', '-c', code], { cwd: EXAMPLE })
    const declared = ['provides', 'requires'].flatMap((role) =>
      Object.entries(metadata[role] as Record<string, { interface: string }>).map(([name, one]) => [
        name,
        [role, one.interface],
      ]),
    )
    expect(JSON.parse(stdout)).toEqual(Object.fromEntries(declared))
  })

  test('a charm is written for Python 3.8', async () => {
    const code = `import ast
for name in ("meshstep.py", "meshstep_ops.py", "charm.py", "ops_charm.py", "pack.py"): ast.parse(open(name, encoding="utf-8").read(), feature_version=(3, 8))`
    await run(PYTHON, ['-B', '-c', code], { cwd: EXAMPLE })
  })
})
