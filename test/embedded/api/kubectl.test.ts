import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createEmbeddedApi, type EmbeddedApi } from '../../../src/embedded/api/api.ts'
import { type EmbeddedServer, startEmbeddedApi } from '../../../src/embedded/api/server.ts'

const OLDEST = 21

/** Why kubectl cannot be used here; undefined when it can. */
const unusable = (): string | undefined => {
  try {
    const text = execFileSync('kubectl', ['version', '--client', '-o', 'json'], { encoding: 'utf8', stdio: 'pipe' })
    const { clientVersion } = JSON.parse(text) as { clientVersion: { major: string; minor: string } }
    const minor = Number.parseInt(clientVersion.minor, 10)
    return minor < OLDEST ? `kubectl 1.${minor} is older than 1.${OLDEST}` : undefined
  } catch {
    return 'kubectl is not on PATH'
  }
}

const reason = unusable()

const MANIFEST = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop, labels: {app: web}}
data: {colour: blue, size: "1"}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: shop}
spec:
  serviceName: web
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "example.invalid/x:1", env: [{name: A, value: "1"}]}]}
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: policy, namespace: shop}
spec: {action: ALLOW, rules: [{}]}
`

describe.skipIf(reason !== undefined)(`a real kubectl${reason === undefined ? '' : ` (skipped: ${reason})`}`, () => {
  let home: string
  let api: EmbeddedApi
  let server: EmbeddedServer

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'kubectl-'))
    api = createEmbeddedApi()
    server = await startEmbeddedApi({ api, port: 0 })
  })
  afterAll(async () => {
    await server.close()
    rmSync(home, { recursive: true })
  })

  const environment = () => ({ PATH: process.env.PATH, HOME: home, KUBECONFIG: join(home, 'none') })
  const kubectl = async (...words: string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)('kubectl', ['--server', server.url, ...words], { env: environment() })
    return stdout.trim()
  }
  const manifest = (text: string): string => {
    const file = join(home, 'manifest.yaml')
    writeFileSync(file, text)
    return file
  }

  test('apply creates, and applied again leaves everything unchanged', async () => {
    const first = await kubectl('apply', '-f', manifest(MANIFEST))
    expect(first.split('\n').map((line) => line.split(' ')[1])).toEqual(Array(5).fill('created'))
    const before = api.objects()
    const second = await kubectl('apply', '-f', manifest(MANIFEST))
    expect(second.split('\n').map((line) => line.split(' ')[1])).toEqual(Array(5).fill('unchanged'))
    expect(api.objects()).toEqual(before)
  })

  test('apply changes one member of a list, and drops a key', async () => {
    const changed = MANIFEST.replace('value: "1"', 'value: "2"').replace(', size: "1"', '')
    await kubectl('apply', '-f', manifest(changed))
    expect(
      await kubectl(
        '-n',
        'shop',
        'get',
        'statefulset',
        'web',
        '-o',
        'jsonpath={.spec.template.spec.containers[0].env[0].value}',
      ),
    ).toBe('2')
    expect(await kubectl('-n', 'shop', 'get', 'configmap', 'settings', '-o', 'jsonpath={.data}')).toBe(
      '{"colour":"blue"}',
    )
  })

  test('get lists by label, field and across namespaces, and shows managed fields', async () => {
    expect(await kubectl('get', 'configmaps', '-A', '-l', 'app=web', '-o', 'name')).toBe('configmap/settings')
    expect(await kubectl('-n', 'shop', 'get', 'pods', '--field-selector', 'metadata.name=web-1', '-o', 'name')).toBe(
      'pod/web-1',
    )
    expect(await kubectl('-n', 'shop', 'get', 'ap', '-o', 'yaml', '--show-managed-fields')).toMatch(
      /manager: kubectl-client-side-apply/,
    )
    expect(await kubectl('-n', 'shop', 'get', 'sts,svc')).toMatch(
      /statefulset.apps\/web[\s\S]*service\/web|service\/web[\s\S]*statefulset.apps\/web/,
    )
  })

  test.each(['configmap/settings', 'service/web', 'statefulset/web', 'pod/web-0', 'namespace/shop', 'ap/policy'])(
    'describe %s',
    async (name) => {
      expect(await kubectl('-n', 'shop', 'describe', name)).toMatch(/^Name: +(settings|web|web-0|shop|policy)\n/)
    },
  )

  test('label adds, refuses to overwrite, overwrites and removes', async () => {
    const label = (...words: string[]) => kubectl('label', 'namespace', 'shop', ...words)
    const value = () => kubectl('get', 'namespace', 'shop', '-o', 'jsonpath={.metadata.labels.team}')
    await label('team=blue')
    await expect(label('team=red')).rejects.toThrow(/already has a value/)
    await label('team=red', '--overwrite')
    expect(await value()).toBe('red')
    await label('team-')
    expect(await value()).toBe('')
  })

  test('patch, create, replace and delete', async () => {
    await kubectl('-n', 'shop', 'patch', 'service', 'web', '-p', '{"metadata":{"labels":{"a":"b"}}}')
    await kubectl(
      '-n',
      'shop',
      'patch',
      'service',
      'web',
      '--type',
      'json',
      '-p',
      '[{"op":"test","path":"/metadata/labels/a","value":"b"}]',
    )
    await kubectl('-n', 'shop', 'create', 'configmap', 'made', '--from-literal=k=v')
    await expect(kubectl('-n', 'shop', 'create', 'configmap', 'made')).rejects.toThrow(
      'configmaps "made" already exists',
    )
    await kubectl(
      'replace',
      '-f',
      manifest('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"made","namespace":"shop"},"data":{"k":"w"}}'),
    )
    expect(await kubectl('-n', 'shop', 'get', 'configmap', 'made', '-o', 'jsonpath={.data.k}')).toBe('w')
    expect(await kubectl('-n', 'shop', 'delete', 'configmap', 'made', '--wait')).toMatch(/^configmap "made" deleted/)
    await expect(kubectl('-n', 'shop', 'get', 'configmap', 'made')).rejects.toThrow('configmaps "made" not found')
  })

  test('server-side apply reports a conflict, and takes over with force', async () => {
    const other = manifest(
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\ndata: {colour: red}\n',
    )
    const apply = (...words: string[]) =>
      kubectl('apply', '--server-side', '--field-manager=other', '-f', other, ...words)
    await expect(apply()).rejects.toThrow(/conflict with "kubectl-client-side-apply".*: .data.colour/)
    expect(await apply('--force-conflicts')).toBe('configmap/settings serverside-applied')
    expect(await kubectl('-n', 'shop', 'get', 'configmap', 'settings', '-o', 'jsonpath={.data.colour}')).toBe('red')
  })

  test('a list of kind List is applied, and refused where an item has a misspelt field', async () => {
    const list = (field: string) => `
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: shop}, ${field}: {a: "1"}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: shop}}
`
    expect(await kubectl('apply', '-f', manifest(list('data')))).toBe('configmap/one created\nconfigmap/two created')
    await expect(kubectl('apply', '-f', manifest(list('dat')))).rejects.toThrow(/unknown field "dat"/)
    await kubectl('-n', 'shop', 'delete', 'configmaps', 'one', 'two')
  })

  test('scale sets the replicas, and get prints what there is to see, and more when wide', async () => {
    expect(await kubectl('-n', 'shop', 'scale', 'statefulset', 'web', '--replicas=1')).toBe(
      'statefulset.apps/web scaled',
    )
    const columns = async (...words: string[]) => {
      const [head = '', row = ''] = (await kubectl('-n', 'shop', 'get', ...words)).split('\n')
      return [head.split(/\s{2,}/), row.split(/\s{2,}/)]
    }
    const [head, row] = await columns('pods')
    expect([head, row?.slice(0, 4)]).toEqual([
      ['NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE'],
      ['web-0', '1/1', 'Running', '0'],
    ])
    await kubectl('-n', 'shop', 'annotate', 'pod', 'web-0', 'embedded.meshstep.dev/pod=crash-loop')
    expect((await columns('pods'))[1]?.slice(1, 3)).toEqual(['0/1', 'CrashLoopBackOff'])
    expect((await columns('pods', '-o', 'wide'))[0]?.slice(-2)).toEqual(['IP', 'NODE'])
    await kubectl('-n', 'shop', 'annotate', 'pod', 'web-0', 'embedded.meshstep.dev/pod-')
  })

  test('get --watch sees what happens', async () => {
    const watch = spawn(
      'kubectl',
      ['--server', server.url, '-n', 'shop', 'get', 'configmaps', '-w', '--output-watch-events'],
      { env: environment() },
    )
    let seen = ''
    const until = async (text: RegExp): Promise<void> => {
      while (!text.test(seen)) {
        const [chunk] = await once(watch.stdout, 'data')
        seen += String(chunk)
      }
    }
    await until(/ADDED\s+settings/)
    api.handle({ method: 'DELETE', path: '/api/v1/namespaces/shop/configmaps/settings', headers: {} })
    await until(/DELETED\s+settings/)
    watch.kill()
    expect(seen.match(/ADDED|MODIFIED|DELETED/g)).toEqual(['ADDED', 'DELETED'])
  })

  test('a rollout is finished, api-resources are listed, and a namespace goes with all it has', async () => {
    expect(await kubectl('-n', 'shop', 'rollout', 'status', 'statefulset/web', '--timeout=5s')).toMatch(/complete/)
    expect(await kubectl('api-resources', '--api-group=security.istio.io', '-o', 'name')).toBe(
      'authorizationpolicies.security.istio.io\npeerauthentications.security.istio.io',
    )
    await kubectl('delete', 'namespace', 'shop')
    expect(api.objects().map(({ metadata }) => metadata.name)).toEqual(['default'])
  })
})
