import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { writeMaterials } from './bundle/materials.ts'
import { copyPage, LIBRARY_FILES } from './bundle/page.ts'
import { bundlePrograms } from './bundle/programs.ts'

const run = promisify(execFile)

const LIB = 'lib'

/** Declares the types of what the package exports, which import nothing, so that they hold whatever else is installed. */
const declare = async (): Promise<void> => {
  const directory = await mkdtemp(join(tmpdir(), 'meshstep-types-'))
  await run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.types.json', '--outDir', directory])
  const declarations = join(directory, 'src/index.d.ts')
  if (/^(import|export .* from)/m.test(await readFile(declarations, 'utf8')))
    throw new Error('src/index.ts exports a type that it imports: declare it there, as nobody else can read it')
  await copyFile(declarations, `${LIB}/index.d.ts`)
  await rm(directory, { recursive: true })
}

await rm(LIB, { recursive: true, force: true })
await mkdir(LIB)
/** What the package exports, and its command. */
const { metafile } = await bundlePrograms(LIB, { index: 'src/index.ts', meshstep: 'src/cli/main.ts' })
await copyPage(LIB)
await declare()
await writeMaterials(LIB, [metafile], LIBRARY_FILES)
