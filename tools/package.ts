import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { writeMaterials } from './bundle/materials.ts'
import { modelsInside } from './bundle/models.ts'
import { common, REQUIRE, uuidsOfNode } from './bundle/options.ts'
import { copyPage, LIBRARY_FILES } from './bundle/page.ts'

const run = promisify(execFile)

const LIB = 'lib'

/** An app that imports the package ends by itself: the reason is thrown. */
const REFUSE_OLDER = `{const[major,minor]=process.versions.node.split('.');if(major<22||major==22&&minor<18)throw new Error('meshstep needs Node 22.18 or later, this is '+process.version)}`

/** Bundles what the package exports and its command, with all that they need: so the package has no dependencies. */
const bundle = () =>
  build({
    ...common,
    metafile: true,
    target: 'node22.18',
    entryPoints: { index: 'src/index.ts', meshstep: 'src/cli/main.ts' },
    outdir: LIB,
    splitting: true,
    plugins: [modelsInside, uuidsOfNode],
    banner: { js: `${REQUIRE}${REFUSE_OLDER}` },
  })

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
const { metafile } = await bundle()
await copyPage(LIB)
await declare()
await writeMaterials(LIB, [metafile], LIBRARY_FILES)
