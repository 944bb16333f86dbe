import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nginxProgram } from '../features/coordinated-workers/nginx/nginx-program.ts'
import { hasPrometheus } from '../features/coordinated-workers/nginx/prometheus-program.ts'
import { chromiumProgram } from '../serve/page/chromium.ts'
import { hasVictoriaMetrics } from './victoria-metrics.ts'

const runs = (command: string, ...words: string[]): boolean => spawnSync(command, words).status === 0

/** What is missing here, and what is therefore not tested. */
const skipped = (): string[] => [
  ...(runs('kubectl', 'kustomize', '--help')
    ? []
    : ['kubectl against the embedded API, the manifests: no kubectl of 1.22 or later']),
  ...(runs('openssl', 'version') ? [] : ['TLS to the API server, and of telemetry: no openssl']),
  ...(runs('python3', '--version') ? [] : ['hooks of charms: no python3']),
  ...(hasPrometheus ? [] : ['what Prometheus takes and scrapes: no prometheus and promtool']),
  ...(hasVictoriaMetrics ? [] : ['metrics in a real database: no victoria-metrics of 1.92 or later']),
  ...(chromiumProgram === undefined ? ['the page in a browser: no chromium'] : []),
  ...(nginxProgram === undefined ? ['telemetry through the configured nginx: no nginx'] : []),
]

/** Says, before the tests run, which of them cannot. */
export const setup = (): void => {
  for (const what of skipped()) process.stdout.write(`skipped: ${what}\n`)
}

/** Removes what tests of processes have made for all of them. */
export const teardown = (): void => {
  for (const made of [`${process.pid}.blob`, `programs-${process.pid}`])
    rmSync(join(tmpdir(), `meshstep-${made}`), { recursive: true, force: true })
}
