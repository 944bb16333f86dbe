import type { Judged } from '../ask/traffic/losses.ts'
import { namespaceOf } from '../platform/base/subject.ts'

/** The limit up to which each change has its own line. Beyond it, changes are grouped by the namespaces of their targets. */
const MOST_LINES = 60

/** Describes changes of access in a readable number of lines. */
export const accessLines = (access: readonly Judged[]): string[] => {
  if (access.length <= MOST_LINES)
    return access.map(({ line, traffic }) => (traffic ? `${line}, ${traffic.text}` : line))
  const groups = Map.groupBy(access, ({ to, before, after }) => JSON.stringify([namespaceOf(to), before, after]))
  return [...[...groups.values()].flatMap(groupLine), '-o json has each']
}

/** `- clients of 14 namespaces, and outside the mesh → 37 applications of pb` */
const groupLine = (some: readonly Judged[]): string[] => {
  const [first] = some
  if (first === undefined) return []
  const clients = some.flatMap(({ from, clients: many = [] }) => [...(from === undefined ? [] : [from]), ...many])
  const spaces = new Set(clients.map(namespaceOf))
  const targets = new Set(some.map(({ to }) => to))
  const isOutside = some.some(({ from, clients: many }) => from === undefined && many === undefined)
  const who = [
    ...(spaces.size === 0
      ? []
      : [`clients of ${spaces.size === 1 ? [...spaces].join('') : `${spaces.size} namespaces`}`]),
    ...(isOutside ? ['clients outside the mesh'] : []),
  ]
  const what = targets.size === 1 ? first.to : `${targets.size} applications of ${namespaceOf(first.to)}`
  const sign = first.line.charAt(0)
  return [
    `${sign} ${who.join(', ')} → ${what}${sign === '?' ? ` (${first.before} → ${first.after})` : ''}, ${some.length} changes${usedText(some)}`,
  ]
}

const usedText = (some: readonly Judged[]): string => {
  const told = some.flatMap(({ traffic }) => traffic ?? [])
  return told.length === 0 ? '' : `, ${told.filter(({ is }) => is === 'used').length} of them used`
}
