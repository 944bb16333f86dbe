import { ENROLMENT_LABEL } from '../../istio/names.ts'
import { type Account, type Client, KIND_OF_ACCOUNTS } from './clients.ts'
import { accountName, type Pattern } from './policy-sources.ts'

/** Stands for the namespaces of which nothing is seen: no namespace is called so. */
export const UNSEEN = '*'

export type HiddenClients = {
  readonly clients: readonly Client[]
  /** False where patterns tell more accounts apart than are asked about. */
  readonly isWhole: boolean
}

/**
 * Makes clients of whoever may run in namespaces that cannot be read: an account for each set of patterns that one may match there. They are called `pz/*`, and `pz/sa/web-*` where
 * patterns tell some of them apart; `*` for a namespace that is not known.
 */
export const hiddenClients = (namespaces: readonly string[], patterns: readonly Pattern[]): HiddenClients => {
  const pieces = patterns.map(piecesOf)
  const accounts = examplesOf(
    pieces.flatMap(({ account }) => account ?? []),
    ANYBODY_ELSE,
  )
  const unseen = examplesOf(
    pieces.flatMap(({ namespace }) => namespace ?? []),
    UNSEEN,
  )
  const spaces = namespaces.flatMap((name) => (name === UNSEEN ? unseen : [{ value: name, label: name }]))
  const isWhole = spaces.length * accounts.length <= MOST_ACCOUNTS
  const asked = isWhole ? accounts : accounts.slice(0, 1)
  return {
    isWhole,
    clients: spaces.flatMap((space) =>
      asked.map((account) =>
        hiddenClient({ namespace: space.value, serviceAccount: account.value }, space.label, account.label),
      ),
    ),
  }
}

const MOST_ACCOUNTS = 20_000

/** No account is called so. */
const ANYBODY_ELSE = 'anybody.else'

/** A name, its beginning or its end, as a pattern says it. */
type Piece = { readonly is: 'name' | 'head' | 'tail'; readonly text: string }

type Example = { readonly value: string; readonly label: string }

/** A name for each set of pieces that it may have, and first one that has none. */
const examplesOf = (pieces: readonly Piece[], other: string): Example[] => {
  const textsOf = (is: Piece['is']) =>
    pieces.flatMap((piece) => (piece.is === is && piece.text !== '' ? [piece.text] : []))
  const examples = ['', ...textsOf('head')].flatMap((head) =>
    ['', ...textsOf('tail')].map((tail) => ({ value: `${head}${other}${tail}`, label: `${head}*${tail}` })),
  )
  const names = textsOf('name').map((name) => ({ value: name, label: name }))
  return [...new Map([...examples, ...names].map((one) => [one.value, one])).values()]
}

type Pieces = { readonly namespace?: Piece; readonly account?: Piece }

/** The words of a pattern about a namespace and about an account. */
const piecesOf = ({ of, text }: Pattern): Pieces => {
  if (of === 'namespace') return { namespace: pieceOf(text) }
  if (text.endsWith('*')) {
    const [, namespace = '', account] = /\/ns\/([^/]*)(?:\/sa\/(.*))?\*$/.exec(text) ?? []
    return account === undefined
      ? { namespace: { is: 'head', text: namespace } }
      : { namespace: { is: 'name', text: namespace }, account: { is: 'head', text: account } }
  }
  const [, before, account = ''] = /^\*(.*\/)?([^/]*)$/.exec(text) ?? []
  if (before === undefined) return { account: { is: 'tail', text: account } }
  const [, cut, namespace = ''] = /(^|\/)([^/]*)\/sa\/$/.exec(before) ?? []
  return {
    account: { is: 'name', text: account },
    namespace: { is: cut === '/' ? 'name' : 'tail', text: namespace },
  }
}

const pieceOf = (text: string): Piece => {
  if (text.endsWith('*')) return { is: 'head', text: text.slice(0, -1) }
  return text.startsWith('*') ? { is: 'tail', text: text.slice(1) } : { is: 'name', text }
}

const hiddenClient = (account: Account, namespace: string, name: string): Client => {
  const labels = { [ENROLMENT_LABEL]: 'ambient' }
  const face = {
    query: { from: { namespace: account.namespace, application: account.serviceAccount } },
    observed: {
      from: { running: [{ metadata: { labels }, spec: { serviceAccountName: account.serviceAccount } }] },
      fromNamespace: undefined,
      mesh: undefined,
    },
    account,
    kind: KIND_OF_ACCOUNTS,
  }
  const title = name === '*' ? `${namespace}/*` : accountTitle({ namespace, serviceAccount: name })
  return { name: title, namespace, faces: [face, face] }
}

const accountTitle = (account: Account): string => accountName(account).replace('/', '/sa/')
