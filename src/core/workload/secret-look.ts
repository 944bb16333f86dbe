/** Words that mark a secret at any place in a name. */
const NAMED = /PASSWORD|PASSWD|PASSPHRASE|PASSCODE|SECRET|TOKEN|CREDENTIAL|API_?KEY/i
/** Words that mark a secret at the end of a longer name. Alone, `PWD` is a directory, and `KEY` may be anything. */
const LAST = ['KEY', 'PASS', 'PW', 'PWD']
/** Words at the end of a name that refers to a secret without holding one. */
const POINTING = ['FILE', 'PATH', 'DIR', 'NAME', 'ID', 'URL', 'URI', 'HOST', 'PORT']
const PUBLIC = /PUBLIC[^A-Z0-9]?KEY[^A-Z]*$/i

/** Tells if a name suggests a secret. */
export const namesSecret = (name: string): boolean => {
  const words = wordsOf(name)
  const last = words.at(-1) ?? ''
  const isOneOfSeveral = words.length > 1
  if (PUBLIC.test(name) || (isOneOfSeveral && POINTING.includes(last))) return false
  return NAMED.test(name) || last === 'PASS' ? true : isOneOfSeveral && LAST.includes(last)
}

/** Splits `DB_PASS_2`, `db.pass` or `dbPass` into words, without a number at the end. */
const wordsOf = (name: string): string[] =>
  name
    .replace(/[^A-Za-z]+$/, '')
    .split(/[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/)
    .filter((word) => word !== '')
    .map((word) => word.toUpperCase())

/** `scheme://user:password@host` */
const IN_URL = /:\/\/[^/\s:@]*:[^/\s@]+@/
/** `user:password@host`, but not mail or package addresses, or the digest of an image, which look similar. */
const IN_DSN =
  /(?<![^\s"'=,;])(?!(?:mailto|sips?|xmpp|acct|im|pres|jid|npm|pkg|urn|data|jdbc):)[^\s:@/"'=,;]{1,128}:(?!\/\/)[^\s@/]{1,256}@(?!sha\d+:)[\w.[(]/i
/** `jdbc:oracle:thin:user/password@host` */
const IN_ORACLE_URL = /\bjdbc:oracle:\w{1,16}:[^\s/@]{1,128}\/[^\s@]{1,256}@/i
/** `-p text`, if the text is no port or path. With a user, also `-ptext`. */
const SHORT = /(?<!\S)(?:-p\s{1,8}(?!\d+(?!\S))[^\s/.-]|(?:-u|--user)[ =]?\S{1,80}\s{1,8}-p[^\s-])/
/** `password=text` in URLs, connection strings or options; `--password text`; `password text`; and `password: text` in JSON and YAML. */
const ASSIGNMENTS = [
  /(?<![\w.-])([\w.-]{1,80})=("[^"]+"|'[^']+'|[^\s;&"']+)/g,
  /"([\w.-]{1,80})"\s{0,16}:\s{0,16}("[^"]+")/g,
  /(?<![\w.-])(--?[\w.-]{1,80}|passw(?:or)?d)[ \t]{1,16}("[^"]+"|'[^']+'|[^\s;&"'=-][^\s;&"']*)/gi,
  /(?<![^\n{,])[ \t]{0,80}(?:- {1,8})?["']?([\w.-]{1,80})["']?:[ \t]{1,80}("[^"]+"|'[^']+'|[^\s"'#{[][^\n,}]*)/g,
]

const SWITCH = /^["']?(true|false|yes|no|on|off|null|none)["']?$/i

/** Tells if a text contains a secret, whatever its own name is. References to other variables do not count. */
export const holdsSecret = (text: string): boolean => {
  const own = withoutReferences(text)
  const isAddressed = own.includes('@') && [IN_URL, IN_DSN, IN_ORACLE_URL].some((pattern) => pattern.test(own))
  return isAddressed || SHORT.test(own) || ASSIGNMENTS.some((pattern) => assigns(own, pattern))
}

/** Tells if Kubernetes would replace a part of the text, `$(NAME)`, by another variable. */
export const hasReferences = (text: string): boolean => {
  const first = text.indexOf('$(')
  return first >= 0 && text.indexOf(')', first) >= 0
}

const withoutReferences = (text: string): string => {
  const [before = '', ...pieces] = text.split('$(')
  return [
    before,
    ...pieces.map((piece) => (piece.includes(')') ? piece.slice(piece.indexOf(')') + 1) : `$(${piece}`)),
  ].join('')
}

const assigns = (text: string, pattern: RegExp): boolean =>
  [...text.matchAll(pattern)].some(
    ([, name = '', value = '']) => (namesSecret(name) || /^pwd$/i.test(name)) && !SWITCH.test(value),
  )
