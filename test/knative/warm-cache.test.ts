import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

const script = fileURLToPath(new URL('../../knative/warm-cache.mjs', import.meta.url))
const bundle = fileURLToPath(new URL('../../dist/server.mjs', import.meta.url))

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'meshstep-warm-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const freePort = async (): Promise<string> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return `${typeof address === 'object' && address?.port}`
}

const warm = async (server: string, seconds: number): Promise<{ code: unknown; output: string; cached: string[] }> => {
  const cache = join(folder, 'cache')
  const child = spawn(process.execPath, [script, server, `${seconds}`], {
    env: { PORT: await freePort(), NODE_COMPILE_CACHE: cache },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  const [code] = await once(child, 'close')
  return { code, output, cached: existsSync(cache) ? readdirSync(cache) : [] }
}

/** A server that writes down the events it gets, and does on SIGTERM what it is told. */
const standIn = (onSigterm: string, start = 'Number(process.env.PORT)'): string => {
  const file = join(folder, 'server.mjs')
  writeFileSync(
    file,
    `import { appendFileSync } from 'node:fs'
     import { createServer } from 'node:http'
     const server = createServer(async (request, response) => {
       if (request.method === 'POST') {
         const body = (await request.toArray()).join('')
         const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env
         appendFileSync(${JSON.stringify(join(folder, 'events'))}, JSON.stringify({ headers: request.headers, body, host, port }))
       }
       response.writeHead(request.method === 'POST' ? 503 : 200).end()
     })
     process.on('SIGTERM', () => { ${onSigterm} })
     server.listen(${start}, '127.0.0.1')`,
  )
  return file
}

test('leaves the cache of a server that answered one event and exited', async () => {
  const { code, output, cached } = await warm(standIn('process.exit(0)'), 30)
  expect({ code, output }).toEqual({ code: 0, output: '' })
  expect(cached).toHaveLength(1)
  const event = JSON.parse(readFileSync(join(folder, 'events'), 'utf8'))
  expect(event).toMatchObject({
    headers: { 'ce-specversion': '1.0', 'ce-type': 'dev.meshstep.pod-restarted.v1', 'ce-subject': 'warm/cache' },
    host: '127.0.0.1',
    port: '1',
  })
  expect(JSON.parse(event.body)).toMatchObject({ namespace: 'warm', application: 'cache' })
})

test.each([
  ['ignores SIGTERM', () => standIn(''), 'on SIGTERM, got nothing in time'],
  ['exits with an error', () => standIn('process.exit(3)'), 'on SIGTERM, got 3'],
  ['dies of SIGTERM', () => standIn('process.kill(process.pid, "SIGKILL")'), 'on SIGTERM, got SIGKILL'],
  ['does not start', () => standIn('', '(() => { process.exit(4) })()'), 'before it was ready, with 4'],
  ['never listens', () => standIn('', '0'), 'TimeoutError'],
])('fails when the server %s', async (_, server, message) => {
  const { code, output } = await warm(server(), 3)
  expect(code).toBe(1)
  expect(output).toContain(message)
})

const built = existsSync(bundle)
test.skipIf(!built)(`warms the server's own bundle ${built ? '' : '(needs npm run build)'}`, async () => {
  const { code, output, cached } = await warm(bundle, 50)
  expect({ code, output }).toEqual({ code: 0, output: '' })
  expect(cached).toHaveLength(1)
})
