import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { compile, type JSONSchema } from 'json-schema-to-typescript'
import { answers } from '../src/serve/http/open-api.ts'
import { schemas } from '../src/serve/schemas/schemas.ts'
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

/** Declares the types of events, documents and answers, by the schemas that describe them. */
const declareSchemas = async (): Promise<void> => {
  const documents = Object.entries(schemas).map(([name, schema]) => [typeName(name), schema()] as const)
  const all = [...documents, ...Object.entries(answers())]
  const options = {
    bannerComment: '',
    style: { semi: false, singleQuote: true, printWidth: 140 },
    ignoreMinAndMaxItems: true,
  }
  const types = await Promise.all(
    all.map(async ([name, schema]) => await compile({ ...schema, title: name } as JSONSchema, name, options)),
  )
  await writeFile(`${LIB}/types.d.ts`, types.join('\n'))
}

/** `RelationChanged` for `relation-changed` */
const typeName = (name: string): string => name.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())

await rm(LIB, { recursive: true, force: true })
await mkdir(LIB)
/** What the package exports, and its command. */
const { metafile } = await bundlePrograms(LIB, { index: 'src/index.ts', meshstep: 'src/cli/main.ts' })
await copyPage(LIB)
await declare()
await declareSchemas()
await writeMaterials(LIB, [metafile], LIBRARY_FILES)
