import { once } from 'node:events'
import * as http from 'node:http'
import { createConnection } from 'node:net'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { agree } from '../../src/cli/consent.ts'
import { writeEvent } from '../../src/platform/cloudevents/cloud-event.ts'
import { event, meshRelation } from '../helpers/world.ts'
import { ensureBundle, ensurePrograms, LOCAL, post, serve, start, startCluster } from './helpers.ts'

const ENTRY = LOCAL
const EMBEDDED = { EMBEDDED_PORT: '0' }

/** Whether something takes connections at an address. */
const isOpen = async (host: string, port: number): Promise<boolean> => {
  const socket = createConnection({ host, port })
  onTestFinished(() => void socket.destroy())
  return await once(socket, 'connect').then(
    () => true,
    () => false,
  )
}

/** The status of a request with a header that `fetch` does not let anybody set. */
const ask = (url: string, headers: Record<string, string>): Promise<number> =>
  new Promise((resolve, reject) => {
    const request = http.request(url, { headers, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    request.on('error', reject).end()
  })

describe('npm start', () => {
  beforeAll(ensurePrograms)

  test('npm start is for this machine alone, and for no page that DNS leads here', async () => {
    const server = await serve({ entry: ENTRY, environment: EMBEDDED })
    expect([await isOpen('127.0.0.1', server.port), await isOpen('127.0.0.2', server.port)]).toEqual([true, false])
    const { url } = await server.logged('embedded Kubernetes API')
    for (const asked of [`${server.url}/applications`, `${url}/api/v1/namespaces`]) {
      expect([asked, await ask(asked, { host: 'attacker.example' })]).toEqual([asked, 403])
      expect([asked, await ask(asked, { origin: 'http://attacker.example' })]).toEqual([asked, 403])
      expect([asked, await ask(asked, { host: 'localhost' })]).toEqual([asked, 200])
    }
  })

  test('npm start takes events of other machines without a token only when that is said', async () => {
    const names = ['--host', '0.0.0.0']
    const refused = start({ entry: ENTRY, names, environment: EMBEDDED })
    expect(await refused.ended).toEqual({ code: 1, signal: null })
    expect(refused.errors()).toMatch(/^--host 0\.0\.0\.0 .*EVENT_AUDIENCE.*--without-authentication\n$/)
    const taken = await serve({ entry: ENTRY, names: [...names, '--without-authentication'], environment: EMBEDDED })
    expect(await isOpen('127.0.0.2', taken.port)).toBe(true)
  })

  test('npm start with a kubeconfig and nobody to ask does not start, and names the cluster', async () => {
    const { environment, url, calls } = await startCluster()
    const { ended, errors } = start({ entry: ENTRY, environment })
    expect(await ended).toEqual({ code: 1, signal: null })
    expect(errors()).toBe(
      `Events will act on the cluster there at ${url}, context here of ${environment.KUBECONFIG}, with its rights. There is no terminal to ask: agree with --yes, or unset KUBECONFIG to get an example cluster.\n`,
    )
    expect(calls).toEqual([])
  })

  test('npm start with a kubeconfig and --yes says which cluster, and takes events of this machine for it', async () => {
    const { environment, url } = await startCluster()
    const server = await serve({ entry: ENTRY, names: ['--yes'], environment })
    expect((await server.logged('acts on a cluster')).cluster).toContain(`at ${url}, context here of`)
    expect((await post(server.url, event('relation-changed', meshRelation()))).status).toBe(200)
    expect(await isOpen('127.0.0.2', server.port)).toBe(false)
  })
})

describe('a person at a terminal', () => {
  test.each(['y', 'yes', ' YES '])('a person at a terminal agrees with %s', async (answer) => {
    const questions: string[] = []
    await agree('the cluster a', async (question) => {
      questions.push(question)
      return answer
    })
    expect(questions).toEqual(['Events will act on the cluster a, with its rights. Take events? [y/N] '])
  })

  test.each(['', 'n', 'no', 'yesterday'])('a person at a terminal does not agree with %j', async (answer) => {
    await expect(agree('the cluster a', async () => answer)).rejects.toThrow(/^Not started/)
  })
})

describe('a flood of bodies without a valid token', () => {
  beforeAll(ensureBundle)

  test('a flood of bodies without a valid token from 24 connections, each with a token of its own, leaves 40 valid events served', async () => {
    const cluster = await startCluster(undefined, {
      ...{ tokens: { good: 'somebody' }, audiences: ['meshstep'], allows: () => true },
    })
    const server = await serve({ environment: { ...cluster.environment, EVENT_AUDIENCE: 'meshstep' } })
    const body = JSON.stringify({ config: { note: 'x'.repeat(400_000) } })
    const { headers } = writeEvent(event('config-changed', {}))
    const good = async (): Promise<number> => {
      const sent = writeEvent(event('relation-changed', meshRelation()))
      const headers = { ...sent.headers, authorization: 'Bearer good' }
      const response = await fetch(server.url, { method: 'POST', headers, body: sent.body })
      await response.text()
      return response.status
    }
    expect(await good()).toBe(200)
    let isOver = false
    let tokens = 0
    const refusals = new Set<number>()
    const flood = async (): Promise<void> => {
      while (!isOver) {
        tokens += 1
        const bad = { ...headers, authorization: `Bearer bad-${tokens}` }
        const response = await fetch(server.url, { method: 'POST', headers: bad, body })
        await response.text()
        refusals.add(response.status)
      }
    }
    const flooding = Promise.all(Array.from({ length: 24 }, flood))
    const statuses: number[] = []
    for (let index = 0; index < 40; index += 1) statuses.push(await good())
    isOver = true
    await flooding
    expect(statuses).toEqual(statuses.map(() => 200))
    expect([...refusals].toSorted()).toEqual([401, 429])
  })
})
