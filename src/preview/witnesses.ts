import { matchesPath } from '../authorization/evaluate/path.ts'
import { matchesGlob, matchesText } from '../authorization/evaluate/text.ts'
import { createMemo } from '../base/memo.ts'
import { perObject } from '../base/per-object.ts'
import {
  type AuthorizationPolicy,
  negated,
  type Operation,
  type OperationField,
} from '../istio/authorization-policy.ts'
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
  /** False where policies name more paths that cross one another than are told apart. */
  readonly isWhole: boolean
}

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT']

type Text = {
  readonly matches: (pattern: string, value: string) => boolean
  /** Values that a pattern matches, where `filler` stands for whatever it leaves open. */
  readonly of: (pattern: string, filler: string) => string
  /** Values that no pattern is likely to match. */
  readonly others: readonly string[]
  /** The condition that says the same. */
  readonly key?: string
}

const TEXTS: Readonly<Record<Field, Text>> = {
  hosts: {
    // a condition tells upper and lower case apart: whatever is sent is as it is named
    matches: (pattern, value) => matchesText(pattern.toLowerCase(), value.toLowerCase()),
    of: (pattern, filler) => pattern.replaceAll('*', filler),
    others: ['none-of-the-others.invalid', 'any-other.test'],
    key: 'request.headers[:authority]',
  },
  methods: {
    matches: matchesText,
    of: (pattern, filler) => pattern.replaceAll('*', filler.toUpperCase()),
    others: METHODS,
    key: 'request.headers[:method]',
  },
  paths: {
    matches: matchesPath,
    of: (pattern, filler) => {
      const path = pattern.replaceAll('{**}', `${filler}/y`).replaceAll('{*}', filler).replaceAll('*', filler)
      return path.startsWith('/') ? path : `/${path}`
    },
    others: ['/.meshstep/none-of-the-others', '/~any'],
  },
}

const FILLERS = ['x', 'qz', '0-0']

/**
 * Hosts, methods and paths on either side of what the policies say: one for each set of patterns that something matches together, and one that
 * matches none.
 */
export const witnessesOf = (policies: readonly AuthorizationPolicy[]): Witnesses => {
  const paths = witnesses('paths', policies)
  return {
    hosts: witnesses('hosts', policies).all,
    methods: witnesses('methods', policies).all,
    paths: paths.all,
    isWhole: paths.isWhole,
  }
}

type Told = { readonly all: readonly Witness[]; readonly isWhole: boolean }

const witnesses = (field: Field, policies: readonly AuthorizationPolicy[]): Told =>
  known(JSON.stringify([field, namedIn(policies, field)]), readWitnesses)

/** The same few policies are asked about for many clients and ports. */
const known = createMemo(256 * 1024)

const readWitnesses = (text: string): Told => {
  const [field, named] = JSON.parse(text) as [Field, string[]]
  return witnessesFor(field, named)
}

const witnessesFor = (field: Field, named: readonly string[]): Told => {
  const { matches, of, others } = TEXTS[field]
  // a host is asked for only where it matters, as most policies name none
  if (named.length === 0) return { all: [{ value: field === 'hosts' ? undefined : others[0], not: [] }], isWhole: true }
  const matched = (value: string) => named.filter((pattern) => matches(pattern, value))
  const least = (values: readonly string[]) =>
    values.toSorted((one, other) => matched(one).length - matched(other).length)[0] ?? ''
  const { overlaps: crossing, isWhole } = field === 'paths' ? overlapsOf(named) : NONE
  const labelled = [
    ...[...named, ...overlaps(named)].map((label) => ({
      label,
      value: least(FILLERS.map((filler) => of(label, filler))),
    })),
    ...crossing.map(({ patterns, value }) => ({
      label: patterns.join(BOTH),
      value,
    })),
  ]
  const found = new Map<string, Witness>()
  for (const { label, value } of labelled) {
    const set = matched(value)
    const key = JSON.stringify(set)
    if (set.length > 0 && !found.has(key)) found.set(key, { label, value, not: [] })
  }
  const other = others.find((value) => matched(value).length === 0)
  const all = [...found.values()]
  return {
    all: [
      ...all.map((one) => ({ ...one, not: narrower(one, all, matches) })),
      ...(other === undefined ? [] : [{ value: other, not: named }]),
    ],
    isWhole,
  }
}

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
  ...new Set(namedIn(policies, 'ports').map(Number).filter(Number.isInteger)),
]

const namedIn = (policies: readonly AuthorizationPolicy[], field: OperationField): string[] =>
  [...new Set(policies.flatMap((policy) => namesOf(policy)[field]))].toSorted()

const namesOf = perObject(({ spec: { rules = [] } }: AuthorizationPolicy): Record<OperationField, string[]> => {
  const operations = rules.flatMap(({ to = [] }) => to.flatMap(({ operation }) => operation ?? []))
  const conditions = rules.flatMap(({ when = [] }) => when)
  const named = (field: OperationField, key?: string): string[] => [
    ...operations.flatMap((operation: Operation) => [
      ...(operation[field] ?? []),
      ...(operation[negated(field)] ?? []),
    ]),
    ...conditions.flatMap((one) => (one.key === key ? [...(one.values ?? []), ...(one.notValues ?? [])] : [])),
  ]
  return {
    hosts: named('hosts', TEXTS.hosts.key),
    methods: named('methods', TEXTS.methods.key),
    paths: named('paths'),
    ports: named('ports', 'destination.port'),
  }
})
