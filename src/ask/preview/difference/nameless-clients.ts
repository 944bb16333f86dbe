import { accountsOfPrincipal, OTHER, typicalNames } from '../../authorization/typical-accounts.ts'
import { type Client, plainClient } from './clients.ts'
import type { Pattern } from './policy-sources.ts'

/** Stands for unknown namespaces. It is no valid name of a namespace. */
export const UNSEEN = '*'

type NamelessClients = {
  readonly clients: readonly Client[]
  /** False if patterns distinguish more accounts than are compared. */
  readonly isWhole: boolean
}

const MOST_ACCOUNTS = 20_000

/**
 * Builds clients that may exist but are unknown. There is one account for each set of patterns that one account may match, in the namespaces that patterns
 * distinguish, and in `unread` ones. Their names show the open part as `*`, as in `pz/sa/web-*`, and an unknown namespace as `*`. `pz/*` is any other
 * client of a namespace without known clients.
 */
export const namelessClients = (
  patterns: readonly Pattern[],
  unread: readonly string[],
  isInhabited: (namespace: string) => boolean,
): NamelessClients => {
  const named = patterns.map(({ of, text }) => (of === 'namespace' ? { namespace: text } : accountsOfPrincipal(text)))
  const namesOf = (part: 'namespace' | 'serviceAccount') => typicalNames(named.flatMap((one) => one[part] ?? []))
  const [namespaces, accounts] = [namesOf('namespace'), namesOf('serviceAccount')]
  const spaces = new Set([...unread.filter((name) => name !== UNSEEN), ...(namespaces ?? [OTHER])])
  const isWhole = namespaces !== undefined && accounts !== undefined && spaces.size * accounts.length <= MOST_ACCOUNTS
  return {
    isWhole,
    clients: [...spaces].flatMap((namespace) =>
      (isWhole ? accounts : [OTHER]).map((serviceAccount) => {
        const [home, name] = [namespace, serviceAccount].map((part) => part.replace(OTHER, '*')) as [string, string]
        const isAnybody = serviceAccount === OTHER && !isInhabited(namespace)
        return plainClient({ namespace, serviceAccount }, isAnybody ? `${home}/*` : `${home}/sa/${name}`, home)
      }),
    ),
  }
}
