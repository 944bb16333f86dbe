import type { KubernetesObject } from '../../kubernetes/objects.ts'
import type { Client, Face } from './clients.ts'
import { indexOf, under } from './index-of.ts'
import { accountName, signatureOf, sourcesOf } from './policy-sources.ts'

/** Clients that all policies of a target treat alike, on both sides: all of `some` but for `except`. */
export type Class = {
  /** All that differ from these in their accounts alone. */
  readonly group: readonly Client[]
  readonly some: readonly Client[]
  readonly except: ReadonlySet<Client>
  /** One of them, which stands for all. */
  readonly example: Client
}

/** Divides clients into classes, for a target that these policies decide for. */
export type Classify = (policies: readonly KubernetesObject[], accounts: readonly string[]) => Class[]

/**
 * Prepares the division of clients. It costs as much as policies name: those that name nobody in particular are told apart once, for all targets
 * whose policies have the same patterns.
 */
export const createClassify = (clients: readonly Client[], trustDomains: readonly string[]): Classify => {
  const byAccount = indexOf(clients, ({ faces }) => new Set(faces.flatMap((face) => accountOf(face) ?? [])))
  const known = new Map<
    string,
    { groups: readonly (readonly Client[])[]; groupOf: ReadonlyMap<Client, readonly Client[]> }
  >()

  /** Groups clients by what they match of patterns, whatever their accounts are. */
  const grouped = (policies: readonly KubernetesObject[]) => {
    const patterns = [
      ...new Map(policies.flatMap((one) => sourcesOf(one).patterns).map((one) => [`${one.of} ${one.text}`, one])),
    ]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([, pattern]) => pattern)
    const key = JSON.stringify(patterns)
    const found = known.get(key)
    if (found) return found
    const sign = (face: Face | undefined) =>
      face ? `${face.kind} ${face.account ? signatureOf(face.account, patterns, trustDomains) : ''}` : ''
    const groups = [...Map.groupBy(clients, ({ faces }) => faces.map(sign).join('\n')).values()]
    const made = { groups, groupOf: new Map(groups.flatMap((group) => group.map((one) => [one, group] as const))) }
    // targets come by namespace, and those of one have mostly the same patterns
    if (known.size >= MOST_KNOWN) known.clear()
    known.set(key, made)
    return made
  }

  return (policies, accounts) => {
    const { groups, groupOf } = grouped(policies)
    const lists = listsOf(policies, accounts)
    const named = under(byAccount, lists.keys())
    const byLists = Map.groupBy(named, (one) =>
      JSON.stringify([
        groups.indexOf(groupOf.get(one) ?? []),
        ...one.faces.map((face) => lists.get(accountOf(face) ?? '')),
      ]),
    )
    const takenOf = Map.groupBy(named, (one) => groupOf.get(one))
    return [
      ...[...byLists.values()].map((some) => ({ group: groupOf.get(some[0] as Client) ?? some, some, except: NOBODY })),
      ...groups.map((group) => ({ group, some: group, except: new Set(takenOf.get(group) ?? []) })),
    ].flatMap((one) => {
      const example = one.some.find((client) => !one.except.has(client))
      return example ? [{ ...one, example }] : []
    })
  }
}

/** The lists of policies that each account is in. */
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
