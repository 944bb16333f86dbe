import { readdir, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, resolve } from 'node:path'
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import { build } from 'esbuild'
import { describe, expect, test } from 'vitest'
import { common, withoutTransport } from '../../tools/bundle/options.ts'
import { describeKubeconfigs } from '../platform/kubernetes/kubeconfig-cases.ts'
import { COMMAND, ensureBundle, ensurePrograms, temporaryDirectory } from './helpers.ts'

await ensureBundle()
await ensurePrograms()

/** Loads a bundle as the server does. */
const load = createRequire(import.meta.url)
const BESIDE_THE_SERVER = resolve('dist/kubeconfig.mjs')
const programs = dirname(COMMAND)
const [inThePackage = ''] = (await readdir(programs)).filter((file) => file.startsWith('kubeconfig-'))

describe('beside the server', () => describeKubeconfigs(load(BESIDE_THE_SERVER)))

describe('in the package', () => describeKubeconfigs(load(resolve(programs, inThePackage))))

/** The official client as a whole was 1.9 MB. */
const MOST_BYTES = 250_000

test('the bundle that reads kubeconfigs stays small', async () => {
  expect((await stat(BESIDE_THE_SERVER)).size).toBeLessThan(MOST_BYTES)
})

describe('what is left out of the bundle that reads kubeconfigs', () => {
  test.each([
    ['./gen/index.js', (config: KubeConfig) => config.makeApiClient(Object), undefined],
    ['undici', (config: KubeConfig) => config.applySecurityAuthentication({} as never), undefined],
    ['hpagent', (config: KubeConfig) => config.applyToHTTPSOptions({}), 'http://127.0.0.1'],
    ['socks-proxy-agent', (config: KubeConfig) => config.applyToHTTPSOptions({}), 'socks5://127.0.0.1'],
  ])('%s says so when it is asked for', async (left, ask, proxyUrl) => {
    const outfile = `${await temporaryDirectory()}/client.mjs`
    const contents = `export { KubeConfig } from '@kubernetes/client-node/dist/config.js'`
    await build({ ...common, stdin: { contents, resolveDir: '.' }, outfile, plugins: [withoutTransport] })
    const config: KubeConfig = new (load(outfile).KubeConfig)()
    const cluster = { name: 'there', server: 'https://127.0.0.1', skipTLSVerify: true, ...(proxyUrl && { proxyUrl }) }
    config.loadFromClusterAndUser(cluster, { name: 'me' })
    await expect((async () => ask(config))()).rejects.toThrow(`${left} is not in this bundle`)
  })
})
