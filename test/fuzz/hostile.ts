import fc from 'fast-check'

/** Texts that have broken parsers, patterns, logs or prototypes before. */
const SHARP = [
  ...['', ' ', '.', '/', '//', '*', '%', '%0a', '%2F', '..', '-', '_', '\\', '"', "'", '`', '{', '[', '}', ']', ':'],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'then', 'length', 'null', 'undefined'],
  ...['NaN', '1e999', '-0', '0x10', '1'.repeat(400), 'true', '~', '!!js/function', '&a *a', '<<: *a', '---\n---'],
  ...[
    '\n',
    '\r\n',
    'a\n{"level":30}',
    '\0',
    '\u2028',
    '\u2029',
    '\x1b[2J',
    '\ud800',
    '\ufeff',
    'İ',
    'ﬀ',
    '＊',
    'shop/web\u200b',
  ],
  ...['shop/web', 'shop/db', 'SHOP/WEB', 'shop/web/', 'shop//web', 'shop/%77eb', 'web', 'db', 'kube-system', '../web'],
  ...['{"__proto__":{"polluted":1}}', '{"a":', '[1,2', '"a', '{"constructor":{"prototype":{"polluted":1}}}'],
  ...['ambient', 'none', 'istio', '"istio"', '[]', '{}', 'null', '0', '65536', '/{**}/{*}', '/a/{', '10.0.0.0/33'],
  ...['2026-01-01T00:00:00Z', '9999-12-31T23:59:60Z', '0000-00-00T00:00:00Z', '+275760-09-13T00:00:00Z'],
]

/** Texts that a pattern which backtracks, or a reader that recurses, takes for ever with. */
const LONG = [
  ...['a', '-', '.', ' ', '/', '\n', 'a.', 'a-', '{*}/', '0', '%20', '\t ', '*', 'é'].map(
    (text) => `${text.repeat(4_000)}!`,
  ),
  ...['[', '{"a":', '- ', '{a: ', '[[],', '&a [*a,', '? '].map((text) => text.repeat(3_000)),
  `x${' '.repeat(20_000)}y`,
  `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
  `${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}`,
]

export const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...SHARP) },
  { weight: 4, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
  { weight: 4, arbitrary: fc.string({ maxLength: 20 }) },
  { weight: 1, arbitrary: fc.constantFrom(...LONG) },
)

const nested = (levels: number, open: string, close: string): unknown =>
  JSON.parse(`${open.repeat(levels)}1${close.repeat(levels)}`)

const SHAPES: unknown[] = [
  ...[null, true, 0, -1, 1.5, 1e308, 2 ** 53, [], {}, [null], [[]], [{}], { '': '' }],
  ...['{"__proto__":{"polluted":1}}', '{"constructor":{"prototype":{"polluted":1}}}', '{"toString":1,"valueOf":1}'].map(
    (json) => JSON.parse(json),
  ),
  nested(63, '[', ']'),
  nested(70, '{"a":', '}'),
  nested(200, '[', ']'),
  Array.from({ length: 1_000 }, (_, index) => index),
  Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`k${index}`, `${index}`])),
]

export const value: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: text },
  { weight: 3, arbitrary: fc.constantFrom(...SHAPES) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
)

/** An edit of one place in a JSON value. */
type Edit = { at: number; what: 'replace' | 'remove' | 'add' | 'repeat' | 'quote'; key: string; by: unknown }

const edit: fc.Arbitrary<Edit> = fc.record({
  at: fc.nat(),
  what: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'add', 'repeat', 'quote'),
  key: text,
  by: value,
})

type Holder = Record<string, unknown> | unknown[]

const isHolder = (one: unknown): one is Holder => typeof one === 'object' && one !== null

/** Every place in a value: what holds it, and under which key. */
const placesIn = (holder: Holder): { holder: Holder; key: string }[] =>
  Object.entries(holder).flatMap(([key, inner]) => [{ holder, key }, ...(isHolder(inner) ? placesIn(inner) : [])])

/** Sets an own member, whatever its name is. */
const set = (holder: Holder, key: string, member: unknown): void => {
  Object.defineProperty(holder, key, { value: member, enumerable: true, configurable: true, writable: true })
}

const EDITS: Record<Edit['what'], (holder: Holder, key: string, edit: Edit) => void> = {
  replace: (holder, key, { by }) => set(holder, key, by),
  remove: (holder, key) => void Reflect.deleteProperty(holder, key),
  add: (holder, _, { key, by }) => (Array.isArray(holder) ? void holder.push(by) : set(holder, key, by)),
  repeat: (holder, key, { by }) =>
    set(
      holder,
      key,
      Array.from({ length: 40 }, () => Reflect.get(holder, key) ?? by),
    ),
  quote: (holder, key) => set(holder, key, JSON.stringify(Reflect.get(holder, key)) ?? ''),
}

const edited = (value: unknown, edits: readonly Edit[]): unknown => {
  const root = { value: structuredClone(value) }
  for (const one of edits) {
    const places = placesIn(root)
    const place = places[one.at % places.length]
    if (place) EDITS[one.what](place.holder, place.key, { ...one, by: structuredClone(one.by) })
  }
  return root.value
}

/** One of the good values, with up to three places changed. Deep values are added last, as they are walked. */
export const mutated = <T>(good: readonly T[]): fc.Arbitrary<unknown> =>
  fc.tuple(fc.constantFrom(...good), fc.array(edit, { maxLength: 3 })).map(([value, edits]) => edited(value, edits))

/** JSON of it, whole or cut short, or with other characters in between. */
export const jsonOf = (values: fc.Arbitrary<unknown>): fc.Arbitrary<string> =>
  fc
    .tuple(values, fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, fc.nat()), text)
    .map(([value, at, odd]) => {
      const json = JSON.stringify(value) ?? ''
      if (at === undefined) return json
      const place = at % (json.length + 1)
      return at % 2 === 0 ? json.slice(0, place) : `${json.slice(0, place)}${odd}${json.slice(place)}`
    })
