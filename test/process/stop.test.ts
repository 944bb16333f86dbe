import { once } from 'node:events'
import * as http from 'node:http'
import { createConnection, type Socket } from 'node:net'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { writeEvent } from '../../src/platform/cloudevents/cloud-event.ts'
import { APPLICATION, event, MESH_LABELS, meshRelation } from '../helpers/world.ts'
import { ensureBundle, hold, post, serve, startCluster, until } from './helpers.ts'

beforeAll(ensureBundle)

const isWrite = (call: string): boolean => !call.startsWith('GET')

/** The status of one request on a connection of its own; 0 when it is refused. */
const ask = (url: string, method: 'GET' | 'POST', agent: http.Agent | false = false): Promise<number> =>
  new Promise((resolve) => {
    const request = http.request(url, { method, agent }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    request.on('error', () => resolve(0)).end()
  })

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', (signal) => {
  test('a stop in mid-step: the event in flight is finished and answered, others are turned away, the process ends with 0', async () => {
    const cluster = await startCluster()
    const server = await serve({ environment: cluster.environment })
    const { held, release } = hold(cluster, isWrite)
    const answered = post(server.url, event('relation-changed', meshRelation()))
    await held
    const ended = server.end(signal)
    await until('no event is taken', async () => [0, 503].includes(await ask(`${server.url}/health/readiness`, 'GET')))
    expect([0, 503]).toContain(await ask(server.url, 'POST'))
    expect(server.child.exitCode).toBeNull()
    release()
    const response = await answered
    expect([response.status, await response.json()]).toMatchObject([200, { status: 'changed' }])
    expect(await ended).toEqual({ code: 0, signal: null })
    expect(cluster.labels(APPLICATION)).toMatchObject({ template: MESH_LABELS, service: MESH_LABELS })
  })

  test('a stop after an answer: it is noted first what was sent with it, which the answer did not wait for', async () => {
    const cluster = await startCluster()
    const server = await serve({ environment: cluster.environment })
    let saves = 0
    const isNote = (call: string) => /^PUT .*configmaps/.test(call) && ++saves === 2
    const { held, release } = hold(cluster, isNote)
    expect((await post(server.url, event('relation-changed', meshRelation()))).status).toBe(200)
    await held
    const ended = server.end(signal)
    await until('no event is taken', async () => [0, 503].includes(await ask(`${server.url}/health/readiness`, 'GET')))
    expect(server.child.exitCode).toBeNull()
    release()
    expect(await ended).toEqual({ code: 0, signal: null })
    expect(JSON.stringify(cluster.object('ConfigMap', `juju-service-mesh-${APPLICATION}-labels`))).toMatch(
      /sent\\*":\\*"\w/,
    )
  })

  test('a stop with a connection that is idle and kept alive: the process ends at once, with 0', async () => {
    const cluster = await startCluster()
    const server = await serve({ environment: cluster.environment })
    const agent = new http.Agent({ keepAlive: true })
    expect(await ask(`${server.url}/health/liveness`, 'GET', agent)).toBe(200)
    expect(Object.values(agent.freeSockets).flat()).toHaveLength(1)
    void server.end(signal)
    await until('the process ends', () => server.child.exitCode !== null, 3_000)
    expect(await server.ended).toEqual({ code: 0, signal: null })
    agent.destroy()
  })
})

describe('a connection from before SIGTERM', () => {
  /** A connection that the process has accepted, with what was written to it so far. */
  const connect = async (url: string, text: string): Promise<{ socket: Socket; received(): string }> => {
    let received = ''
    const socket = createConnection({ host: '127.0.0.1', port: Number(new URL(url).port) })
    onTestFinished(() => void socket.destroy())
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      received += chunk
    })
    await once(socket, 'connect')
    socket.write(text)
    // connections are accepted in their order
    expect(await ask(`${url}/health/liveness`, 'GET')).toBe(200)
    return { socket, received: () => received }
  }

  test('a connection from before SIGTERM on which an event comes late takes it, and is closed with the answer', async () => {
    const cluster = await startCluster()
    const server = await serve({ environment: cluster.environment })
    const { held, release } = hold(cluster, isWrite)
    const answered = post(server.url, event('relation-changed', meshRelation()))
    await held
    const { socket, received } = await connect(server.url, 'POST / HTTP/1.1\r\n')
    const ended = server.end('SIGTERM')
    await until('no event is taken', async () => [0, 503].includes(await ask(`${server.url}/health/readiness`, 'GET')))
    const { headers, body } = writeEvent(event('relation-changed', { ...meshRelation(), application: 'db' }))
    const lines = Object.entries({ ...headers, host: 'localhost', 'content-length': Buffer.byteLength(body) })
    socket.write(`${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`)
    release()
    await once(socket, 'close')
    expect(received()).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*connection: close\r\n/i)
    const response = await answered
    expect([response.status, response.headers.get('connection')]).toEqual([200, 'close'])
    expect(await ended).toEqual({ code: 0, signal: null })
  })

  test('a connection from before SIGTERM on which nothing was ever asked does not keep the process', async () => {
    const cluster = await startCluster()
    const server = await serve({ environment: cluster.environment })
    await connect(server.url, '')
    void server.end('SIGTERM')
    await until('the process ends', () => server.child.exitCode !== null, 3_000)
    expect(await server.ended).toEqual({ code: 0, signal: null })
  })
})
