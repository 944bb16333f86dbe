import { memoizeLatest } from '../../../platform/base/memoize-latest.ts'
import { sortedGroups } from '../../../platform/base/sorted-groups.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import type { Client, Face } from './clients.ts'
import { indexOf, under } from './index-of.ts'
import { namelessClients, UNSEEN } from './nameless-clients.ts'
import { accountName, type Pattern, signatureOf, sourcesOf } from './policy-sources.ts'

/** Clients that all policies of a target treat alike on both sides: `some` without `except`. */
export type Class = {
  /** All clients that differ from these only in their accounts. */
  readonly group: readonly Client[]
  readonly some: readonly Client[]
  readonly except: ReadonlySet<Client>
  /** One of the clients, which represents all of them. */
  readonly example: Client
}

/** Divides clients into classes for a target with these policies. `isWhole` is false if the policies distinguish more clients than are compared. */
export type Classify = (
  policies: readonly KubernetesObject[],
  accounts: readonly string[],
) => { readonly classes: readonly Class[]; readonly isWhole: boolean }

/** Clients, grouped by the patterns that they match, regardless of their exact accounts. */
type Grouped = {
  readonly groups: readonly (readonly Client[])[]
  readonly groupOf: ReadonlyMap<Client, readonly Client[]>
  /** Clients of which only the matched patterns are known, by these patterns. */
  readonly nameless: ReadonlyMap<string, readonly Client[]>
  readonly isWhole: boolean
  signatureOf(face: Face | undefined): string
}

/**
 * Prepares the division of clients. Clients that no policy names exactly are divided once for all targets whose policies have the same patterns, so the
 * cost depends on the names in policies. `unread` are namespaces that cannot be read completely. Then there are also classes for unknown clients: those in
 * one of these namespaces, and those that match a set of patterns that no known client matches.
 */
export const createClassify = (
  clients: readonly Client[],
  trustDomains: readonly string[],
  unread?: readonly string[],
): Classify => {
  const byAccount = indexOf(clients, ({ faces }) => new Set(faces.flatMap((face) => accountOf(face) ?? [])))
  const homes = new Set(clients.map(({ namespace }) => namespace))
  const isUnread = ({ namespace }: Client) =>
    unread?.includes(namespace) || (unread?.includes(UNSEEN) && namespace.includes('*'))

  const groupBy = (named: string): Grouped => {
    const patterns: readonly Pattern[] = JSON.parse(named)
    const sign = (face: Face | undefined) => (face?.account ? signatureOf(face.account, patterns, trustDomains) : '')
    const groups = [
      ...Map.groupBy(clients, ({ faces }) =>
        faces.map((face) => `${face?.kind ?? ''} ${sign(face)}`).join('\n'),
      ).values(),
    ]
    const { clients: nameless, isWhole } = unread
      ? namelessClients(patterns, unread, (namespace) => homes.has(namespace))
      : NO_OTHERS
    return {
      ...{ groups, isWhole, signatureOf: sign },
      groupOf: new Map(groups.flatMap((group) => group.map((one) => [one, group] as const))),
      nameless: Map.groupBy(nameless, ({ faces: [face] }) => sign(face)),
    }
  }
  // targets are ordered by namespace, and those of one namespace mostly have the same patterns
  const grouped = memoizeLatest(groupBy, MOST_KNOWN)

  return (policies, accounts) => {
    const patterns = sortedGroups(
      policies.flatMap((one) => sourcesOf(one).patterns),
      ({ of, text }) => `${of} ${text}`,
    ).map(([, [pattern]]) => pattern)
    const { groups, groupOf, nameless, isWhole, signatureOf: sign } = grouped(JSON.stringify(patterns))
    const lists = listsOf(policies, accounts)
    const named = under(byAccount, lists.keys())
    const byLists = Map.groupBy(named, (one) =>
      JSON.stringify([
        groups.indexOf(groupOf.get(one) ?? []),
        ...one.faces.map((face) => lists.get(accountOf(face) ?? '')),
      ]),
    )
    const takenOf = Map.groupBy(named, (one) => groupOf.get(one))
    const classes = [
      ...[...byLists.values()].map((some) => ({ group: groupOf.get(some[0] as Client) ?? some, some, except: NOBODY })),
      ...groups.map((group) => ({ group, some: group, except: new Set(takenOf.get(group) ?? []) })),
    ].flatMap(withExample)
    const seen = new Set(classes.flatMap(({ group, some, example }) => (group === some ? example.faces.map(sign) : [])))
    const others = [...nameless].flatMap(([signature, alike]) => {
      const isNew = signature.includes('1') && !seen.has(signature)
      const some = alike.filter(
        (one) => (isNew || isUnread(one)) && one.faces.every((face) => !byAccount.has(accountOf(face) ?? '')),
      )
      return withExample({ group: some, some, except: NOBODY })
    })
    return { classes: [...classes, ...others], isWhole }
  }
}

const NO_OTHERS = { clients: [], isWhole: true }

const withExample = (one: Omit<Class, 'example'>): Class[] => {
  const example = one.some.find((client) => !one.except.has(client))
  return example ? [{ ...one, example }] : []
}

/** Maps each account to the lists in policies that contain it. */
const listsOf = (policies: readonly KubernetesObject[], accounts: readonly string[]): Map<string, string[]> => {
  const lists = new Map<string, string[]>()
  const add = (name: string, list: string) => lists.set(name, [...(lists.get(name) ?? []), list])
  for (const [index, policy] of policies.entries())
    for (const { name, list } of sourcesOf(policy).accounts) add(name, `${index} ${list}`)
  for (const name of accounts) add(name, name)
  return lists
}

const MOST_KNOWN = 16

const NOBODY: ReadonlySet<Client> = new Set()

const accountOf = (face: Face | undefined): string | undefined => face?.account && accountName(face.account)
