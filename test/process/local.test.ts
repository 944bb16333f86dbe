import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock as clock } from '../../src/platform/base/clock.ts'
import { createKubernetes } from '../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { createTransport } from '../../src/platform/kubernetes/transport.ts'
import { event, meshRelation } from '../helpers/world.ts'
import { post, serve, until } from './helpers.ts'

const NAMESPACE = 'bookinfo'
const LABELS = { 'istio.io/dataplane-mode': 'ambient' }

test('npm start serves the functions on an embedded cluster, where a document is a relation', async () => {
  const server = await serve({ entry: 'src/local.ts', environment: { EMBEDDED_PORT: '0' } })
  const { url } = await server.logged('embedded Kubernetes API')
  const transport = createTransport({ server: String(url), credentials: async () => ({}) })
  const kubernetes = createKubernetes({ transport, clock, deadline: Number.POSITIVE_INFINITY })
  const templateLabels = async (kind: 'StatefulSet' | 'Deployment', name: string) => {
    const template = (await kubernetes.find({ kind, namespace: NAMESPACE, name }))?.spec?.template as KubernetesObject
    return template.metadata.labels ?? {}
  }
  const isOnMesh = ({ 'istio.io/dataplane-mode': mode }: Record<string, string>) => mode === 'ambient'

  const details = { 'app.kubernetes.io/name': 'details' }
  expect(await templateLabels('StatefulSet', 'details')).toEqual(details)
  const productpage = { 'app.kubernetes.io/name': 'productpage' }
  expect(await templateLabels('Deployment', 'productpage')).toEqual(productpage)

  const data = { ...meshRelation(LABELS), namespace: NAMESPACE, application: 'details' }
  const response = await post(server.url, event('relation-changed', data))
  expect([response.status, await response.json()]).toMatchObject([200, { status: 'changed' }])
  expect(await templateLabels('StatefulSet', 'details')).toEqual({ ...details, ...LABELS })
  const pods = await kubernetes.list('Pod', NAMESPACE, 'app.kubernetes.io/name=details')
  expect(pods.map(({ metadata: { labels = {} } }) => isOnMesh(labels))).toEqual([true])

  const { relation, remote } = meshRelation(LABELS)
  const document = await kubernetes.create({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'productpage-mesh', namespace: NAMESPACE, labels: { 'meshstep.dev/kind': 'relation' } },
    data: { application: 'productpage', relation: JSON.stringify(relation), remote: JSON.stringify(remote) },
  })
  await until('productpage joins', async () => isOnMesh(await templateLabels('Deployment', 'productpage')))
  expect(await templateLabels('Deployment', 'productpage')).toEqual({ ...productpage, ...LABELS })

  await kubernetes.remove(document)
  await until('productpage leaves', async () => !isOnMesh(await templateLabels('Deployment', 'productpage')))
  expect(await templateLabels('Deployment', 'productpage')).toEqual(productpage)
  expect(await templateLabels('StatefulSet', 'details')).toEqual({ ...details, ...LABELS })

  transport.close()
  expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(server.errors()).toBe('')
  expect(server.lines.filter(({ level }) => level > 30)).toEqual([])
})

const hasScript = spawnSync('script', ['--version']).stdout?.includes('util-linux') ?? false

test.skipIf(!hasScript)(
  'npm start at a terminal names the page, has a line of each step, and ends with Ctrl+C (skipped without script)',
  async () => {
    const child = spawn('script', ['-qefc', `exec '${process.execPath}' src/local.ts`, '/dev/null'], {
      env: { PATH: process.env.PATH, PORT: '0', EMBEDDED_PORT: '0' },
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    let shown = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      shown += chunk
    })
    const page = await until('the page is named', () => /The page: +(\S+)/.exec(shown)?.[1])
    const answer = await fetch(page, { headers: { accept: 'text/html' } })
    expect(answer.headers.get('content-type')).toContain('text/html')
    const data = { ...meshRelation(LABELS), namespace: NAMESPACE, application: 'details' }
    expect((await post(page, event('relation-changed', data))).status).toBe(200)
    await until('the step has a line', () => /^\S+ +details +changed +relation-changed/m.test(shown))
    expect(shown).not.toContain('{"')
    child.stdin.write('\x03')
    expect(await once(child, 'close')).toEqual([0, null])
  },
)
