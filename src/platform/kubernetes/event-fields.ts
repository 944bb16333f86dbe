/** The longest `note` that the API server takes is 1024 bytes. */
const LONGEST_NOTE = 1000

/** A note of a length that the API server takes. */
export const shortened = (text: string): string => {
  const bytes = Buffer.from(text)
  return bytes.length <= LONGEST_NOTE
    ? text
    : `${bytes
        .subarray(0, LONGEST_NOTE)
        .toString()
        .replace(/\uFFFD+$/, '')}…`
}

/** As the API server has it, with microseconds. */
export const microTime = (time: Date): string => time.toISOString().replace('Z', '000Z')
