import type { AuthorizationPolicy, OperationField } from '../../mesh/istio/authorization-policy.ts'
import { valuesIn } from '../../mesh/istio/rule-values.ts'
import { createMemo } from '../../platform/base/memo.ts'
import { perObject } from '../../platform/base/per-object.ts'
import { matchesPath } from '../authorization/evaluate/path.ts'
import { matchesGlob, matchesText } from '../authorization/evaluate/text.ts'
import { hostCases, matchesHost } from './host-cases.ts'
import { overlapsOf } from './overlaps.ts'

/**
 * A value that stands for all that policies do not tell apart from it: of what matches `label`, or of all where there is none, what matches none of
 * `not`.
 */
export type Witness = {
  readonly value: string | undefined
  readonly label?: string
  readonly not: readonly string[]
}

/** A field of an operation that has witnesses: each port is asked for by itself. */
type Field = Exclude<OperationField, 'ports'>
type Witnesses = { readonly [field in Field]: readonly Witness[] } & {
  /** False where policies tell more requests apart than these: paths that cross one another, or whatever they leave. */
  readonly isWhole: boolean
}

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT']

type Text = {
  readonly matches: (pattern: string, value: string) => boolean
  /** Values that a pattern matches, where `filler` stands for whatever it leaves open, with `tail` where that may be several segments. */
  readonly of: (pattern: string, filler: string, tail: string) => string
  /** Values that no pattern is likely to match; `mark` and `end` are what patterns may leave open. */
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

/** Says a sentence about a path that stands for all others of these. */
export const ofAnyOtherPath = (sentence: string): string => sentence.replace(` ${OTHER_PATH}`, ' for any other path')

const FILLERS = ['x', 'qz', '0-0']

/**
 * Hosts, methods and paths on either side of what the policies say: one for each set of patterns that something matches together, and one that
 * matches none.
 */
export const witnessesOf = (policies: readonly AuthorizationPolicy[]): Witnesses => {
  const [hosts, methods, paths] = [
    // a condition tells upper and lower case of hosts apart, where an operation does not
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

const witnesses = (field: Field, named: readonly string[], cased: readonly string[] = []): Told =>
  known(JSON.stringify([field, named, cased]), readWitnesses)

/** The same few policies are asked about for many clients and ports. */
const known = createMemo(256 * 1024)

const readWitnesses = (text: string): Told => {
  const [field, named, cased] = JSON.parse(text) as [Field, string[], string[]]
  return witnessesFor(field, named, cased)
}

const witnessesFor = (field: Field, plain: readonly string[], cased: readonly string[]): Told => {
  const { matches, of } = TEXTS[field]
  const named = [...new Set([...plain, ...cased])]
  const matched = (value: string) => [
    ...plain.filter((pattern) => matches(pattern, value)),
    ...cased.filter((pattern) => matchesText(pattern, value)).map((pattern) => `${pattern} as it is`),
  ]
  const other = otherThan(field, named, (value) => matched(value).length > 0)
  // a host is asked for only where it matters, as most policies name none
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

/** Patterns that match all that there is. */
const WHATEVER = ['*', '/*', '{**}', '/{**}']

/** A value that no pattern matches; undefined where none is found. */
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

/** The most segments that a pattern has. */
const depthOf = (named: readonly string[]): number => Math.max(0, ...named.map((pattern) => pattern.split('/').length))

const MARKS = ['t', 'q', ...'abcdefghijklmnoprsuvwxyz0123456789']

const NONE = { overlaps: [], isWhole: true }

/** The patterns of others that match something of this one's, and not its own example. */
const narrower = ({ label = '', value }: Witness, all: readonly Witness[], matches: Text['matches']): string[] =>
  all.flatMap((other) =>
    other.label !== undefined &&
    other.label !== label &&
    matchesLabel(label, other.value ?? '', matches) &&
    !matchesLabel(other.label, value ?? '', matches)
      ? [other.label]
      : [],
  )

/** Between patterns that all match: none has a blank. */
const BOTH = ' & '

const matchesLabel = (label: string, value: string, matches: Text['matches']): boolean =>
  label.split(BOTH).every((pattern) => (isOverlap(pattern) ? matchesGlob : matches)(pattern, value))

/** Made of two patterns: a `*` between others is none of Istio's. */
const isOverlap = (label: string): boolean => /[^*{]\*[^*}]/.test(label)

/** Values that begin as one pattern says and end as another one does. */
const overlaps = (named: readonly string[]): string[] => {
  const isPrefix = (text: string) => text.length > 1 && text.endsWith('*') && !text.startsWith('*')
  const isSuffix = (text: string) => text.length > 1 && text.startsWith('*') && !text.endsWith('*')
  return named
    .filter(isPrefix)
    .flatMap((prefix) => named.filter(isSuffix).map((suffix) => `${prefix}${suffix.slice(1)}`))
}

/** The ports that policies name, beside those that something listens on. */
export const portsIn = (policies: readonly AuthorizationPolicy[]): number[] => [
  ...new Set(namedIn(policies, 'destination.port').map(Number).filter(Number.isInteger)),
]

const namedIn = (policies: readonly AuthorizationPolicy[], attribute: string): string[] =>
  [...new Set(policies.flatMap((policy) => valuesOf(policy).get(attribute) ?? []))].toSorted()

const valuesOf = perObject(({ spec: { rules = [] } }: AuthorizationPolicy): ReadonlyMap<string, readonly string[]> => {
  const byAttribute = Map.groupBy(rules.flatMap(valuesIn), ({ of }) => of)
  return new Map([...byAttribute].map(([of, some]) => [of, some.flatMap(({ values }) => values)]))
})
