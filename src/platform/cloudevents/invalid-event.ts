const MAX_MESSAGE_BYTES = 500
const MAX_SHOWN = 48

/** An HTTP request that is no readable CloudEvent; `message` has the attribute, the expected and the actual value. */
export class InvalidEvent extends Error {
  override readonly name = 'InvalidEvent'
  /** 415: a media type, charset or batch we do not read. 400: everything else. */
  readonly status: 400 | 415

  constructor(attribute: string, expected: string, got: string, status: 400 | 415 = 400) {
    super(clamp(`${clip(attribute)}: expected ${expected}, got ${got}`))
    this.status = status
  }
}

/** Prints a value in few characters and without control characters; objects are named, never printed. */
export const describeValue = (value: unknown): string => {
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  return typeof value === 'string' ? clip(JSON.stringify(value.slice(0, MAX_SHOWN + 1))) : clip(String(value))
}

const clip = (text: string): string => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text)

// Bytes, not characters: an answer's body is limited in bytes.
const clamp = (text: string): string =>
  text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(MAX_MESSAGE_BYTES)).read)
