import type { BuildOptions, Plugin } from 'esbuild'

/** Ends a program that runs on an older Node, and says why. */
export const TOO_OLD = `if(parseInt(process.versions.node)<24){process.stderr.write('meshstep needs Node 24 or later, this is '+process.version+'\\n');process.exit(1)}`

/** Some dependencies are CommonJS and require Node's own modules. */
export const REQUIRE = `import{createRequire as requireFrom}from'node:module';const require=requireFrom(import.meta.url);`

/** A file for Node that needs no package. */
export const common: BuildOptions = {
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
  banner: { js: REQUIRE + TOO_OLD },
}

/** Node makes UUIDs itself: the package for them is there for events without an id, which the SDK is given none of. */
export const uuidsOfNode: Plugin = {
  name: 'uuids-of-node',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^uuid$/ }, ({ path }) => ({ path, namespace: 'uuid' }))
    onLoad({ filter: /^/, namespace: 'uuid' }, () => ({ contents: `export { randomUUID as v4 } from 'node:crypto'` }))
  },
}

/** JSON Schemas are made when the bundle is: what makes them is 36 kB of zod that no event needs. */
export const withoutJsonSchemas: Plugin = {
  name: 'without-json-schemas',
  setup: ({ onLoad }) => {
    onLoad({ filter: /zod\/v4\/core\/(json-schema-processors|to-json-schema)\.js$/ }, () => ({
      contents:
        'module.exports = new Proxy({}, { get: (_, name) => (name === "__esModule" ? true : () => undefined) })',
    }))
  },
}

/**
 * What no kubeconfig leads to: the official client's own transport with its models, and ways through a proxy, which is refused before. Whoever
 * asks for something of it is told.
 */
export const withoutTransport: Plugin = {
  name: 'without-transport',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^(undici|socks|socks-proxy-agent|hpagent|\.\/gen\/index\.js)$/ }, ({ importer, path }) =>
      importer.endsWith('@kubernetes/client-node/dist/config.js') ? { path, namespace: 'left-out' } : undefined,
    )
    onLoad({ filter: /^/, namespace: 'left-out' }, ({ path }) => ({
      contents: `module.exports = Object.create(new Proxy({}, { get: (_, name) => { if (name !== '__esModule') throw new Error('${path} is not in this bundle: nothing was to ask for ' + String(name)) } }))`,
    }))
  },
}
