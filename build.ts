import { rm, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { openApi } from './src/serve/http/open-api.ts'
import { asyncApi, schemas } from './src/serve/schemas/schemas.ts'
import { writeMaterials } from './tools/bundle/materials.ts'
import { common, TOO_OLD, uuidsOfNode, withoutJsonSchemas, withoutTransport } from './tools/bundle/options.ts'
import { copyPage, LIBRARY_FILES } from './tools/bundle/page.ts'

/**
 * Loaded when they are asked for, or only by some: kept beside the bundle, so that an event never waits for them. They are required from
 * where the bundle is, as nothing can be imported from a start-up snapshot.
 */
const besideTheBundle: Plugin = {
  name: 'beside-the-bundle',
  setup: ({ onResolve, onLoad }) => {
    onResolve(
      { filter: /\/(kubeconfig|comparison|lint|open-api|otlp|propose|schemas|traffic)\.ts$/ },
      ({ kind, path }) => (kind === 'dynamic-import' ? { path: fileOf(path), namespace: 'beside' } : undefined),
    )
    onLoad({ filter: /^/, namespace: 'beside' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('node:module').createRequire(require('node:path').resolve(process.argv[1]))('./${path}.mjs')`,
    }))
  },
}

/** The file of what is loaded beside the bundle: all descriptions are in one. */
const fileOf = (path: string): string => basename(path, '.ts').replace('open-api', 'schemas')

/** Built by themselves, and beside the bundles that import them when they are asked for. */
const builtElsewhere: Plugin = {
  name: 'built-elsewhere',
  setup: ({ onResolve }) => {
    onResolve({ filter: /\/(kubeconfig|open-api|schemas)\.ts$/ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path: `./${fileOf(path)}.mjs`, external: true } : undefined,
    )
  },
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

await rm('dist', { recursive: true, force: true })
const { metafile } = await build({
  ...common,
  metafile: true,
  entryPoints: ['src/main.ts'],
  outfile: 'dist/server.cjs',
  // CommonJS, as whoever imports node:http reads all that it exports, and so loads undici, http2 and web streams
  format: 'cjs',
  banner: { js: TOO_OLD },
  plugins: [besideTheBundle, lazyBuiltins, uuidsOfNode, withoutJsonSchemas],
  inject: ['src/serve/http/response.ts'],
})
await build({
  ...common,
  entryPoints: ['src/platform/kubernetes/kubeconfig.ts'],
  outfile: 'dist/kubeconfig.mjs',
  plugins: [withoutTransport],
})

// most of what the page, plans and questions load is the same: a file of its own, which is loaded once
const { metafile: beside } = await build({
  ...common,
  metafile: true,
  entryPoints: {
    comparison: 'src/ask/preview/comparison.ts',
    lint: 'src/ask/lint/lint.ts',
    page: 'src/serve/page/main.ts',
    propose: 'src/ask/propose/propose.ts',
    traffic: 'src/ask/traffic/traffic.ts',
  },
  outdir: 'dist',
  outExtension: { '.js': '.mjs' },
  splitting: true,
  chunkNames: 'shared-[hash]',
  plugins: [builtElsewhere, uuidsOfNode, withoutJsonSchemas],
})
const { metafile: telemetry } = await build({
  ...common,
  metafile: true,
  entryPoints: ['src/serve/telemetry/otlp.ts'],
  outfile: 'dist/otlp.mjs',
})
// made once: of schemas, nothing but their text is served
const made = Object.entries(schemas).map(
  ([name, schema]) => `${JSON.stringify(name)}: () => (${JSON.stringify(schema())})`,
)
await writeFile(
  'dist/schemas.mjs',
  `export const schemas = {\n${made.join(',\n')}\n}\nexport const asyncApi = () => (${JSON.stringify(asyncApi())})\nexport const openApi = () => (${JSON.stringify(openApi())})\n`,
)
await copyPage('dist')
await writeMaterials('dist', [metafile, beside, telemetry], LIBRARY_FILES)
