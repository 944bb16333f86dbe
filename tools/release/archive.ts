import { gunzipSync, gzipSync } from 'node:zlib'
import { packTar, unpackTar } from 'modern-tar'

/** Files by path, as text or bytes. */
export type Files = Readonly<Record<string, string | Uint8Array>>

/** Packs files into a tar that depends on nothing but them and the moment: in order, owned by nobody, readable by all. All may run `program`. */
export const archive = async (files: Files, moment: Date, program?: string): Promise<Uint8Array> => {
  const entries = Object.keys(files)
    .toSorted()
    .map((name) => {
      const body = Buffer.from(files[name] ?? '')
      return {
        header: {
          name,
          size: body.length,
          mtime: moment,
          mode: name === program ? 0o755 : 0o644,
          uid: 0,
          gid: 0,
          type: 'file' as const,
        },
        body,
      }
    })
  return await packTar(entries)
}

/** The same, compressed. */
export const compressed = async (files: Files, moment: Date, program?: string): Promise<Uint8Array> =>
  gzipSync(await archive(files, moment, program), { level: 9 })

/**
 * The compressed archive with the permissions that a file has under no umask: what its owner may execute, all may. `edit` may change the text of a file.
 */
export const repacked = async (
  bytes: Uint8Array,
  edit: Readonly<Record<string, (text: string) => string>> = {},
): Promise<Uint8Array> => {
  const entries = await unpackTar(gunzipSync(bytes))
  const alike = entries.map(({ header, data = new Uint8Array() }) => {
    const body = Buffer.from(edit[header.name]?.(Buffer.from(data).toString()) ?? data)
    const mode = ((header.mode ?? 0) & 0o100) === 0 ? 0o644 : 0o755
    return { header: { ...header, mode, size: body.length }, body }
  })
  return gzipSync(await packTar(alike), { level: 9 })
}
