// Runs the server until it has answered one event, then stops it: at exit Node writes what it compiled to NODE_COMPILE_CACHE.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

const [server = 'server.mjs', giveUpSeconds = '60'] = process.argv.slice(2)
const { NODE_COMPILE_CACHE: cache, PORT = '8080' } = process.env
const url = `http://127.0.0.1:${PORT}`
const deadline = AbortSignal.timeout(Number(giveUpSeconds) * 1000)

// A valid event, so that reading and answering one is compiled too. No API server is there: any answer will do.
const event = {
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    'ce-specversion': '1.0',
    'ce-id': 'warm-cache',
    'ce-source': '/warm-cache',
    'ce-type': 'dev.meshstep.pod-restarted.v1',
    'ce-subject': 'warm/cache',
  },
  body: JSON.stringify({ namespace: 'warm', application: 'cache', pod: { name: 'cache-0', uid: 'warm-cache' } }),
}

const answers = (path, init) =>
  fetch(url + path, { ...init, signal: deadline }).then(
    (response) => response,
    () => undefined,
  )

const ready = async (child) => {
  while (child.exitCode === null && child.signalCode === null) {
    deadline.throwIfAborted()
    if ((await answers('/health/readiness'))?.ok) return
    await sleep(20)
  }
  throw new Error(`the server ended before it was ready, with ${child.exitCode ?? child.signalCode}`)
}

const run = async (child, exited) => {
  await ready(child)
  if (!(await answers('/', event))) throw new Error('the server did not answer the event')
  child.kill('SIGTERM')
  const code = await Promise.race([exited, once(deadline, 'abort').then(() => 'nothing in time')])
  if (code !== 0) throw new Error(`expected the server to exit with 0 on SIGTERM, got ${code}`)
}

if (!cache) throw new Error('expected NODE_COMPILE_CACHE to name a folder, got nothing')
const child = spawn(process.execPath, [server], {
  stdio: 'inherit',
  env: { ...process.env, PORT, KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '1' },
})
const exited = once(child, 'exit').then(([code, signal]) => code ?? signal)
await run(child, exited).finally(() => child.kill('SIGKILL'))

const entries = await readdir(cache, { recursive: true, withFileTypes: true })
if (!entries.some((entry) => entry.isFile())) throw new Error(`expected a compile cache in ${cache}, got none`)
