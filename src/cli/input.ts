import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import type { Document } from 'yaml'
import { headingOf } from '../platform/base/text-documents.ts'
import { composeAtOnce, InvalidYaml, OF_FILES } from '../platform/base/yaml.ts'
import { Failure } from './failure.ts'

/** A file, or stdin, and its text. */
export type File = { readonly path: string; readonly text: string }

/**
 * Reads files as kubectl does: each file, the YAML and JSON files of a folder, or stdin for `-`. Rejects with Failure if one cannot be read, or if there is
 * nothing in them.
 */
export const readFiles = async (paths: readonly string[]): Promise<File[]> => {
  const files = (await Promise.all(paths.map(filesIn))).flat()
  const read = await Promise.all(files.map(async (path) => ({ path, text: await readInput(path) })))
  if (read.every(({ text }) => text.trim() === ''))
    throw new Failure(`${paths.join(', ')}: expected YAML or JSON, got nothing`)
  return read
}

/** Lists the file itself, or the files of a folder. */
const filesIn = async (path: string): Promise<string[]> => {
  if (path === '-' || !(await stat(path).catch(() => undefined))?.isDirectory()) return [path]
  const entries = await readdir(path, { withFileTypes: true })
  const names = entries.filter((one) => !one.isDirectory() && /\.(ya?ml|json)$/.test(one.name)).map(({ name }) => name)
  if (names.length === 0) throw new Failure(`${path}: expected files *.yaml, *.yml or *.json in this folder, got none`)
  return names.toSorted().map((name) => join(path, name))
}

/** Reads the text of one file, or of stdin for `-`. */
export const readInput = async (path: string): Promise<string> => {
  if (path === '-') return await textOf(process.stdin)
  try {
    // a byte order mark would count as text behind another file
    return (await readFile(path, 'utf8')).replace(/^\ufeff/, '')
  } catch (error) {
    throw new Failure(`${path} cannot be read: ${(error as Error).message}`, 1, { cause: error })
  }
}

/** The YAML documents of files, in one text. */
export type Documents = {
  readonly text: string
  /** Says where an offset in the text is: `file:line:column`. */
  placeOf(offset: number): string
}

/** Reads the documents of files, as `readFiles` does. */
export const readDocuments = async (paths: readonly string[]): Promise<Documents> => documentsOf(await readFiles(paths))

/** Joins files. The functions give their documents the names of the files. */
export const documentsOf = (files: readonly File[]): Documents => {
  const parts = files.map(({ path, text }) => ({ path, text, heading: headingOf(path) }))
  const placeOf = (offset: number): string => {
    let [end, found] = [0, '']
    for (const { path, text, heading } of parts) {
      if (end > offset) break
      const lines = text.slice(0, Math.max(0, offset - end - heading.length)).split('\n')
      found = `${path}:${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}`
      end += heading.length + text.length + 1
    }
    return found
  }
  return { text: parts.map(({ heading, text }) => `${heading}${text}\n`).join(''), placeOf }
}

/** Composes the documents. Throws Failure with the place of the first problem. */
export const composed = (documents: Documents): Document.Parsed[] =>
  readable(documents, () => composeAtOnce(documents.text, OF_FILES))

/** Reads documents. If that throws for invalid YAML, it throws Failure with the place. An alias that does not resolve has that of `offset`. */
export const readable = <T>({ placeOf }: Documents, read: () => T, offset = 0): T => {
  try {
    return read()
  } catch (error) {
    if (error instanceof InvalidYaml)
      throw new Failure(`${placeOf(error.offset)}: ${error.problem}`, 1, { cause: error })
    // aliases are resolved after the text is composed, and up to a limit
    if (error instanceof ReferenceError) throw new Failure(`${placeOf(offset)}: ${error.message}`, 1, { cause: error })
    throw error
  }
}

/**
 * Reads the only document of a file. Throws Failure for several, and for none, because an empty config would revoke everything.
 */
export const valueIn = (path: string, documents: Documents): unknown => {
  const values = valuesIn(documents)
  const [value = null, ...more] = values
  if (more.length > 0) throw new Failure(`${path}: expected one document, got ${values.length}`)
  if (value === null) throw new Failure(`${path}: expected YAML or JSON, got nothing; an empty config is {}`)
  return value
}

/** Reads the values of the documents. Throws Failure with the place of the first problem. */
export const valuesIn = (documents: Documents): unknown[] =>
  composed(documents).map((one) => readable(documents, () => one.toJS({ maxAliasCount: 100 }), one.contents?.range[0]))
