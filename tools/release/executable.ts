import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { unpackTar } from 'modern-tar'
import { findFile, LIBRARIES, OWN_FILES } from '../../src/serve/page/assets.ts'
import { bundleExecutable } from '../bundle/programs.ts'
import type { Files } from './archive.ts'

const run = promisify(execFile)

/** Platforms of executables, and the names of their machines in Kubernetes. On macOS an executable would have to be signed. */
export const PLATFORMS = [
  { platform: 'linux-x64', arch: 'amd64' },
  { platform: 'linux-arm64', arch: 'arm64' },
] as const

/** A Node as npm packs it, and as Node's documentation puts a blob into it. */
const NODE = 'package/bin/node'
const POSTJECT = 'postject@1.0.0-alpha.6'
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

/** Downloads the Node of a platform that the lock file names, and writes the program into the folder. Rejects for other bytes. */
const writeNode = async (platform: string, folder: string, program: string): Promise<Files> => {
  const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8'))
  const { version, integrity } = packages[`node_modules/node-${platform}`]
  const name = `node-${platform}@${version}`
  await run('npm', ['pack', name, '--loglevel', 'error', '--prefer-offline', '--pack-destination', folder])
  const bytes = await readFile(join(folder, `node-${platform}-${version}.tgz`))
  if (integrity !== `sha512-${createHash('sha512').update(bytes).digest('base64')}`)
    throw new Error(`${name} is not what package-lock.json has`)
  const entries = await unpackTar(gunzipSync(bytes), { filter: (one) => [NODE, 'package/LICENSE'].includes(one.name) })
  const files = Object.fromEntries(entries.map(({ header, data = new Uint8Array() }) => [header.name, data]))
  await writeFile(join(folder, program), files[NODE] ?? '', { mode: 0o755 })
  return files
}

/**
 * Makes the command one file with Node inside, and answers with it and with Node's licence: https://nodejs.org/api/single-executable-applications.html.
 * A blob is made by a Node of the version that it is for. Rejects without npm's registry, and on another machine than these.
 */
export const createExecutable = async (platform: (typeof PLATFORMS)[number]['platform']): Promise<Files> => {
  const host = `${process.platform}-${process.arch}`
  if (PLATFORMS.every((one) => one.platform !== host)) throw new Error(`executables are made on Linux, not on ${host}`)
  const folder = await mkdtemp(join(tmpdir(), 'meshstep-executable-'))
  try {
    const { 'package/LICENSE': license = '' } = await writeNode(platform, folder, 'meshstep')
    await writeNode(host, folder, 'node')
    await bundleExecutable(join(folder, 'meshstep.cjs'))
    const names = [...OWN_FILES, ...Object.keys(LIBRARIES)]
    const config = {
      ...{ main: 'meshstep.cjs', output: 'blob', disableExperimentalSEAWarning: true },
      assets: Object.fromEntries(names.map((name) => [name, fileURLToPath(findFile(name))])),
    }
    await writeFile(join(folder, 'sea.json'), JSON.stringify(config))
    await run(join(folder, 'node'), ['--experimental-sea-config', 'sea.json'], { cwd: folder })
    await run('npx', ['--yes', POSTJECT, 'meshstep', 'NODE_SEA_BLOB', 'blob', '--sentinel-fuse', FUSE], { cwd: folder })
    return { meshstep: await readFile(join(folder, 'meshstep')), 'LICENSE-node': license }
  } finally {
    await rm(folder, { recursive: true })
  }
}
