import { rm } from 'node:fs/promises'
import { type BuildOptions, build, type Plugin } from 'esbuild'

/** Loaded outside a cluster alone, and larger than all the rest: kept beside the bundle, so that a pod never reads it. */
const besideTheBundle: Plugin = {
  name: 'beside-the-bundle',
  setup: ({ onResolve }) => {
    onResolve({ filter: /\/kubeconfig\.ts$/ }, ({ kind }) =>
      kind === 'dynamic-import' ? { path: './kubeconfig.mjs', external: true } : undefined,
    )
  },
}

const common: BuildOptions = {
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  minify: true,
  keepNames: true,
  legalComments: 'none',
  logLevel: 'warning',
  // Some dependencies are CommonJS and require Node's own modules.
  banner: { js: `import{createRequire}from'node:module';const require=createRequire(import.meta.url);` },
}

await rm('dist', { recursive: true, force: true })
await build({ ...common, entryPoints: ['src/main.ts'], outfile: 'dist/server.mjs', plugins: [besideTheBundle] })
await build({ ...common, entryPoints: ['src/kubernetes/kubeconfig.ts'], outfile: 'dist/kubeconfig.mjs' })
