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
  banner: {
    js: [
      // Some dependencies are CommonJS and require Node's own modules.
      `import{createRequire}from'node:module';const require=createRequire(import.meta.url);`,
      `if(parseInt(process.versions.node)<24){process.stderr.write('meshstep needs Node 24 or later, this is '+process.version+'\\n');process.exit(1)}`,
    ].join(''),
  },
}

await rm('dist', { recursive: true, force: true })
await build({ ...common, entryPoints: ['src/main.ts'], outfile: 'dist/server.mjs', plugins: [besideTheBundle] })
await build({ ...common, entryPoints: ['src/kubernetes/kubeconfig.ts'], outfile: 'dist/kubeconfig.mjs' })
