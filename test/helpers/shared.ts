import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The absolute path of a recorded fixture that is kept beside the repository, or undefined where that folder is absent. */
export const sharedFile = (path: string): string | undefined => {
  const file = fileURLToPath(new URL(`../../../shared/${path}`, import.meta.url))
  return existsSync(file) ? file : undefined
}
