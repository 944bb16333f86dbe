import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { here, type Program } from './ground.ts'

const run = promisify(execFile)

/** Programs of others, and of nobody, to compare with. */
export type Peers = {
  readonly bare: Program
  readonly floor: Program
  readonly hono: Program
  /** The floor with the official client. */
  readonly client: Program
  /** Installs a framework for functions: without and with a compile cache. Resolves to none when npm cannot. */
  frameworks(): Promise<readonly Program[]>
  /** What meshstep replaces, where it can be imported. */
  readonly original: readonly Program[]
}

const FAAS = 'faas-js-runtime'

/** Says what a table lacks. */
export const NO_FRAMEWORK = `${FAAS} is not measured: npm cannot install it here.`
export const NO_ORIGINAL =
  'The charm library is not measured: no Python here can import it, or none is named by --python.'

/** `directory` is a folder for what is built, `python` the Python that may have the original. */
export const createPeers = async (directory: string, python: string): Promise<Peers> => {
  const environment = { NODE_COMPILE_CACHE: join(directory, 'cache') }
  const { hono, client } = await bundled(directory)
  const original = {
    name: 'the charm library, in Python',
    command: python,
    entry: here('peers/original.py'),
    application: 'original',
  }
  return {
    bare: { name: 'bare node:http', entry: here('peers/bare.mjs'), environment },
    floor: { name: 'node:http and the reads of a no-op (floor)', entry: here('peers/floor.mjs'), environment },
    hono: { name: 'Hono and its adaptor', entry: hono, environment },
    client: { name: 'the floor with client-node', entry: client, environment },
    frameworks: async () => {
      const runtime = await installed(directory)
      if (runtime === undefined) return []
      const entry = here('peers/faas.cjs')
      return [
        { name: `${FAAS} 4, an empty function`, entry, environment: { RUNTIME: runtime } },
        { name: 'the same with a compile cache', entry, environment: { RUNTIME: runtime, ...environment } },
      ]
    },
    original: (await isImportable(python)) ? [original] : [],
  }
}

/** Small as ours is, and as Node's own modules are anyway. */
const bundled = async (directory: string): Promise<{ hono: string; client: string }> => {
  const [hono, client] = ['hono', 'client'].map((name) => join(directory, `${name}.mjs`)) as [string, string]
  await build({
    entryPoints: [here('peers/hono.ts'), here('peers/client.ts')],
    outdir: directory,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    minify: true,
    // some dependencies of the official client are CommonJS, and require Node's own modules
    banner: { js: `import{createRequire}from'node:module';const require=createRequire(import.meta.url);` },
  })
  return { hono, client }
}

const SECOND = 1_000

/** Where the framework is, or undefined when the registry cannot be reached. It is too much for a dependency. */
const installed = async (directory: string): Promise<string | undefined> => {
  const folder = join(directory, 'faas')
  await mkdir(folder)
  const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--fetch-retries=0']
  return await run('npm', ['install', '--prefix', folder, ...flags, `${FAAS}@4`], { timeout: 60 * SECOND }).then(
    () => join(folder, 'node_modules', FAAS),
    () => undefined,
  )
}

const isImportable = (python: string): Promise<boolean> =>
  run(python, ['-c', 'import canonical_service_mesh.utils.istio, lightkube']).then(
    () => true,
    () => false,
  )
