const MAX_MESSAGE_BYTES = 500
const MAX_SHOWN = 48

/** An HTTP request without a readable CloudEvent. `message` has the attribute, the expected and the actual value. */
export class InvalidEvent extends Error {
  override readonly name = 'InvalidEvent'
  /** 415 for an unsupported media type, charset or batch, else 400. */
  readonly status: 400 | 415

  constructor(attribute: string, expected: string, got: string, status: 400 | 415 = 400) {
    super(clamp(`${clip(attribute)}: expected ${expected}, got ${got}`))
    this.status = status
  }
}

/** Prints a value in few characters, without control characters. Objects are named, not printed. */
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
