import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'
import { type Attribute, attributesOf } from './src/embedded/kinds/attributes.ts'
import { LIBRARY, OWN_FILES } from './src/serve/page/assets.ts'
import { asyncApi, schemas } from './src/serve/schemas/schemas.ts'

/**
 * Loaded when they are asked for, or only by some: kept beside the bundle, so that an event never waits for them. They are required from
 * where the bundle is, as nothing can be imported from a start-up snapshot.
 */
const besideTheBundle: Plugin = {
  name: 'beside-the-bundle',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /\/(kubeconfig|fork|otlp|schemas)\.ts$/ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path: basename(path, '.ts'), namespace: 'beside' } : undefined,
    )
    onLoad({ filter: /^/, namespace: 'beside' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('node:module').createRequire(require('node:path').resolve(process.argv[1]))('./${path}.mjs')`,
    }))
  },
}

const TOO_OLD = `if(parseInt(process.versions.node)<24){process.stderr.write('meshstep needs Node 24 or later, this is '+process.version+'\\n');process.exit(1)}`

const common: BuildOptions = {
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  // Names stay: traces of a stack show them, and to give each function its name back would cost more than their bytes.
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: 200,
  // Modules of CommonJS are named by their paths: those below this folder, wherever links lead.
  preserveSymlinks: true,
  legalComments: 'none',
  logLevel: 'warning',
  // Some dependencies are CommonJS and require Node's own modules.
  banner: { js: `import{createRequire}from'node:module';const require=createRequire(import.meta.url);${TOO_OLD}` },
}

/**
 * Node's modules that none may load before a start-up snapshot is taken, nor before they are used: each stands for itself until something of
 * it is asked for.
 */
const lazyBuiltins: Plugin = {
  name: 'lazy-builtins',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^(node:)?(https?|module|stream\/consumers|worker_threads|zlib)$/ }, ({ path }) => ({
      path,
      namespace: 'lazy',
    }))
    onLoad({ filter: /^/, namespace: 'lazy' }, ({ path }) => ({
      contents: `module.exports = Object.create(new Proxy({}, { get: (_, name) => name === '__esModule' ? undefined : process.getBuiltinModule('${path}')[name] }))`,
    }))
  },
}

/** Node makes UUIDs itself: the package for them is there for events without an id, which the SDK is given none of. */
const uuidsOfNode: Plugin = {
  name: 'uuids-of-node',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^uuid$/ }, ({ path }) => ({ path, namespace: 'uuid' }))
    onLoad({ filter: /^/, namespace: 'uuid' }, () => ({ contents: `export { randomUUID as v4 } from 'node:crypto'` }))
  },
}

const MODELS = 'node_modules/@kubernetes/client-node/dist/gen/models'

/** The fields of all models of the official client, by their names. */
const readModels = async (): Promise<Record<string, readonly Attribute[]>> => {
  const names = (await readdir(MODELS)).filter((file) => file.endsWith('.js')).map((file) => basename(file, '.js'))
  return Object.fromEntries(names.toSorted().flatMap((name) => fieldsOf(name)))
}

/** The fields of a model; beside the models there are a list of them, and a time, which have none. */
const fieldsOf = (name: string): [string, readonly Attribute[]][] => {
  try {
    const fields = attributesOf(name)?.map(({ baseName, type, format }) => ({ baseName, type, format }))
    return fields ? [[name, fields]] : []
  } catch {
    return []
  }
}

/** The bundle is to need no package. */
const modelsInside: Plugin = {
  name: 'models-inside',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/src\/embedded\/kinds\/attributes\.ts$/ }, async () => ({
      contents: `const models = ${JSON.stringify(await readModels())}; export const attributesOf = (model) => models[model]`,
    }))
  },
}

type Package = { name: string; version: string; license: string; text: string }

/** The packages of which something is in a bundle, each with its licence's text. Rejects when one has none. */
const packagesIn = async ({ inputs }: Pick<Metafile, 'inputs'>): Promise<Package[]> => {
  const folders = Object.keys(inputs).flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [])
  const packages = [...new Set(folders)].map(async (folder) => {
    const { name, version, license } = JSON.parse(await readFile(`${folder}/package.json`, 'utf8'))
    const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file)).toSorted()
    const texts = await Promise.all(files.map((file) => readFile(`${folder}/${file}`, 'utf8')))
    if (typeof license !== 'string') throw new Error(`${folder}/package.json names no license`)
    const text = texts.join('\n').trim() || `Licensed under ${license}; the package has no text of it.`
    return { name, version, license, text }
  })
  const key = ({ name, version }: Package) => `${name}@${version}`
  return (await Promise.all(packages)).toSorted((one, other) => (key(one) < key(other) ? -1 : 1))
}

const RULE = '-'.repeat(80)

/** Notices of third parties, whose licences ask for it wherever their code goes. */
const noticesOf = (packages: readonly Package[]): string =>
  packages
    .map(({ name, version, license, text }) => `${name} ${version} (${license})\n\n${text}\n`)
    .join(`\n${RULE}\n\n`)

/** A bill of materials of what is really in the bundle: https://cyclonedx.org/docs/1.6/json/ */
const billOf = (packages: readonly Package[], version: string): string => {
  const component = { type: 'application', name: 'meshstep', version, 'bom-ref': 'meshstep' }
  const components = packages.map(({ name, version, license }) => {
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
    return { type: 'library', name, version, purl, 'bom-ref': purl, licenses: [{ expression: license }] }
  })
  const dependencies = [{ ref: 'meshstep', dependsOn: components.map(({ purl }) => purl) }]
  const bill = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component },
    components,
    dependencies,
  }
  return `${JSON.stringify(bill, null, 2)}\n`
}

await rm('dist', { recursive: true, force: true })
const { metafile } = await build({
  ...common,
  metafile: true,
  entryPoints: ['src/main.ts'],
  outfile: 'dist/server.cjs',
  // CommonJS, as whoever imports node:http reads all that it exports, and so loads undici, http2 and web streams
  format: 'cjs',
  banner: { js: TOO_OLD },
  plugins: [besideTheBundle, lazyBuiltins, uuidsOfNode],
  inject: ['src/serve/http/response.ts'],
})
await build({ ...common, entryPoints: ['src/platform/kubernetes/kubeconfig.ts'], outfile: 'dist/kubeconfig.mjs' })
const fork = await build({
  ...common,
  metafile: true,
  entryPoints: ['src/ask/preview/fork.ts'],
  outfile: 'dist/fork.mjs',
  plugins: [modelsInside],
})
const otlp = await build({
  ...common,
  metafile: true,
  entryPoints: ['src/serve/telemetry/otlp.ts'],
  outfile: 'dist/otlp.mjs',
})
const page = await build({
  ...common,
  metafile: true,
  entryPoints: ['src/serve/page/main.ts'],
  outfile: 'dist/page.mjs',
  plugins: [besideTheBundle, uuidsOfNode],
})
// made once: of schemas, nothing but their text is served
const made = Object.entries(schemas).map(
  ([name, schema]) => `${JSON.stringify(name)}: () => (${JSON.stringify(schema())})`,
)
await writeFile(
  'dist/schemas.mjs',
  `export const schemas = {\n${made.join(',\n')}\n}\nexport const asyncApi = () => (${JSON.stringify(asyncApi())})\n`,
)
// what the browser gets is served as it is, and of the official client there are facts alone
const library = `node_modules/cytoscape/dist/${LIBRARY}`
await mkdir('dist/page')
for (const file of OWN_FILES) await copyFile(`src/serve/page/browser/${file}`, `dist/page/${file}`)
await copyFile(library, `dist/page/${LIBRARY}`)
const nothing = { bytes: 0, imports: [] }
const copied = { [library]: nothing, [MODELS]: nothing }
const inputs = [metafile, fork.metafile, otlp.metafile, page.metafile].map((built) => built.inputs)
const packages = await packagesIn({ inputs: Object.assign({}, ...inputs, copied) })
await writeFile('dist/NOTICES.txt', noticesOf(packages))
await writeFile('dist/sbom.cdx.json', billOf(packages, JSON.parse(await readFile('package.json', 'utf8')).version))
