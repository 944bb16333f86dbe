import { execFile } from 'node:child_process'
import { copyFile, cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'

const run = promisify(execFile)

/** Compiles what the package exports and its command; dependencies stay imports, for npm to find. */
const compile = (folder: string) =>
  build({
    entryPoints: { index: 'src/index.ts', meshstep: 'src/cli/main.ts' },
    outdir: folder,
    bundle: true,
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    packages: 'external',
    platform: 'node',
    target: 'node24',
    format: 'esm',
    logLevel: 'warning',
    banner: {
      js: `if(parseInt(process.versions.node)<24)throw new Error('meshstep needs Node 24 or later, this is '+process.version+'; its command finds one by itself')`,
    },
  })

/** Declares the types of what the package exports, which import nothing, so that they hold whatever else is installed. */
const declare = async (folder: string): Promise<void> => {
  const directory = await mkdtemp(join(tmpdir(), 'meshstep-types-'))
  await run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.types.json', '--outDir', directory])
  const declarations = join(directory, 'src/index.d.ts')
  if (/^(import|export .* from)/m.test(await readFile(declarations, 'utf8')))
    throw new Error('src/index.ts exports a type that it imports: declare it there, as nobody else can read it')
  await copyFile(declarations, join(folder, 'index.d.ts'))
  await rm(directory, { recursive: true })
}

const folder = 'lib'
await rm(folder, { recursive: true, force: true })
await compile(folder)
// the page looks for them beside its code, which is in a chunk
await cp('src/serve/page/browser', `${folder}/chunks/browser`, { recursive: true })
await declare(folder)
