import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { getRawAsset, isSea } from 'node:sea'

/** A static file with its media type and ETag. */
export type Asset = { readonly body: Uint8Array<ArrayBuffer>; readonly type: string; readonly tag: string }

/** Reads one of the page's files. Resolves to undefined for any other name. */
export type Assets = (name: string) => Promise<Asset | undefined>

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

/** The page's own files, in `src/serve/page/browser`. */
export const OWN_FILES = [
  ...['page.css', 'icon.svg', 'page.js', 'address.js', 'html.js', 'labels.js', 'layout.js', 'live.js', 'map.js'],
  ...['marks.js', 'names.js', 'namespaces.js', 'rows.js', 'style.js', 'svg.js', 'traffic.js'],
] as const

/** The files of libraries, and where npm puts them. The layout is made by a worker, which loads a script of its own. */
export const LIBRARIES: Readonly<Record<string, string>> = {
  'cytoscape.min.js': 'node_modules/cytoscape/dist/cytoscape.min.js',
  'elk-api.js': 'node_modules/elkjs/lib/elk-api.js',
  'elk-worker.min.js': 'node_modules/elkjs/lib/elk-worker.min.js',
}

const BUNDLED = new URL('./page/', import.meta.url)
const ROOT = new URL('../../../', import.meta.url)

/** Finds a file of the page: in `page/` beside a bundle, else in the sources, or in node_modules. */
export const findFile = (name: string): URL => {
  if (existsSync(BUNDLED)) return new URL(name, BUNDLED)
  return new URL(LIBRARIES[name] ?? `src/serve/page/browser/${name}`, ROOT)
}

/** Serves the files of the page. */
export const findAssets = (): Assets => {
  const names = new Set<string>([...OWN_FILES, ...Object.keys(LIBRARIES)])
  const read = new Map<string, Promise<Asset>>()
  return async (name) => {
    if (!names.has(name)) return undefined
    const known = read.get(name) ?? load(name)
    read.set(name, known)
    return await known
  }
}

/** A single executable has the files inside. */
const load = async (name: string): Promise<Asset> => {
  const body = new Uint8Array(isSea() ? getRawAsset(name) : await readFile(findFile(name)))
  const tag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  return { body, type: TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream', tag }
}
