import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { systemClock as clock } from '../../src/base/clock.ts'
import { createKubernetes } from '../../src/kubernetes/client.ts'
import type { KubernetesObject } from '../../src/kubernetes/objects.ts'
import { createTransport } from '../../src/kubernetes/transport.ts'
import { serve, until } from './helpers.ts'

const LONGEST_MILLISECONDS = 30_000

const textOf = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')

const CONSOLE = /kubectl .* apply -f (\S+)\n(.*?)\$ curl -s 'localhost:8080(.*?)' \| jq -r \.sentence\n(.*?)\n/s

test('the commands of the README let productpage GET what details lets it, and print what stands there', async () => {
  const [, file = '', printed = '', question = '', sentence = ''] = CONSOLE.exec(textOf('README.md')) ?? []
  const server = await serve({ entry: 'src/local.ts', environment: { EMBEDDED_PORT: '0' } })
  const { url } = await server.logged('embedded Kubernetes API')
  const transport = createTransport({ server: String(url), credentials: async () => ({}) })
  const kubernetes = createKubernetes({ transport, clock, deadline: Number.POSITIVE_INFINITY })
  const ask = async (path: string) => (await (await fetch(`${server.url}${path}`)).json()) as Record<string, unknown>

  const documents = parseAllDocuments(textOf(file)).map((one) => one.toJS() as KubernetesObject)
  expect(documents.map(({ metadata }) => `configmap/${metadata.name} created\n`).join('')).toBe(printed)
  const created = await Promise.all(documents.map((document) => kubernetes.create(document)))
  await until(
    'the question is answered as in the README',
    async () => (await ask(question)).sentence === sentence,
    LONGEST_MILLISECONDS,
  )
  expect((await ask(question.replace('GET', 'POST'))).sentence).toContain('POST is not GET')
  const last = created.at(-1)
  if (last) await kubernetes.remove(last)
  await until(
    'the access ends with its document',
    async () => (await ask(question)).allowed === false,
    LONGEST_MILLISECONDS,
  )

  transport.close()
  expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null })
})
