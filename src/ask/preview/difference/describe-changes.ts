import { namespaceOf } from '../../../platform/base/subject.ts'
import { nearName, sideName } from '../../authorization/side.ts'
import type { Change, Verdict } from '../compare-requests.ts'
import type { Class } from './classes.ts'
import type { Client } from './clients.ts'
import type { Found } from './difference.ts'

/** Requests whose result changes. An absent field matches any value. */
export type AccessChange = Change & {
  /**
   * `namespace/application` or `namespace/gateway/name`, or `namespace/sa/account` if no readable application runs as the account. Absent for a client
   * outside the mesh, and if there are `clients`.
   */
  readonly from?: string
  /** Many clients with the same change: `namespace/application`, or `namespace/*` for a whole namespace. */
  readonly clients?: readonly string[]
  /** Clients that are excluded from `clients`. */
  readonly notClients?: readonly string[]
  /** The block of addresses of clients outside the mesh, if policies distinguish it. */
  readonly address?: string
  readonly notAddresses?: readonly string[]
  readonly to: string
  /** `pod` is a request to the pods' own addresses, past the Service. */
  readonly via: 'service' | 'pod'
  /** Absent for all ports except `notPorts`. */
  readonly port?: number
  readonly notPorts?: readonly number[]
  /** The number of clients with this change. */
  readonly count: number
  /** `- reviews → details GET :9080 /details/*` */
  readonly line: string
}

/** The limit up to which each pair has its own line. Beyond it, a line has a group of clients. */
const MOST_PAIRS = 60

/** The limit of client names in a line. */
const MOST_NAMES = 3

/**
 * Describes the changes completely: by pairs if they are few, else by all clients that change alike. Many clients of other namespaces are always one
 * group. If all changes are in one namespace of `near`, lines leave out the namespace.
 */
export const describeChanges = (
  found: readonly Found[],
  clients: readonly Client[],
  near: ReadonlySet<string>,
): AccessChange[] => {
  const all = found.map((one) => ({ one, groups: united(one.who) }))
  const pairs = all.reduce((sum, { groups }) => sum + countOf(groups), 0)
  const spaces = new Set(found.map(({ to }) => to.namespace))
  const isWide = spaces.size > 1 || !spaces.isSubsetOf(near)
  const known = Map.groupBy(clients, ({ namespace }) => namespace)
  const changes = all.flatMap(({ one, groups }) => {
    const named = groups.filter(({ example }) => example.name !== undefined)
    const outside = groups.filter((group) => !named.includes(group))
    const [near, far] = pairs > MOST_PAIRS ? [[], named] : apart(one.to.namespace, named)
    const isMany = countOf(far) > (pairs > MOST_PAIRS ? 1 : MOST_NAMES)
    return [
      ...[...outsideIn(outside), ...near, ...(isMany ? [] : far.flatMap(membersOf))].map((client) =>
        tellOne(one, client, isWide),
      ),
      ...(isMany ? [tellMany(one, far, known)] : []),
    ]
  })
  return changes.toSorted(byPair)
}

const byPair = (one: AccessChange, other: AccessChange): number => {
  // groups sort last
  const [key, otherKey] = [one, other].map(({ to, from = '', clients }) => `${to} ${clients ? '~' : from}`)
  return key === otherKey ? 0 : (key ?? '') < (otherKey ?? '') ? -1 : 1
}

/** Divides clients into those of the namespace, and classes of all others. */
const apart = (namespace: string, groups: readonly Class[]): [Client[], Class[]] => {
  const isNear = (client: Client) => client.namespace === namespace
  const far = groups.flatMap((one) => {
    const some = membersOf(one).filter((client) => !isNear(client))
    return some[0] ? [{ group: some, some, except: new Set<Client>(), example: some[0] }] : []
  })
  return [groups.flatMap(membersOf).filter(isNear), far]
}

/** Lists the clients outside the mesh. They are merged into one, at any address, if all of them change alike. */
const outsideIn = (groups: readonly Class[]): Client[] => {
  const clients = groups.flatMap(membersOf)
  const [first] = clients
  if (first === undefined || clients.length < (groups[0]?.group.length ?? 0)) return clients
  const { address: _, notAddresses: __, ...anywhere } = first
  return [anywhere]
}

/** Merges classes into the group that contains them, if the group changes too. Then the group does not exclude them. */
const united = (who: readonly Class[]): Class[] => {
  const isGroup = ({ group, some }: Class) => group === some
  const whole = new Set(who.filter(isGroup).map(({ group }) => group))
  const apart = who.filter((one) => !isGroup(one))
  const comprised = new Set(apart.filter(({ group }) => whole.has(group)).flatMap(({ some }) => some))
  return [
    ...who
      .filter(isGroup)
      .map((one) => ({ ...one, except: new Set([...one.except].filter((client) => !comprised.has(client))) })),
    ...apart.filter(({ group }) => !whole.has(group)),
  ]
}

const countOf = (groups: readonly Class[]): number =>
  groups.reduce((sum, { some, except }) => sum + some.length - except.size, 0)

const membersOf = ({ some, except }: Class): Client[] => some.filter((one) => !except.has(one))

const tellOne = (
  found: Found,
  { name, subject, address, notAddresses = [] }: Client,
  isWide: boolean,
): AccessChange => {
  const { to } = found
  const isFar = isWide || (name !== undefined && subject?.namespace !== to.namespace)
  const outside = `(${['outside the mesh', textOf(address, notAddresses)].filter((one) => one !== undefined).join(', ')})`
  return {
    ...(name !== undefined && { from: name }),
    ...(address !== undefined && { address }),
    ...(notAddresses.length > 0 && { notAddresses }),
    ...told(found, 1, name === undefined ? outside : isFar ? name : subject ? nearName(subject) : name, isFar),
  }
}

/** All known clients, by namespace. */
type Known = ReadonlyMap<string, readonly Client[]>

const tellMany = (found: Found, groups: readonly Class[], known: Known): AccessChange => {
  const count = countOf(groups)
  const names = namesOf(groups, known)
  const excepted = groups.flatMap(({ except }) => [...except].flatMap(({ name }) => name ?? []))
  const spaces = new Set(names.map(namespaceOf))
  const of = spaces.size === 1 ? [...spaces].join('') : `${spaces.size} namespaces`
  const isWhole = names.every((name) => name.endsWith('/*'))
  const but = excepted.length === 0 ? '' : ` but ${excepted.length === 1 ? excepted[0] : excepted.length}`
  const who = isWhole ? `everybody of ${of}${but}` : `${count} clients of ${of}`
  return {
    clients: names,
    ...(excepted.length > 0 && { notClients: excepted.toSorted() }),
    ...told(
      found,
      count,
      count > MOST_NAMES
        ? who
        : groups
            .flatMap(membersOf)
            .flatMap(({ name }) => name ?? [])
            .toSorted()
            .join(', '),
      true,
    ),
  }
}

const namesOf = (groups: readonly Class[], known: Known): string[] => {
  const some = groups.flatMap((one) => one.some)
  return [...Map.groupBy(some, ({ namespace }) => namespace)]
    .flatMap(([namespace, members]) => {
      const all = new Set(known.get(namespace))
      const isWhole = all.size > 1 && all.isSubsetOf(new Set(members))
      const others = members.filter((one) => !isWhole || !all.has(one)).flatMap(({ name }) => name ?? [])
      return [...(isWhole ? [`${namespace}/*`] : []), ...others]
    })
    .toSorted()
}

const told = (
  { to, via, port, not, change }: Found,
  count: number,
  client: string,
  isFar: boolean,
): Omit<AccessChange, 'from' | 'clients' | 'notClients'> => {
  const asked = { ...(not === undefined ? { port } : not.length > 0 && { notPorts: not }) }
  return {
    ...{ to: sideName(to), via, ...asked, ...change, count },
    line: lineOf(client, isFar ? sideName(to) : nearName(to), { via, ...asked, ...change }),
  }
}

/** `- reviews → details GET :9080 /details/*` */
const lineOf = (
  client: string,
  target: string,
  change: Change & Pick<AccessChange, 'via' | 'port' | 'notPorts'>,
): string => {
  const { via, port, notPorts = [], before, after } = change
  const sign = signOf(before, after)
  const words = [
    sign,
    client,
    '→',
    `${target}${via === 'pod' ? ' (pods)' : ''}`,
    textOf(change.method, change.notMethods),
    `${textOf(change.host, change.notHosts) ?? ''}:${port ?? textOf(undefined, notPorts.map(String)) ?? 'any'}`,
    textOf(change.path, change.notPaths),
    change.carries && '(TCP without HTTP)',
    sign === '?' ? `(${before} → ${after})` : undefined,
  ]
  return words.filter((word) => word !== undefined).join(' ')
}

const textOf = (label: string | undefined, not: readonly string[] = []): string | undefined => {
  const but = not.length > 0 ? `(not ${not.join(', ')})` : undefined
  return label === undefined || but === undefined ? (label ?? but) : `${label} ${but}`
}

const signOf = (before: Verdict, after: Verdict): string => {
  if (after === 'allowed') return '+'
  return before === 'allowed' && after === 'denied' ? '-' : '?'
}
