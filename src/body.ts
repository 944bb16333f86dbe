import { Refused } from './errors.ts'

const MAXIMUM_BYTES = 2 * 1024 * 1024

/** The whole body of a request. Throws Refused for one that is too large, told by its length or found out while reading. */
export const readBody = async ({ headers, body }: Request): Promise<Uint8Array> => {
  if (Number(headers.get('content-length') ?? 0) > MAXIMUM_BYTES) throw tooLarge()
  const parts: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const part of body ?? []) {
      bytes += part.byteLength
      if (bytes > MAXIMUM_BYTES) break
      parts.push(part)
    }
  } catch (error) {
    throw new Refused(400, `the body ended after ${bytes} bytes: ${(error as Error).message}`, { cause: error })
  }
  if (bytes > MAXIMUM_BYTES) throw tooLarge()
  return Buffer.concat(parts)
}

const tooLarge = (): Refused => new Refused(413, `the body is larger than ${MAXIMUM_BYTES} bytes`)
