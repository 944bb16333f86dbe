import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { writeMaterials } from './bundle/materials.ts'
import { modelsInside } from './bundle/models.ts'
import { common, REQUIRE, uuidsOfNode } from './bundle/options.ts'
import { copyPage, LIBRARY_FILE } from './bundle/page.ts'

const run = promisify(execFile)

const FOLDER = 'package'
const LIB = `${FOLDER}/lib`

/** Of an app that imports the package the end is its own: it is thrown at. */
const TOO_OLD = `if(parseInt(process.versions.node)<24)throw new Error('meshstep needs Node 24 or later, this is '+process.version)`

const COPIED = ['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'meshstep.mjs', 'node24.mjs']

/** Bundles what the package exports and its command, with all that they need. */
const bundle = () =>
  build({
    ...common,
    metafile: true,
    entryPoints: { index: 'src/index.ts', meshstep: 'src/cli/main.ts' },
    outdir: LIB,
    splitting: true,
    plugins: [modelsInside, uuidsOfNode],
    banner: { js: `${REQUIRE}${TOO_OLD}` },
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

/** Writes what npm reads of the package: it needs no other package, as a checkout does, but Node 24 from elsewhere. */
const describe = async (): Promise<void> => {
  const { name, version, description, license, type, exports, bin } = JSON.parse(await readFile('package.json', 'utf8'))
  const described = { name, version, description, license, type, exports, bin, engines: { node: '>=24' } }
  await writeFile(`${FOLDER}/package.json`, `${JSON.stringify(described, null, 2)}\n`)
}

await rm(FOLDER, { recursive: true, force: true })
await mkdir(LIB, { recursive: true })
const { metafile } = await bundle()
await copyPage(LIB)
await declare()
await writeMaterials(FOLDER, [metafile], [LIBRARY_FILE])
for (const file of COPIED) await copyFile(file, `${FOLDER}/${file}`)
await describe()
