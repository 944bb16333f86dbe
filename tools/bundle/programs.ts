import { build } from 'esbuild'
import { modelsInside } from './models.ts'
import { common, REQUIRE, uuidsOfNode, withoutTransport } from './options.ts'

/** An app that imports the package ends by itself: the reason is thrown. */
const REFUSE_OLDER = `{const[major,minor]=process.versions.node.split('.');if(major<22||major==22&&minor<18)throw new Error('meshstep needs Node 22.18 or later, this is '+process.version)}`

/** Bundles programs with all that they need, so that the package of them has no dependencies. */
export const bundlePrograms = (outdir: string, entryPoints: Readonly<Record<string, string>>) =>
  build({
    ...common,
    metafile: true,
    target: 'node22.18',
    entryPoints: { ...entryPoints },
    outdir,
    splitting: true,
    plugins: [modelsInside, uuidsOfNode, withoutTransport],
    banner: { js: `${REQUIRE}${REFUSE_OLDER}` },
  })

/** As kubectl's plugin, and for its completion, the executable has another name. Its code has no module with a URL. */
const NAMED = `process.env.MESHSTEP_NAME=require('node:path').basename(process.argv0);if(/^kubectl_complete/.test(process.env.MESHSTEP_NAME))process.argv.splice(2,0,'__complete');const moduleUrl=require('node:url').pathToFileURL(__filename).href;`

/** Bundles the command for a single executable, which can have one script of CommonJS. */
export const bundleExecutable = (outfile: string) =>
  build({
    ...common,
    format: 'cjs',
    entryPoints: ['src/cli/main.ts'],
    outfile,
    define: { 'import.meta.url': 'moduleUrl' },
    plugins: [modelsInside, uuidsOfNode, withoutTransport],
    banner: { js: NAMED },
  })
