/** The limit of a `note`. The API server accepts 1024 bytes. */
const LONGEST_NOTE = 1000

/** Shortens a note to a length that the API server accepts. */
export const shortened = (text: string): string => {
  const bytes = Buffer.from(text)
  return bytes.length <= LONGEST_NOTE
    ? text
    : `${bytes
        .subarray(0, LONGEST_NOTE)
        .toString()
        .replace(/\uFFFD+$/, '')}…`
}

/** Formats a time as the API server does, with microseconds. */
export const microTime = (time: Date): string => time.toISOString().replace('Z', '000Z')
