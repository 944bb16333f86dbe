import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startFakePrometheus, vectorOf } from '../helpers/fake-prometheus.ts'
import {
  COMMAND,
  COMPILED,
  configFor,
  ensurePrograms,
  type Later,
  serveExample,
  temporaryDirectory,
  until,
} from './helpers.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

type Ran = { code: number | null; stdout: string; stderr: string }

type Running = { child: ChildProcess; text(): string; ended: Promise<Ran> }

beforeAll(ensurePrograms)

type Begun = { input?: string; entry?: string; env?: Record<string, string>; later?: Later }

const begin = (
  args: readonly string[],
  { input = '', entry = COMMAND, env = {}, later = onTestFinished }: Begun = {},
): Running => {
  const environment = { PATH: process.env.PATH ?? '', MESHSTEP_NAMESPACE: 'bookinfo', ...COMPILED, ...env }
  const child = spawn(process.execPath, [entry, ...args], { env: environment })
  later(() => void child.kill('SIGKILL'))
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    stderr += chunk
  })
  child.stdin.end(input)
  const ended = new Promise<Ran>((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })))
  return { child, text: () => `${stdout}${stderr}`, ended }
}

const POLICIES = 'policies: [{ type: app, relation: use, endpoints: [{ ports: [9080], methods: [GET] }] }]'

/** `npm start` with a mesh on which `productpage` may GET of `details`, and a command for it. */
const withMesh = async (environment: Record<string, string> = {}, later: Later = onTestFinished) => {
  const server = await serveExample({ environment, later })
  const runUntil = (later: Later, args: readonly string[], input = ''): Promise<Ran> =>
    begin(['--server', server.url, ...args], { input, later }).ended
  for (const [args, input] of [
    [['config', 'beacon', '-f', '-'], 'mesh: {}'],
    [['config', 'details', '-f', '-'], POLICIES],
    [['relate', 'details', 'beacon'], ''],
    [['relate', 'productpage', 'beacon'], ''],
    [['relate', 'details:use', 'productpage'], ''],
  ] as const)
    expect(await runUntil(later, args, input)).toMatchObject({ code: 0 })
  const run = (args: readonly string[], input?: string) => runUntil(onTestFinished, args, input)
  return { server, run }
}

const ends: (() => void)[] = []
afterAll(() => {
  for (const end of ends) end()
})

/** One for all that only ask. */
let asked: ReturnType<typeof withMesh> | undefined
const askedMesh = () => {
  asked ??= withMesh({}, (end) => void ends.push(end))
  return asked
}

const NOBODY = 'http://127.0.0.1:9'

test.each<[readonly string[], RegExp]>([
  [['tail', '--count', 'abc'], /--count .* Expected a whole number of 1 or more/],
  [['tail', '--count', '0'], /--count .* Expected a whole number of 1 or more/],
  [['replay', '-', '--repeat', '-1'], /--repeat .* Expected a whole number from 1 to 1000/],
  [['relate', 'a:b', 'c', '--id', 'x'], /--id .* Expected a whole number/],
  [['unrelate', 'a:b', 'c', '--id', '1.5'], /--id .* Expected a whole number/],
  [['record', '/dev/null', '--port', '70000'], /--port .* Expected a whole number from 0 to 65535/],
  [['record', '/does/not/exist'], /^error: \/does\/not\/exist cannot be opened: ENOENT/],
  [['explain', 'a:b', 'c', '--port', '80'], /^error: a:b: expected \[namespace\/\]application, without an endpoint/],
  [['get', 'applications', 'a:b'], /^error: a:b: expected \[namespace\/\]application, without an endpoint/],
  [['wait', 'a'], /required option '--for <condition>' not specified/],
  [['wait', 'a', '--for', 'gone'], /--for .* Allowed choices are ready, delete/],
  [['wait', 'a', '--for', 'ready', '--timeout', 'soon'], /--timeout .* Expected a time such as 30s or 5m/],
  [['wait', 'a', '--for', 'ready'], /^error: http:\/\/127\.0\.0\.1:9 does not answer .*: name it with --server/],
  [['traffic', '--window', '8d'], /--window .* expected from 1m to 7d/],
  [['propose', '--window', '8d'], /--window .* expected from 1m to 7d/],
  [['propose', '-o', 'table'], /^error: --output table: expected yaml, json/],
  [['traffic', '--prometheus', 'prometheus:9090'], /--prometheus .* expected a URL with http or https/],
  [
    ['traffic', '--prometheus', NOBODY, '--prometheus-ca-file', '/nowhere'],
    /^error: PROMETHEUS_CA_FILE: \/nowhere cannot be read/,
  ],
  [['juju', '--every', 'soon'], /--every .* Expected a time such as 30s or 5m/],
  [['juju', '--remote', 'far'], /--remote .* Expected alias=namespace\/application/],
  [['juju', '--watch', '--dry-run'], /cannot be used with option/],
  [['-o', 'svg', 'juju', '--model', 'a'], /^error: --output svg: expected table, wide, name, json, yaml/],
  [['juju'], /^error: name the model with --model: juju models lists them\n$/],
  [['juju', '--model', 'a', '--juju', '/nowhere/juju'], /^error: \/nowhere\/juju status .*snap install juju/],
  [
    ['--server', 'localhost:8080', 'lint'],
    /--server .* Expected a URL with http or https, such as http:\/\/localhost:8080/,
  ],
  [['--server', 'ftp://x', 'lint'], /--server .* Expected a URL with http or https\.\n/],
  [['--server', 'http://a:b@x', 'lint'], /--server .* Expected a URL without a user and a password/],
  [['juju', '--model', 'a', '--api', 'localhost:1'], /--api .* such as http:\/\/localhost:1/],
  [['lint', '--token', 'se cret'], /^error: --token: expected printable ASCII without spaces\n$/],
])('%j is refused with 1, in one sentence', async (args, said) => {
  const { code, stdout, stderr } = await begin(['--server', NOBODY, ...args]).ended
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(said)
  expect(stderr).not.toMatch(/^ +at /m)
})

test('a port that is taken is refused with 1', async () => {
  const other = createServer().listen(0)
  onTestFinished(() => void other.close())
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const { code, stderr } = await begin(['record', '/dev/null', '--port', String(port)]).ended
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^error: port \d+ cannot be opened: .*EADDRINUSE/)])
})

test('whoever reads may have enough, and the code says what was found nevertheless', async () => {
  const shadow = { apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy', metadata: { name: 'a' } }
  const input = JSON.stringify({ ...shadow, spec: { selector: { matchLabels: {} } } })
  const { child, ended } = begin(['lint', '-f', '-', '-o', 'sarif'], { input })
  child.stdout?.destroy()
  expect((await ended).code).toBe(2)
})

test('a folder in which there is nothing to read is no folder in which nothing is found', async () => {
  const folder = await temporaryDirectory()
  const stderr = `error: ${folder}: expected files *.yaml, *.yml or *.json in this folder, got none\n`
  for (const words of [['lint'], ['plan'], ['expect'], ['config', 'details'], ['send', 'resync', 'bookinfo']])
    expect(await begin([...words, '-f', folder]).ended, words.join(' ')).toEqual({ code: 1, stdout: '', stderr })
})

test('SARIF names files as the working directory has them, as a pull request does', async () => {
  const file = join(await temporaryDirectory(), 'a.yaml')
  await writeFile(file, '{ kind: AuthorizationPolicy, metadata: { name: a } }')
  const { stdout } = await begin(['lint', '-f', file, '-o', 'sarif']).ended
  expect(stdout).toContain(`"uri": "${relative('', file)}"`)
})

describe('the command', () => {
  test('the command shows the applications of all namespaces', async () => {
    const { run } = await askedMesh()
    await run(['config', 'bank/vault', '-f', '-'], '{}')
    const { stdout } = await run(['get', 'applications', '-A'])
    expect(stdout.split('\n')[0]?.split(/ +/)).toEqual(['NAMESPACE', 'NAME', 'STATUS', 'MESH', 'RELATIONS', 'MESSAGE'])
    expect(stdout).toMatch(/^bookinfo +details +active +yes /m)
    const { stdout: json } = await run(['get', 'relations', '-A', '-o', 'json'])
    expect(JSON.parse(json)).toHaveLength(3)
    expect(await run(['get', 'applications', 'details', '-A'])).toMatchObject({
      ...{ code: 1, stdout: '' },
      stderr: expect.stringContaining('--all-namespaces and details: expected one of them'),
    })
  })

  test('the command says that there is nothing to show, where a table would be empty', async () => {
    const { run } = await askedMesh()
    const nothing = (stderr: string) => ({ code: 0, stdout: '', stderr })
    expect(await run(['get', 'applications', '-n', 'loki'])).toEqual(
      nothing('no application is known in the namespace loki\n'),
    )
    expect(await run(['get', 'applications', '-n', 'nosuch'])).toMatchObject({ code: 1, stdout: '' })
    expect(await run(['get', 'policies', 'productpage'])).toEqual(
      nothing('no policy of meshstep is known of productpage\n'),
    )
    expect(await run(['get', 'policies', '-n', 'loki', '-o', 'json'])).toMatchObject({ stdout: '[]\n', stderr: '' })
  })

  test('the command waits until applications are ready, and says what is awaited when the time is over', async () => {
    const { run } = await askedMesh()
    const ready = 'application bookinfo/beacon ready\napplication bookinfo/details ready\n'
    expect(await run(['wait', 'beacon', 'bookinfo/details', '--for', 'ready', '--timeout', '5m'])).toEqual({
      ...{ code: 0, stdout: ready, stderr: '' },
    })
    expect(await run(['wait', 'nobody', '--for', 'ready', '--timeout', '1s'])).toEqual({
      ...{ code: 1, stdout: '' },
      stderr:
        'error: not ready in time: do as is said here, or set a longer --timeout\nbookinfo/nobody: unknown application\n',
    })
    expect(await run(['wait', 'nobody', '--for', 'delete'])).toMatchObject({ code: 0 })
  })

  test('the command takes no file for expectations that has none', async () => {
    const { run } = await askedMesh()
    const account = '{ apiVersion: v1, kind: ServiceAccount, metadata: { name: x, namespace: bookinfo } }'
    const { code, stdout, stderr } = await run(['expect', '-f', '-'], account)
    expect([code, stdout, stderr]).toEqual([1, '', 'error: -: expected an `expect` list, got none\n'])
  })

  test('the command plans documents without a namespace in that of -n, and takes what istiod does at waypoints', async () => {
    const { run } = await askedMesh()
    const policy =
      '{ apiVersion: security.istio.io/v1beta1, kind: AuthorizationPolicy, metadata: { name: x }, spec: { selector: { matchLabels: { a: b } } } }'
    const { code, stdout } = await run(['plan', '--auto-allow-waypoint', 'false', '-f', '-'], policy)
    expect([code, stdout]).toEqual([0, '+ AuthorizationPolicy bookinfo/x\n'])
    const refused = await run(['expect', '--auto-allow-waypoint', 'perhaps', '-f', '-'], policy)
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('Allowed choices are true, false')])
    const asking = (from: string, to: string) =>
      run(['explain', from, to, '--port', '80', '--auto-allow-waypoint', 'true'])
    expect((await asking('productpage', 'bookinfo/gateway/nosuch')).stderr).toContain('no Gateway bookinfo/nosuch')
    expect((await asking('bookinfo/sa/nosuch', 'bookinfo/pod/nosuch')).stderr).toContain('no pod bookinfo/nosuch')
  })

  test('the command takes no empty file for an empty config', async () => {
    const { run } = await withMesh()
    const { code, stderr } = await run(['config', 'details', '-f', '-'], '')
    expect([code, stderr]).toEqual([1, expect.stringContaining('-: expected YAML or JSON, got nothing')])
    const asked = ['explain', 'productpage', 'details', '--port', '9080', '--method', 'POST']
    expect(await run(asked)).toMatchObject({ code: 2 })
    expect(await run(['config', 'details', '-f', '-'], '{}')).toMatchObject({ code: 0 })
    expect(await run(asked)).toMatchObject({ code: 0 })
  })

  test('the command relates an endpoint that has the name of a member of all objects', async () => {
    const { run } = await withMesh()
    expect(await run(['relate', 'details:constructor', 'productpage'])).toMatchObject({ code: 0 })
  })

  test('the command prints the documents that can be derived, and says what is missing', async () => {
    const sides = { one: 'two', two: 'one' }
    const related = Object.entries(sides).map(([name, other]) => {
      const relation = { 'related-application': other, interface: 'http', scope: 'global' }
      return [name, { relations: { web: [relation] }, units: { [`${name}/0`]: {} } }]
    })
    const status = JSON.stringify({ model: { name: 'shop', type: 'caas' }, applications: Object.fromEntries(related) })
    const reading = (input: string) => begin(['juju', '-', '-o', 'json'], { input }).ended
    expect(await reading(status)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('add juju show-unit --format json one/0'),
    })
    const table = 'Integration provider  Requirer  Interface  Type\none:web  two:web  http  regular\n'
    const unit = { 'one/0': { 'relation-info': [{ 'relation-id': 4, endpoint: 'web', 'related-endpoint': 'web' }] } }
    const { code, stdout } = await reading(`${status}\n${table}\n${JSON.stringify(unit)}\n`)
    expect([code, JSON.parse(stdout).items.length]).toEqual([0, 1])
  })

  test('the command relates once, and ends what it related', async () => {
    const { run } = await withMesh()
    await run(['relate', 'details:use', 'productpage'])
    const relations = async (...args: string[]) =>
      JSON.parse((await run(['get', 'relations', '-o', 'json', ...args])).stdout)
    expect(await relations()).toMatchObject([
      { id: 1 },
      { id: 2 },
      { id: 3, provider: 'bookinfo/details:use', stands: true },
    ])
    expect(await run(['unrelate', 'details', 'nobody'])).toMatchObject({
      code: 1,
      stderr: 'error: bookinfo/details has no such relation with nobody\n',
    })
    expect((await run(['unrelate', 'details:use', 'productpage'])).code).toBe(0)
    expect(await relations()).toMatchObject([{ id: 1 }, { id: 2 }])
    expect(await relations('--all')).toMatchObject([{ id: 1 }, { id: 2 }, { id: 3, stands: false, ended: true }])
    expect((await run(['remove', 'details', '--dry-run'])).stdout).toContain('AuthorizationPolicy')
    expect((await run(['remove', 'details'])).code).toBe(0)
    expect((await run(['get', 'applications'])).stdout).toMatch(/^details +removed /m)
    expect(await run(['-n', 'nowhere', 'get', 'applications'])).toMatchObject({
      code: 1,
      stderr: 'error: Namespace nowhere does not exist\n',
    })
  })

  test('the command exits with 2 where access would be lost, widened, or a request is refused', async () => {
    const { run } = await askedMesh()
    const codes = async (...runs: (readonly [readonly string[], string?])[]) => {
      const found: (number | null)[] = []
      for (const [args, input] of runs) found.push((await run(args, input)).code)
      return found
    }
    const typo = POLICIES.replace('use', 'sue')
    const widened = POLICIES.replace('[GET]', '[GET, POST]')
    const event = (config: string) =>
      `{specversion: '1.0', id: x, source: /me, type: dev.meshstep.config-changed.v1, subject: bookinfo/details, data: { config: { ${config} } } }`
    const explain = ['explain', 'productpage', 'details', '--port', '9080', '--method']
    expect(
      await codes(
        [['config', 'details', '-f', '-', '--dry-run'], typo],
        [['plan', '-f', '-'], event(typo)],
        [['plan', '-f', '-', '--fail-on', 'none'], event(typo)],
        [['plan', '-f', '-'], event(widened)],
        [['plan', '-f', '-', '--fail-on', 'widen'], event(widened)],
        [[...explain, 'GET']],
        [[...explain, 'POST']],
        [['lint']],
        [
          ['expect', '-f', '-'],
          'expect: [{ from: bookinfo/productpage, to: bookinfo/details, port: 9080, method: GET, allowed: false }]',
        ],
      ),
    ).toEqual([2, 2, 0, 0, 2, 0, 2, 0, 2])
  })

  test('the command is told of auto-allow, as what it answers may depend on it', async () => {
    const { run } = await askedMesh()
    const open = 'expect: [{ to: bookinfo/productpage, port: 9080, method: GET, path: /, allowed: true }]'
    const codes = async (args: readonly string[], input?: string) => {
      const found = []
      for (const said of [[], ['--auto-allow-waypoint', 'true'], ['--auto-allow-waypoint', 'false']])
        found.push((await run([...args, ...said], input)).code)
      return found
    }
    expect(await codes(['explain', 'details', 'productpage', '--port', '9080', '--via', 'pod'])).toEqual([2, 2, 0])
    expect(await codes(['expect', '-f', '-'], open)).toEqual([2, 2, 0])
    expect(await codes(['plan', '-f', '-'], open)).toEqual([2, 2, 0])
    expect(await run(['plan', '-f', '-', '--auto-allow-waypoint', 'yes'])).toMatchObject({ code: 1, stdout: '' })
  })

  test('the command prints data to stdout, as JSON and YAML as well, and everything else to stderr', async () => {
    const { run } = await askedMesh()
    const [json, yaml] = [await run(['get', 'policies', '-o', 'json']), await run(['get', 'policies', '-o', 'yaml'])]
    expect(JSON.parse(json.stdout)).toHaveLength(2)
    expect(yaml.stdout).toMatch(/^- namespace: bookinfo\n {2}name: beacon-/)
    expect([json.stderr, yaml.stderr]).toEqual(['', ''])
    expect(await run(['lint', '-o', 'xml'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('expected table, wide, name, json, yaml'),
    })
    const diff = await run(['config', 'details', '-f', '-', '--dry-run', '-o', 'json'], '{}')
    expect(JSON.parse(diff.stdout).objects[0].diff).toContain('--- AuthorizationPolicy')
  })

  test('the command asks a Prometheus for traffic itself, or the functions that have one', async () => {
    const { url, queries } = await startFakePrometheus((response, { form }) => {
      const labels = { reporter: 'waypoint', destination_service: 'details.bookinfo.svc', response_code: '200' }
      const isAsked = form.get('query')?.includes('istio_requests_total')
      response.end(vectorOf(isAsked ? [[labels, 5]] : []))
    })
    const { run } = await askedMesh()
    const traffic = async (...args: string[]) => await run(['traffic', ...args])
    expect(await traffic()).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('--prometheus') })
    const token = join(await temporaryDirectory(), 'token')
    await writeFile(token, 'secret\n')
    const asked = ['--prometheus', url, '--prometheus-token-file', token, '--window', '2h']
    const { code, stdout, stderr } = await traffic(...asked)
    expect([code, stderr]).toEqual([0, expect.stringContaining('no port')])
    expect(stdout).toMatch(/^unknown +bookinfo\/details +http +5 +0 +none +used without a relation$/m)
    expect(queries.map(({ headers }) => headers.authorization)).toEqual(queries.map(() => 'Bearer secret'))
    expect(JSON.parse((await traffic(...asked, '-o', 'json')).stdout)).toMatchObject({ window: '2h' })
    expect((await traffic(...asked, '-o', 'yaml')).stdout).toMatch(/^namespace: bookinfo\n/)
    expect((await traffic(...asked, '-o', 'mermaid')).stdout).toMatch(/^graph LR\n/)
    expect(await traffic('--prometheus', NOBODY)).toMatchObject({
      ...{ code: 1, stdout: '' },
      stderr: expect.stringMatching(
        /^error: Prometheus at http:\/\/127\.0\.0\.1:9\/api\/v1\/query does not answer .*a retry may help/,
      ),
    })
  })

  test('the command says of each loss how much it was used, and fails for those alone', async () => {
    let perHour = 720
    let status = 200
    const { url } = await startFakePrometheus((response, { form }) => {
      const query = form.get('query') ?? ''
      const seconds = Number(/\[(\d+)s/.exec(query)?.[1])
      const labels = { source_workload: 'productpage', source_workload_namespace: 'bookinfo', response_code: '200' }
      const http = { reporter: 'waypoint', ...labels, destination_service: 'details.bookinfo.svc' }
      const counted = query.includes('istio_requests_total') ? (perHour * seconds) / 3_600 : 0
      const value = query.includes('timestamp(istio_build') ? seconds : counted
      response.writeHead(status).end(vectorOf(value > 0 ? [[http, value]] : []))
    })
    const { run } = await withMesh({ PROMETHEUS_URL: url })
    const losing = async (...args: string[]) =>
      await run(['unrelate', 'details:use', 'productpage', '--dry-run', ...args])
    const used = await losing()
    expect(used).toMatchObject({
      ...{ code: 2, stdout: expect.stringMatching(/^- productpage → details .*, 12 requests\/min in the last hour$/m) },
      stderr: expect.stringContaining('no port, method or path'),
    })
    const { access } = JSON.parse((await losing('-o', 'json')).stdout)
    expect(access[0].traffic).toMatchObject({ is: 'used', requests: 720, connections: 0, seconds: 3_600 })
    expect(await losing('--fail-on', 'used')).toMatchObject({
      ...{ code: 2, stderr: expect.stringMatching(/^used access is lost \(\d+\)$/m) },
    })
    perHour = 0
    const silent = await losing('--fail-on', 'used')
    expect([silent.code, silent.stdout]).toEqual([0, expect.stringContaining(', not used for 7 days\n')])
    status = 503
    const unknown = await losing('--fail-on', 'used')
    expect([unknown.code, unknown.stdout]).toEqual([3, expect.stringContaining(', use not known\n')])
    expect(unknown.stderr).toMatch(/^the traffic to bookinfo in the last 1h is not known: .*503/m)
  })

  test('the command plans without a Prometheus as it always did', async () => {
    const { run } = await askedMesh()
    const losing = ['unrelate', 'details:use', 'productpage', '--dry-run']
    const { stdout, stderr, code } = await run(losing)
    expect([code, stderr]).toEqual([2, 'access is lost (1)\n'])
    expect(stdout).toMatch(/^- productpage → details GET :9080$/m)
    expect((await run([...losing, '-o', 'json'])).stdout).not.toContain('traffic')
    expect(await run([...losing, '--fail-on', 'used'])).toMatchObject({
      ...{ code: 3, stdout },
      stderr: 'it is not known if used access is lost (1): name a Prometheus with --prometheus\n',
    })
  })

  test('the command proposes documents for the traffic that was seen, and a plan of them loses none of it', async () => {
    const { url } = await startFakePrometheus((response, { form }) => {
      const labels = { reporter: 'waypoint', destination_service: 'details.bookinfo.svc', response_code: '200' }
      const isAsked = form.get('query')?.includes('istio_requests_total')
      const client = { source_workload: 'productpage', source_workload_namespace: 'bookinfo' }
      response.end(
        vectorOf(
          isAsked
            ? [
                [{ ...labels, ...client }, 5],
                [labels, 2],
              ]
            : [],
        ),
      )
    })
    const { run } = await askedMesh()
    const asked = ['details', '--prometheus', url, '--window', '2h']
    const { code, stdout, stderr } = await run(['propose', ...asked])
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('unknown → bookinfo/details: no proxy knows who it is (2 HTTP'),
    ])
    expect(stdout).toMatch(/^# Proposed for bookinfo by the traffic of the last 2h\./)
    const plan = await run(['plan', '-f', '-'], stdout)
    expect(plan.stdout).not.toContain('- productpage → details :9080')
    const list = JSON.parse((await run(['propose', ...asked, '-o', 'json'])).stdout)
    expect(list).toMatchObject({ kind: 'List', items: expect.any(Array) })
    expect(await run(['propose', 'a/b', 'c/d', '--prometheus', url])).toMatchObject({
      ...{ code: 1, stdout: '' },
      stderr: expect.stringContaining('expected applications of one namespace, got a, c'),
    })
  })

  test('the command draws a map in each form', async () => {
    const { run } = await askedMesh()
    expect((await run(['map'])).stdout).toMatch(/^graph LR\n/)
    expect((await run(['map', '-o', 'svg'])).stdout).toMatch(/^<svg .*<\/svg>\n$/s)
    expect(JSON.parse((await run(['map', '-o', 'json'])).stdout).edges).toEqual([
      { from: 'bookinfo/productpage', to: 'bookinfo/details', label: 'use' },
    ])
  })

  test('the command shows steps as they are taken, and records events, which can be sent again', async () => {
    const { server, run } = await withMesh()
    const file = join(await temporaryDirectory(), 'events.jsonl')
    const tail = begin(['--server', server.url, 'tail', '--count', '1'])
    const record = begin(['--server', server.url, 'record', file, '--port', '0'])
    await until('somebody watches', () => tail.text().includes('watching bookinfo'))
    const url = await until('it records', () => /http:\/\/\S+/.exec(record.text())?.[0])
    const sent = await begin(['--server', url, 'unrelate', 'details:use', 'productpage']).ended
    expect(sent).toMatchObject({ code: 0, stdout: expect.stringContaining('bookinfo/beacon') })
    expect((await fetch(`${url}/applications/bookinfo/nobody`)).status).toBe(404)
    expect((await fetch(url, { method: 'POST', body: 'x' })).status).toBe(400)
    expect((await tail.ended).stdout).toMatch(/details +changed +relation-broken/)
    record.child.kill('SIGINT')
    expect((await record.ended).code).toBe(0)
    expect(JSON.parse((await readFile(file, 'utf8')).trim())).toMatchObject({ type: 'dev.meshstep.relation-broken.v1' })
    const again = await run(['replay', file, '--shuffle', '7', '--repeat', '2'])
    expect(again).toMatchObject({ code: 0, stderr: 'seed 7\n' })
    expect(again.stdout.split('\n')).toHaveLength(4)
    expect(await run(['replay', '-'], '{"id":"x"}\n')).toMatchObject({
      code: 2,
      stdout: expect.stringContaining('refused'),
    })
  })

  test('resend sends what the log of the dead-letter sink has, and says what cannot be sent again', async () => {
    const event = {
      ...{
        specversion: '1.0',
        id: 'letter',
        source: '/test',
        type: 'dev.meshstep.resync.v1',
        subject: 'bookinfo/details',
      },
      ...{ datacontenttype: 'application/json', data: {} },
    }
    const log = [
      { msg: 'listening' },
      { msg: 'dead letter', event },
      { msg: 'dead letter', event: { ...event, id: 'hidden' }, isRedacted: true },
    ]
    const { run } = await askedMesh()
    const resent = await run(['resend', '-'], log.map((line) => `${JSON.stringify(line)}\n`).join(''))
    expect(resent).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('letter'),
      stderr: expect.stringContaining('1 cannot be sent again'),
    })
    expect(resent.stdout).not.toContain('hidden')
    expect(await run(['resend', '-'], JSON.stringify(log[0]))).toEqual({
      ...{ code: 1, stdout: '', stderr: 'error: - holds no dead letters\n' },
    })
  })

  test('the command reaches a cluster through a port-forward of kubectl', async () => {
    const { server } = await askedMesh()
    const folder = await temporaryDirectory()
    const kubectl = `#!/bin/sh\necho "$@" > '${folder}/args'\necho 'Forwarding from 127.0.0.1:${server.port} -> 8080'\nexec sleep 60\n`
    await writeFile(join(folder, 'kubectl'), kubectl)
    await chmod(join(folder, 'kubectl'), 0o755)
    const env = { PATH: `${folder}:${process.env.PATH}` }
    expect(await begin(['get', 'applications', '--context', 'far'], { env }).ended).toMatchObject({ code: 0 })
    expect(await readFile(join(folder, 'args'), 'utf8')).toBe(
      '--context far --namespace meshstep port-forward service/meshstep :80\n',
    )
    await writeFile(join(folder, 'kubectl'), '#!/bin/sh\necho "no such context" >&2\nexit 1\n')
    expect(await begin(['get', 'applications', '--context', 'far'], { env }).ended).toMatchObject({
      code: 1,
      stderr: 'error: kubectl port-forward ended with 1: no such context\n',
    })
  })

  test('as a plugin of kubectl the command goes to the current context, and a server that is named goes first', async () => {
    const { server } = await askedMesh()
    const folder = await temporaryDirectory()
    const kubectl = `#!/bin/sh\necho "$@" > '${folder}/args'\necho 'Forwarding from 127.0.0.1:${server.port} -> 8080'\nexec sleep 60\n`
    await writeFile(join(folder, 'kubectl'), kubectl)
    await chmod(join(folder, 'kubectl'), 0o755)
    const env = { PATH: `${folder}:${process.env.PATH}`, MESHSTEP_NAME: 'kubectl-meshstep' }
    expect(await begin(['get', 'applications'], { env }).ended).toMatchObject({ code: 0 })
    expect(await readFile(join(folder, 'args'), 'utf8')).toBe(
      '--namespace meshstep port-forward service/meshstep :80\n',
    )
    const named = ['get', 'applications', '--server', 'http://127.0.0.1:65533']
    expect(await begin(named, { env }).ended).toMatchObject({ code: 1, stderr: expect.stringContaining('65533') })
  })

  test('where no functions are in a cluster, it answers questions itself, for the namespace of the context', async () => {
    const { server } = await askedMesh()
    const folder = await temporaryDirectory()
    const kubeconfig = join(folder, 'config')
    const { url } = await server.logged('embedded Kubernetes API')
    const contexts = [{ name: 'here', context: { cluster: 'there', user: 'me', namespace: 'bookinfo' } }]
    await writeFile(kubeconfig, JSON.stringify({ ...configFor({ server: url }), contexts }))
    await writeFile(
      join(folder, 'kubectl'),
      '#!/bin/sh\necho "Error from server (NotFound): services meshstep not found" >&2\nexit 1\n',
    )
    await chmod(join(folder, 'kubectl'), 0o755)
    const env = { PATH: `${folder}:${process.env.PATH}`, MESHSTEP_NAMESPACE: '' }
    const ask = (...args: string[]) => begin([...args, '--kubeconfig', kubeconfig], { env }).ended
    const names = await ask('get', 'applications', '-o', 'name')
    expect(names).toMatchObject({ code: 0, stderr: expect.stringContaining('with your own rights') })
    expect(names.stdout.split('\n')).toContain('application/details')
    const request = ['productpage', 'details', '--port', '9080', '--method', 'GET', '--path', '/details/0']
    expect(await ask('explain', ...request)).toMatchObject({ code: 0 })
    expect(await ask('resend', '-')).toMatchObject({ code: 1, stderr: expect.stringContaining('with --target') })
  })

  test('output is as kubectl has it: names, templates, wide, and without titles', async () => {
    const { run } = await askedMesh()
    const out = async (...args: string[]) => (await run(['get', ...args])).stdout
    expect(await out('relations', '-o', 'name')).toMatch(/^relation\/\d+\n/)
    expect(await out('policies', '-o', 'name')).toMatch(/^authorizationpolicy\/\S+\n/)
    expect(await out('applications', '-o', 'jsonpath={range [*]}{.application} {end}')).toContain('details ')
    expect(await out('applications', '-o', 'wide')).toMatch(/^NAME .* UNITS .* LEADER .* SAVED .* MESSAGE\n/)
    for (const [short, ...also] of [
      ['app', 'apps', 'application', 'applications'],
      ['rel', 'rels', 'relation', 'relations'],
      ['pol', 'pols', 'policy', 'policies'],
    ] as const)
      for (const name of also) expect(await out(name)).toBe(await out(short))
    expect(await out('rel')).toMatch(/^ID .* STATE\n/)
    expect(await out('applications', '--no-headers')).not.toContain('NAME')
    expect(await run(['get', 'applications', '-o', 'odd'])).toMatchObject({
      ...{ code: 1, stderr: 'error: --output odd: expected table, wide, name, json, yaml, jsonpath=TEMPLATE\n' },
    })
  })

  test('the names of applications are completed, and what an option takes', async () => {
    const { run } = await askedMesh()
    const complete = async (...words: string[]) => (await run(['__complete', ...words])).stdout.split('\n')
    expect(await complete('wait', 'det')).toEqual(['details', ':4', ''])
    expect(await complete('wait', 'details', '--for', '')).toEqual(['ready', 'delete', ':4', ''])
    expect(await complete('li')).toEqual(['lint', ':4', ''])
    expect(await complete('lint', '-f', '')).toEqual([':0', ''])
    expect(await complete('lint', '--')).toContain('--file')
    expect(await complete('get', 'app', 'det')).toEqual(['details', ':4', ''])
    expect(await complete('get', 're')).toEqual(['relations', 'relation', 'rels', 'rel', ':4', ''])
    expect(await complete('get', 'relations', '--al')).toEqual(['--all-namespaces', '--all', ':4', ''])
  })

  test('the versions of the command and of the functions are told', async () => {
    const { run } = await askedMesh()
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    expect(await run(['version'])).toMatchObject({ code: 0, stdout: `client ${version}\nfunctions ${version}\n` })
  })
})

describe('without a server', () => {
  test.each<[string, readonly string[], number, RegExp]>([
    [
      'says what to start',
      ['lint', '--server', 'http://127.0.0.1:65533'],
      1,
      /error: http:\/\/127\.0\.0\.1:65533 does not answer .*npx meshstep start/,
    ],
    ['names a command that is none', ['nonsense'], 1, /unknown command 'nonsense'/],
    [
      'names a name that is none',
      ['relate', 'a b', 'c'],
      1,
      /error: a b: expected \[namespace\/\]application\[:endpoint\]/,
    ],
    ['names a file that is not there', ['config', 'a', '-f', '/nowhere'], 1, /error: \/nowhere cannot be read/],
    ['names what is wrong in YAML', ['config', 'a', '-f', '-'], 1, /error: -:1:2: /],
  ])('%s', async (_, args, code, message) => {
    const ran = await begin(args, { input: '{' }).ended
    expect(ran).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(message) })
  })

  test('a mistake in a file is told with its place, and the key that may be meant, whichever command reads it', async () => {
    const { run } = await askedMesh()
    const config = 'policies:\n  - { type: app, relation: use, endpoints: [{ port: [9080], methods: [GET] }] }\n'
    const place = '-:2:47: '
    const wrong = 'policies.0.endpoints.0: Unrecognized key: "port", did you mean ports?'
    const document = (text: string) =>
      `kind: ConfigMap\napiVersion: v1\nmetadata: { name: d, labels: { meshstep.dev/kind: config } }\ndata:\n  application: details\n  config: |\n    ${text.replaceAll('\n', '\n    ')}`
    for (const [words, input, said] of [
      [['config', 'details'], config, `${place}${wrong}`],
      [['config', 'details', '--dry-run'], config, `${place}${wrong}`],
      [
        ['send', 'config-changed', 'bookinfo/details'],
        `config: { polices: 1 }`,
        '-:1:11: config: Unrecognized key: "polices", did you mean policies?',
      ],
      [['plan'], document(config), `-:8:51: data.config.${wrong}`],
      [['expect'], 'expect: [{ frm: a }]', 'expect[0]: Unrecognized key: "frm", did you mean from?'],
      [['lint'], document('a:\n\tb: 1\n'), 'ConfigMap'],
      [['config', 'details'], 'a:\n\tb: 1', '-:2:1: Tabs are not allowed as indentation\n'],
      [['plan'], 'a:\n\tb: 1', '-:2:1: Tabs are not allowed as indentation\n'],
      [['lint'], 'a:\n\tb: 1', 'Tabs are not allowed as indentation'],
    ] as const) {
      const { code, stdout, stderr } = await run([...words, '-f', '-'], input)
      expect([code === 0, `${stdout}${stderr}`], words.join(' ')).toEqual([false, expect.stringContaining(said)])
    }
  })

  test('the help of a command has the options of all commands that it takes', async () => {
    const help = async (name: string) => (await begin([name, '--help']).ended).stdout
    expect(await help('get')).toMatch(/--server <url>.*-n, --namespace <name>.*-o, --output/s)
    expect(await help('record')).toMatch(/--server <url>/)
    expect(await help('record')).not.toMatch(/--namespace|--output/)
    expect(await help('start')).not.toMatch(/--server|--namespace/)
  })

  test('the command of a checkout says without a server which version it is', async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    const entry = join(ROOT, 'meshstep.mjs')
    expect(await begin(['--version'], { entry }).ended).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })

  test('each command says what it does, with an example', async () => {
    const { stdout } = await begin(['--help']).ended
    const names = [...stdout.matchAll(/^ {2}([a-z]+) .*$/gm)]
      .map(([, name = '']) => name)
      .filter((name) => name !== 'help')
    expect(names.length).toBeGreaterThan(12)
    for (const name of names) expect((await begin([name, '--help']).ended).stdout).toMatch(/Example:\n {2}.*meshstep /)
  })

  test.each(['bash', 'zsh', 'fish'])('the command prints without a server a completion for %s', async (shell) => {
    expect((await begin(['completion', shell]).ended).stdout).toContain('meshstep __complete')
  })
})
