import { readFileSync, statSync } from 'node:fs'

/** Creates a reader of a small file. It reads the file again after a change. It throws as `readFileSync` does. */
export const changingFile = (path: string): (() => string) => {
  let kept: { readonly version: string; readonly text: string } | undefined
  return () => {
    const { ino, mtimeMs, size } = statSync(path)
    const version = [ino, mtimeMs, size].join()
    if (kept?.version !== version) kept = { version, text: readFileSync(path, 'utf8') }
    return kept.text
  }
}
