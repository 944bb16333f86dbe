import { readAuthorizationPolicy } from '../../../mesh/istio/authorization-policy.ts'
import { accountOf, principal } from '../../../mesh/istio/names.ts'
import { trustDomainsIn, valuesIn } from '../../../mesh/istio/rule-values.ts'
import { perObject } from '../../../platform/base/per-object.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import type { Account } from '../../authorization/accounts.ts'
import { matchesGlob, matchesText } from '../../authorization/evaluate/text.ts'

/** The clients that a policy names. */
type Sources = {
  readonly accounts: readonly NamedAccount[]
  /** Patterns that several clients may match. */
  readonly patterns: readonly Pattern[]
  /** Blocks of addresses. */
  readonly blocks: readonly string[]
  /** The trust domains in principals and in trustDomains. */
  readonly trustDomains: readonly string[]
}

/** An account by its full name, `namespace/account`. Accounts in the same list and trust domain are treated alike. */
type NamedAccount = { readonly name: string; readonly list: string }

export type Pattern = { readonly of: 'principal' | 'namespace'; readonly text: string }

export const accountName = ({ namespace, serviceAccount }: Account): string => `${namespace}/${serviceAccount}`

/** Lists the sources that a policy names, in any field. An unreadable policy names none: the requests that it may match are undecided anyway. */
export const sourcesOf = perObject((object: KubernetesObject): Sources => {
  const read = readAuthorizationPolicy(object)
  const rules = 'policy' in read ? (read.policy.spec.rules ?? []) : []
  const lists = rules.flatMap(valuesIn)
  const { namespace } = object.metadata
  const of = (attribute: string) => lists.flatMap((one) => (one.of === attribute ? one.values : []))
  const principals = of('source.principal')
  return {
    accounts: lists.flatMap(({ of: attribute, values }, index) => {
      if (attribute === 'source.principal') return values.flatMap((text) => wholeAccount(text, index))
      if (attribute !== 'source.serviceAccount') return []
      return values.map((text) => ({ name: text.includes('/') ? text : `${namespace}/${text}`, list: `${index}` }))
    }),
    patterns: [
      ...of('source.namespace').map((text) => ({ of: 'namespace' as const, text })),
      ...principals
        .filter((text) => wholeAccount(text, 0).length === 0)
        .map((text) => ({ of: 'principal' as const, text })),
    ],
    blocks: of('source.ip'),
    trustDomains: rules.flatMap(trustDomainsIn).filter((domain) => domain !== '' && !domain.includes('*')),
  }
})

/** Extracts `shop/web` from `cluster.local/ns/shop/sa/web`. No other account can match it in any trust domain. */
const wholeAccount = (text: string, list: number): NamedAccount[] => {
  const account = accountOf(text)
  return account && !account.trustDomain.includes('*')
    ? [{ name: accountName(account), list: `${list} ${account.trustDomain}` }]
    : []
}

/** Computes a text from the patterns that an account matches, as any proxy compares them. Accounts with the same text match the same patterns. */
export const signatureOf = (account: Account, patterns: readonly Pattern[], trustDomains: readonly string[]): string =>
  patterns
    .map(({ of, text }) => {
      const principals = trustDomains.map((trustDomain) => principal({ trustDomain, ...account }))
      const bits =
        of === 'principal'
          ? principals.map((one) => matchesText(text, one))
          : [matchesText(text, account.namespace), ...principals.map((one) => matchesGlob(`*/ns/${text}/*`, one))]
      return bits.map(Number).join('')
    })
    .join(' ')
