import { copyFile, mkdir } from 'node:fs/promises'
import { LIBRARY, OWN_FILES } from '../../src/serve/page/assets.ts'

/** Where npm puts the library of the page. */
export const LIBRARY_FILE = `node_modules/cytoscape/dist/${LIBRARY}`

/** Copies what the browser gets, as it is, beside a bundle. */
export const copyPage = async (folder: string): Promise<void> => {
  await mkdir(`${folder}/page`)
  for (const file of OWN_FILES) await copyFile(`src/serve/page/browser/${file}`, `${folder}/page/${file}`)
  await copyFile(LIBRARY_FILE, `${folder}/page/${LIBRARY}`)
}
