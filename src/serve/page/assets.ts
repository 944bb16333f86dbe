import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

/** A static file with its media type, and a tag that changes with it. */
export type Asset = { readonly body: Uint8Array<ArrayBuffer>; readonly type: string; readonly tag: string }

/** Reads one of the page's files; undefined for any other name. */
export type Assets = (name: string) => Promise<Asset | undefined>

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

/** The page's own files, in `src/serve/page/browser`. */
export const OWN_FILES = ['page.css', 'page.js', 'map.js', 'live.js', 'html.js', 'icon.svg'] as const

export const LIBRARY = 'cytoscape.min.js'

/** Serves the files of a folder, and cytoscape from where `library` says. */
const createAssets = (folder: URL, library: URL): Assets => {
  const read = new Map<string, Promise<Asset>>()
  return async (name) => {
    if (name !== LIBRARY && !OWN_FILES.some((one) => one === name)) return undefined
    const known = read.get(name) ?? load(name === LIBRARY ? library : new URL(name, folder))
    read.set(name, known)
    return await known
  }
}

const load = async (url: URL): Promise<Asset> => {
  const body = new Uint8Array(await readFile(url))
  const tag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  return { body, type: TYPES[url.pathname.split('.').at(-1) ?? ''] ?? 'application/octet-stream', tag }
}

/** The files of the page: in `page/` beside a bundle, or among the sources, with cytoscape where npm put it. */
export const findAssets = (): Assets => {
  const bundled = new URL('./page/', import.meta.url)
  if (existsSync(bundled)) return createAssets(bundled, new URL(LIBRARY, bundled))
  const library = new URL(`../../../node_modules/cytoscape/dist/${LIBRARY}`, import.meta.url)
  return createAssets(new URL('./browser/', import.meta.url), library)
}
