import { isIP } from 'node:net'
import type { StringLeaf } from './string-leaves.ts'

/** Values that change when a pod is replaced, each with a description: `10.1.2.3` is `an address of db`. */
export type EphemeralValues = ReadonlyMap<string, string>

const UUID = /\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/i
const IP_V4 = /(?<![\w.])\d{1,3}(\.\d{1,3}){3}(?!\w|\.\d)/g
const IP_V6 = /(?<![\w:])[0-9a-f]{0,4}(:[0-9a-f]{0,4}){2,7}/gi

/** Describes an ephemeral value in `text`. Undefined if there is none. Unknown values are not quoted, because they may be secret. */
export const describeEphemeral = (text: string, known: EphemeralValues): string | undefined => {
  for (const [value, what] of known) if (holds(text, value)) return `${value}, ${what}`
  if ([...(text.match(IP_V4) ?? []), ...(text.match(IP_V6) ?? [])].some(isAddress))
    return 'what looks like an IP address'
  return UUID.test(text) ? 'what looks like a UUID' : undefined
}

/** Finds the known ephemeral values in `leaves`, a sentence each. */
export const findEphemeral = (leaves: readonly StringLeaf[], known: EphemeralValues): string[] => {
  const all = leaves.map(({ text }) => text).join('\n')
  const found = [...known].filter(([value]) => all.includes(value))
  return leaves.flatMap(({ path, text }) =>
    found.filter(([value]) => holds(text, value)).map(([value, what]) => `${path} holds ${value}, ${what}`),
  )
}

/** Tells if the value is in `text` as a whole word: 10.0.0.1 is not in 10.0.0.12. */
const holds = (text: string, value: string): boolean =>
  text
    .split(value)
    .some((piece, index, pieces) => index > 0 && !isWord(pieces[index - 1]?.at(-1)) && !isWord(piece.at(0)))

const isWord = (character: string | undefined): boolean => character !== undefined && /[\w-]/.test(character)

/** Tells if a text is an address of one pod. Listening and loopback addresses are the same everywhere. */
const isAddress = (text: string): boolean => isIP(text) !== 0 && !/^(0\.0\.0\.0|127\..*|::1?)$/.test(text)
