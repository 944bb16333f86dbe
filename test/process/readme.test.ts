import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { systemClock as clock } from '../../src/clock.ts'
import { createKubernetes } from '../../src/kubernetes/client.ts'
import { createTransport } from '../../src/kubernetes/transport.ts'
import { serve, until } from './helpers.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')

/** The code blocks of the README in one language, in their order. */
const blocks = (language: string): string[] =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, text = '']) => text)

test('the README’s first event gives the answer that stands below it, and its document relates productpage', async () => {
  const server = await serve({ entry: 'src/local.ts', environment: { EMBEDDED_PORT: '0' } })
  const [, media = '', event = ''] = /curl localhost:8080 -H 'content-type: (.*?)' -d '(.*?)'\n/s.exec(readme) ?? []
  const send = async () => {
    const response = await fetch(server.url, { method: 'POST', headers: { 'content-type': media }, body: event })
    return await response.json()
  }
  expect(await send()).toEqual(JSON.parse(blocks('json')[0] ?? ''))
  expect(await send()).toMatchObject({ status: 'unchanged', written: [] })

  const { url } = await server.logged('embedded Kubernetes API')
  const transport = createTransport({ server: String(url), credentials: async () => ({}) })
  const kubernetes = createKubernetes({ transport, clock, deadline: Number.POSITIVE_INFINITY })
  await kubernetes.create(parse(blocks('yaml')[0] ?? ''))
  const service = () => kubernetes.find({ kind: 'Service', namespace: 'bookinfo', name: 'productpage' })
  await until(
    'productpage joins',
    async () => (await service())?.metadata.labels?.['istio.io/dataplane-mode'] === 'ambient',
  )
  transport.close()
  expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null })
})
