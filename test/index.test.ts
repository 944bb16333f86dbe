import { expect, onTestFinished, test, vi } from 'vitest'
import { createApp, functions } from '../src/index.ts'
import { startCluster } from './process/helpers.ts'

const config = { labels: { team: 'blue' } }
const event = (name: string, data: object) => ({
  method: 'POST',
  headers: { 'content-type': 'application/cloudevents+json' },
  body: JSON.stringify({
    specversion: '1.0',
    id: name,
    source: '/me',
    type: `dev.meshstep.${name}.v1`,
    subject: 'shop/web',
    data,
  }),
})

test('an app without a cluster is refused, with the way to name one', async () => {
  await expect(createApp()).rejects.toThrow('this is not a pod (KUBERNETES_SERVICE_HOST is not set): name a kubeconfig')
  vi.stubEnv('KUBERNETES_SERVICE_HOST', '10.0.0.1')
  onTestFinished(() => void vi.unstubAllEnvs())
  await expect(createApp()).rejects.toThrow('KUBERNETES_SERVICE_PORT is not, where a pod has both: name a kubeconfig')
  await expect(createApp({ kubeconfig: '/nowhere/config' })).rejects.toThrow('/nowhere/config, which does not exist')
})

test('an option that would be taken for none is refused, and an empty audience lets nobody in', async () => {
  const { KUBECONFIG: kubeconfig = '' } = (await startCluster()).environment
  await expect(createApp({ kubeconfig, audience: '' })).rejects.toThrow('audience: expected a name, got an empty one')
  await expect(createApp({ kubeconfig, sink: 'broker' })).rejects.toThrow('sink: expected a URL, got broker')
  await expect(createApp({ kubeconfig, functions: [{ name: 'relate' }] })).rejects.toThrow('relate: no such function')
})

test('an app takes the events of its functions alone, and none once it is closed', async () => {
  const cluster = await startCluster()
  const { KUBECONFIG: kubeconfig = '' } = cluster.environment
  const app = await createApp({ kubeconfig, functions: functions.filter(({ name }) => name === 'config-changed') })
  const post = (name: string, data: object) => app.fetch(new Request('http://app/', event(name, data)))
  expect((await post('resync', {})).status).toBe(400)
  const answer = await post('config-changed', { config })
  expect([answer.status, await answer.json()]).toMatchObject([200, { status: 'changed' }])
  expect(cluster.labels('web').service).toMatchObject({ team: 'blue' })
  app.close()
  expect((await post('config-changed', { config })).status).toBe(503)
})

test('an app with an audience takes no event without a token', async () => {
  const { KUBECONFIG: kubeconfig = '' } = (await startCluster()).environment
  const app = await createApp({ kubeconfig, audience: 'meshstep' })
  expect((await app.fetch(new Request('http://app/', event('config-changed', { config })))).status).toBe(401)
  app.close()
})

test('each function has its type, and the schema of its data', () => {
  expect(functions.map(({ name }) => name)).toContain('relation-changed')
  for (const { name, type, schema } of functions)
    expect([type, schema]).toEqual([`dev.meshstep.${name}.v1`, expect.objectContaining({ type: 'object' })])
})
