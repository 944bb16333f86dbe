import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

const PROGRAM = 'victoria-metrics'

/** Tells if there is a VictoriaMetrics that takes OTLP: 1.92 or later, which is not in Debian 12. */
export const hasVictoriaMetrics = ((): boolean => {
  const { stdout, stderr } = spawnSync(PROGRAM, ['-help'], { encoding: 'utf8' })
  return `${stdout}${stderr}`.includes('-opentelemetry.')
})()

type Series = { readonly labels: Record<string, string>; readonly value: number }

type Answer = { data: { result: { metric: Record<string, string>; value: [number, string] }[] } }

/** A real database of metrics, gone after the test. */
export const startVictoriaMetrics = async (): Promise<{ url: string; series(name: string): Promise<Series[]> }> => {
  const directory = await mkdtemp(join(tmpdir(), 'meshstep-metrics-'))
  const address = `127.0.0.1:${await freePort()}`
  const parameters = [`-storageDataPath=${directory}`, `-httpListenAddr=${address}`, '-loggerLevel=ERROR']
  const child = spawn(PROGRAM, [...parameters, '-search.latencyOffset=1ms'], { stdio: 'ignore' })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
    await rm(directory, { recursive: true, force: true })
  })
  const url = `http://${address}`
  while (!(await fetch(`${url}/health`).catch(() => undefined))?.ok) await sleep(50)
  return {
    url,
    series: async (name) => {
      const query = new URLSearchParams({ query: `{__name__="${name}"}`, nocache: '1' })
      const { data } = (await (await fetch(`${url}/api/v1/query?${query}`)).json()) as Answer
      return data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }))
    },
  }
}

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address ? address.port : 0
}
