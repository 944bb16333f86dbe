import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { LIBRARIES, OWN_FILES } from '../../src/serve/page/assets.ts'

/** Where npm puts the libraries of the page. */
export const LIBRARY_FILES = Object.values(LIBRARIES)

/** Copies what the browser gets, as it is, beside a bundle. */
export const copyPage = async (folder: string): Promise<void> => {
  await mkdir(`${folder}/page`)
  for (const file of OWN_FILES) await copyFile(`src/serve/page/browser/${file}`, `${folder}/page/${file}`)
  for (const [name, file] of Object.entries(LIBRARIES)) await copyFile(file, `${folder}/page/${name}`)
  // the command requires the library of the layout from here
  await writeFile(`${folder}/page/package.json`, '{ "type": "commonjs" }\n')
}
