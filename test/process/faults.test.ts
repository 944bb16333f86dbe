import { writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { event, MESH_LABELS, meshRelation, service, workload } from '../helpers/world.ts'
import { createRandom } from '../schedules/random.ts'
import { configFor, ensureBundle, post, serve, startCluster, temporaryDirectory } from './helpers.ts'

beforeAll(ensureBundle)

/** What becomes of the answers on a connection. */
type Fault = 'none' | 'reset' | 'cut short' | 'a page' | 'busy'

const PAGES: Partial<Record<Fault, string>> = {
  'a page': 'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\nconnection: close\r\n\r\n<html>',
  busy: 'HTTP/1.1 429 Too Many Requests\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n',
}

const pass = (client: Socket, port: number, fault: Fault): void => {
  const server = connect(port, '127.0.0.1')
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const)
    one.on('error', () => other.destroy()).on('close', () => other.destroy())
  client.on('data', (request) => {
    const page = PAGES[fault]
    if (page === undefined) server.write(request)
    else client.end(page)
  })
  server.on('data', (answer) => {
    if (fault === 'none') client.write(answer)
    else if (fault === 'cut short') client.end(answer.subarray(0, answer.length / 2))
    else client.resetAndDestroy()
  })
}

/** A proxy before the API server that does something else on every connection, as the seed has it. */
const startProxy = async (to: string, seed: number): Promise<string> => {
  const random = createRandom(seed)
  const faults: readonly Fault[] = ['none', 'none', 'none', 'reset', 'cut short', 'a page', 'busy']
  const sockets = new Set<Socket>()
  const proxy = createServer((client) => {
    sockets.add(client.on('close', () => sockets.delete(client)))
    pass(client, Number(new URL(to).port), random.pick(faults))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => proxy.once('listening', resolve))
  onTestFinished(() => {
    proxy.close()
    for (const socket of sockets) socket.destroy()
  })
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}

const SEEDS = [1, 2, 3]

test.each(SEEDS)(
  'behind a proxy that resets, cuts and lies, killed and redelivered, all join in the end (seed %i)',
  async (seed) => {
    const names = ['web', 'db', 'api', 'cache']
    const cluster = await startCluster(names.flatMap((name) => [workload('StatefulSet', name), service(name)]))
    const folder = await temporaryDirectory()
    const kubeconfig = join(folder, 'config')
    await writeFile(kubeconfig, JSON.stringify(configFor({ server: await startProxy(cluster.url, seed) })))
    const random = createRandom(seed)
    let server = await serve({ environment: { KUBECONFIG: kubeconfig } })
    const letters = names.map((application) => event('relation-changed', { application, ...meshRelation() }))
    const deliver = async (letter: (typeof letters)[number]): Promise<void> => {
      const answered = post(server.url, letter).then(
        ({ status }) => status,
        () => 0,
      )
      if (random.chance(0.3)) {
        await Promise.race([answered, new Promise((resolve) => setImmediate(resolve))])
        await server.end('SIGKILL')
        server = await serve({ environment: { KUBECONFIG: kubeconfig } })
      }
      const status = await answered
      expect([0, 200, 503]).toContain(status)
      // as a broker does
      if (status !== 200) await deliver(letter)
    }
    for (const letter of letters) await deliver(letter)
    for (const name of names)
      expect(cluster.labels(name)).toMatchObject({ template: MESH_LABELS, service: MESH_LABELS })
    expect(server.errors()).toBe('')
  },
)
