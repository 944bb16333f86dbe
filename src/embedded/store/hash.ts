// The letters Kubernetes makes names from: no vowels, nothing easily mistaken for something else.
const letters = 'bcdfghjklmnpqrstvwxz2456789'

/** FNV-1a, 32 bits. See http://www.isthe.com/chongo/tech/comp/fnv/ */
const fnv1a = (text: string): number => {
  let sum = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) {
    sum = Math.imul(sum ^ text.charCodeAt(index), 0x01000193) >>> 0
  }
  return sum
}

/** A part of a name, derived from a text. */
export const nameHash = (text: string, length: number): string => {
  let out = ''
  for (let round = 0; out.length < length; round += 1) {
    let rest = fnv1a(`${round}:${text}`)
    for (let taken = 0; taken < 5; taken += 1) {
      out += letters[rest % letters.length]
      rest = Math.floor(rest / letters.length)
    }
  }
  return out.slice(0, length)
}

/** A uid derived from a text. */
export const uidOf = (text: string): string => {
  const hex = [0, 1, 2, 3].map((round) => fnv1a(`${round}:${text}`).toString(16).padStart(8, '0')).join('')
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5')
}
