import type { AuthorizationPolicy, OperationField } from '../../mesh/istio/authorization-policy.ts'
import { valuesIn } from '../../mesh/istio/rule-values.ts'
import { createMemo } from '../../platform/base/memo.ts'
import { perObject } from '../../platform/base/per-object.ts'
import { matchesPath } from '../authorization/evaluate/path.ts'
import { matchesGlob, matchesHost, matchesText } from '../authorization/evaluate/text.ts'
import { hostCases } from './host-cases.ts'
import { overlapsOf } from './overlaps.ts'

/** A value that represents all values that policies treat alike. These match `label`, or any value without a label, and match none of `not`. */
export type Witness = {
  readonly value: string | undefined
  readonly label?: string
  readonly not: readonly string[]
}

/** A field of an operation with witnesses. Ports are compared one by one instead. */
type Field = Exclude<OperationField, 'ports'>
type Witnesses = { readonly [field in Field]: readonly Witness[] } & {
  /** False if policies distinguish more requests than these: by crossing paths, or outside of all patterns. */
  readonly isWhole: boolean
}

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT']

type Text = {
  readonly matches: (pattern: string, value: string) => boolean
  /** Makes a value that a pattern matches. `filler` replaces wildcards, with `tail` if they may have several segments. */
  readonly of: (pattern: string, filler: string, tail: string) => string
  /** Makes values that probably no pattern matches. `mark` and `end` vary their start and end. */
  readonly others: (mark: string, end: string, depth: number) => readonly string[]
}

const TEXTS: Readonly<Record<Field, Text>> = {
  hosts: {
    matches: matchesHost,
    of: (pattern, filler) => pattern.replaceAll('*', filler),
    others: (mark, end) => ['none-of-the-others.invalid', `${mark}any-other.tes${end}`],
  },
  methods: {
    matches: matchesText,
    of: (pattern, filler) => pattern.replaceAll('*', filler.toUpperCase()),
    others: (mark, end) => [...METHODS, `${mark}-OTHER-${end}`.toUpperCase()],
  },
  paths: {
    matches: matchesPath,
    of: (pattern, filler, tail) => {
      const path = pattern
        .replaceAll('{**}', `${filler}/y`)
        .replaceAll('{*}', filler)
        .replaceAll('*', `${filler}${tail}`)
      return path.startsWith('/') ? path : `/${path}`
    },
    others: (mark, end, depth) => [OTHER_PATH, `/${mark}~${'/~'.repeat(depth)}${end}`],
  },
}

const OTHER_PATH = '/.meshstep/none-of-the-others'

/** Rewrites a sentence about the path that represents all others. */
export const ofAnyOtherPath = (sentence: string): string => sentence.replace(` ${OTHER_PATH}`, ' for any other path')

const FILLERS = ['x', 'qz', '0-0']

/** Lists the hosts, methods and paths that the policies distinguish: one for each set of patterns with a common match, and one that matches none. */
export const witnessesOf = (policies: readonly AuthorizationPolicy[]): Witnesses => {
  const [hosts, methods, paths] = [
    // a condition distinguishes upper and lower case of hosts, an operation does not
    witnesses('hosts', namedIn(policies, 'host'), namedIn(policies, 'request.headers[:authority]')),
    witnesses('methods', namedIn(policies, 'request.headers[:method]')),
    witnesses('paths', namedIn(policies, 'path')),
  ]
  return {
    ...{ hosts: hosts.all, methods: methods.all, paths: paths.all },
    isWhole: hosts.isWhole && methods.isWhole && paths.isWhole,
  }
}

type Told = { readonly all: readonly Witness[]; readonly isWhole: boolean }

const witnesses = (field: Field, plain: readonly string[], cased: readonly string[] = []): Told =>
  known(JSON.stringify([field, plain, cased]), witnessesFor)

/** Many clients and ports have the same few policies. */
const known = createMemo(256 * 1024)

const witnessesFor = (text: string): Told => {
  const [field, plain, cased]: [Field, string[], string[]] = JSON.parse(text)
  const { matches, of } = TEXTS[field]
  const named = [...new Set([...plain, ...cased])]
  const matched = (value: string) => [
    ...plain.filter((pattern) => matches(pattern, value)),
    ...cased.filter((pattern) => matchesText(pattern, value)).map((pattern) => `${pattern} as it is`),
  ]
  const other = otherThan(field, named, (value) => matched(value).length > 0)
  // a host is given only if policies name one, and most name none
  if (named.length === 0) return { all: [{ value: field === 'hosts' ? undefined : other, not: [] }], isWhole: true }
  const least = (values: readonly string[]) =>
    values.toSorted((one, other) => matched(one).length - matched(other).length)[0] ?? ''
  const { overlaps: crossing, isWhole } = field === 'paths' ? overlapsOf(named) : NONE
  const labels = [...named, ...overlaps(named)].flatMap((label) =>
    field === 'hosts' ? hostCases(label, cased) : [label],
  )
  // deeper than any template
  const tails = ['', '/y'.repeat(depthOf(named))]
  const labelled = [
    ...labels.map((label) => ({
      label,
      value: least(tails.flatMap((tail) => FILLERS.map((filler) => of(label, filler, tail)))),
    })),
    ...crossing.map(({ patterns, value }) => ({ label: patterns.join(BOTH), value })),
  ]
  const found = new Map<string, Witness>()
  for (const { label, value } of labelled) {
    const set = matched(value)
    const key = JSON.stringify(set)
    if (set.length > 0 && !found.has(key)) found.set(key, { label, value, not: [] })
  }
  const all = [...found.values()]
  const isWithin = cased.length === 0 ? matches : matchesText
  return {
    all: [
      ...all.map((one) => ({ ...one, not: narrower(one, all, isWithin) })),
      ...(other === undefined ? [] : [{ value: other, not: named }]),
    ],
    isWhole: isWhole && (other !== undefined || named.some((pattern) => WHATEVER.includes(pattern))),
  }
}

/** Patterns that match every value. */
const WHATEVER = ['*', '/*', '{**}', '/{**}']

/** Finds a value that no pattern matches. Returns undefined if it finds none. */
const otherThan = (
  field: Field,
  named: readonly string[],
  isMatched: (value: string) => boolean,
): string | undefined => {
  const depth = depthOf(named)
  for (const mark of MARKS)
    for (const end of MARKS) {
      const found = TEXTS[field].others(mark, end, depth).find((value) => !isMatched(value))
      if (found !== undefined) return found
    }
  return undefined
}

/** Returns the largest number of segments in a pattern. */
const depthOf = (named: readonly string[]): number => Math.max(0, ...named.map((pattern) => pattern.split('/').length))

const MARKS = ['t', 'q', ...'abcdefghijklmnoprsuvwxyz0123456789']

const NONE = { overlaps: [], isWhole: true }

/** Lists the other patterns that overlap with this one and do not match its example. */
const narrower = ({ label = '', value }: Witness, all: readonly Witness[], matches: Text['matches']): string[] =>
  all.flatMap((other) =>
    other.label !== undefined &&
    other.label !== label &&
    matchesLabel(label, other.value ?? '', matches) &&
    !matchesLabel(other.label, value ?? '', matches)
      ? [other.label]
      : [],
  )

/** Separates patterns that all match. No pattern has a blank. */
const BOTH = ' & '

const matchesLabel = (label: string, value: string, matches: Text['matches']): boolean =>
  label.split(BOTH).every((pattern) => (isOverlap(pattern) ? matchesGlob : matches)(pattern, value))

/** Tells if a label is made of two patterns. Only then is a `*` in its middle. */
const isOverlap = (label: string): boolean => /[^*{]\*[^*}]/.test(label)

/** Lists labels that begin as one pattern and end as another. */
const overlaps = (named: readonly string[]): string[] => {
  const isPrefix = (text: string) => text.length > 1 && text.endsWith('*') && !text.startsWith('*')
  const isSuffix = (text: string) => text.length > 1 && text.startsWith('*') && !text.endsWith('*')
  return named
    .filter(isPrefix)
    .flatMap((prefix) => named.filter(isSuffix).map((suffix) => `${prefix}${suffix.slice(1)}`))
}

/** Lists the ports that policies name. */
export const portsIn = (policies: readonly AuthorizationPolicy[]): number[] => [
  ...new Set(namedIn(policies, 'destination.port').map(Number).filter(Number.isInteger)),
]

const namedIn = (policies: readonly AuthorizationPolicy[], attribute: string): string[] =>
  [...new Set(policies.flatMap((policy) => valuesOf(policy).get(attribute) ?? []))].toSorted()

const valuesOf = perObject(({ spec: { rules = [] } }: AuthorizationPolicy): ReadonlyMap<string, readonly string[]> => {
  const byAttribute = Map.groupBy(rules.flatMap(valuesIn), ({ of }) => of)
  return new Map([...byAttribute].map(([of, some]) => [of, some.flatMap(({ values }) => values)]))
})
