import { accountsOfPrincipal, OTHER, typicalNames } from '../../authorization/typical-accounts.ts'
import { type Client, plainClient } from './clients.ts'
import type { Pattern } from './policy-sources.ts'

/** Stands for the namespaces of which nothing is seen: no namespace is called so. */
export const UNSEEN = '*'

export type NamelessClients = {
  readonly clients: readonly Client[]
  /** False where patterns tell more accounts apart than are asked about. */
  readonly isWhole: boolean
}

const MOST_ACCOUNTS = 20_000

/**
 * Makes clients of whoever may be there and is not known: an account for each set of patterns that one may match, in the namespaces that patterns tell apart and
 * in `unread` ones. They are called `pz/sa/web-*` by what patterns leave open, and `*` for a namespace that is not known; `pz/*` is whoever else is in one
 * of which nobody is known.
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
