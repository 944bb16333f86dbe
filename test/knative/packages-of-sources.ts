import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

const sources = ['src', 'functions'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter(({ name }) => name.endsWith('.ts'))
    .map((file) => readFileSync(join(file.parentPath, file.name), 'utf8')),
)

/** The packages that the sources import more than types of. */
export const packagesOfSources: readonly string[] = [
  ...new Set(
    sources.flatMap((source) =>
      [...source.matchAll(/^import (?!type )[^']*'((?:@[^/']+\/)?[^/'.:]+)[^':]*'$/gm)].map(([, name = '']) => name),
    ),
  ),
].toSorted()
