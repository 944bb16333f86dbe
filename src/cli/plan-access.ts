import type { Plan } from '../ask/preview/preview.ts'

type Change = Plan['access'][number]

/** Changes of access are told one by one up to so many, and by the namespaces of their targets beyond that. */
const MOST_LINES = 60

/** Tells how access changes, in as few lines as can be read. */
export const accessLines = (access: readonly Change[]): string[] => {
  if (access.length <= MOST_LINES) return access.map(({ line }) => line)
  const groups = Map.groupBy(access, ({ to, before, after }) => JSON.stringify([spaceOf(to), before, after]))
  return [...[...groups.values()].flatMap(groupLine), '-o json has each']
}

const spaceOf = (name: string): string => name.replace(/\/.*/, '')

/** `- clients of 14 namespaces, and outside the mesh → 37 applications of pb` */
const groupLine = (some: readonly Change[]): string[] => {
  const [first] = some
  if (first === undefined) return []
  const clients = some.flatMap(({ from, clients: many = [] }) => [...(from === undefined ? [] : [from]), ...many])
  const spaces = new Set(clients.map(spaceOf))
  const targets = new Set(some.map(({ to }) => to))
  const isOutside = some.some(({ from, clients: many }) => from === undefined && many === undefined)
  const who = [
    ...(spaces.size === 0
      ? []
      : [`clients of ${spaces.size === 1 ? [...spaces].join('') : `${spaces.size} namespaces`}`]),
    ...(isOutside ? ['whoever is outside the mesh'] : []),
  ]
  const what = targets.size === 1 ? first.to : `${targets.size} applications of ${spaceOf(first.to)}`
  const sign = first.line.charAt(0)
  return [
    `${sign} ${who.join(', ')} → ${what}${sign === '?' ? ` (${first.before} → ${first.after})` : ''}, ${some.length} changes`,
  ]
}
