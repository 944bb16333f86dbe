import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  labelDifference,
  type SeenLabels,
  type WantedLabels,
} from '../../../src/platform/kubernetes/label-difference.ts'

type Held = Record<string, { value: string; by: readonly string[] }>

/** Labels on an object by who holds them; `us` is our field manager. */
const seen = (held: Held): SeenLabels => ({
  labels: Object.fromEntries(Object.entries(held).map(([key, { value }]) => [key, value])),
  holders: {
    own: new Set(Object.keys(held).filter((key) => held[key]?.by.includes('us'))),
    others: new Map(Object.entries(held).map(([key, { by }]) => [key, by.filter((manager) => manager !== 'us')])),
  },
})

const want = (labels: Record<string, string>, more: Partial<WantedLabels> = {}): WantedLabels => ({
  labels,
  unknown: [],
  inherited: {},
  ...more,
})

type Row = {
  name: string
  held: Held
  wanted: WantedLabels
  apply: Record<string, string> | undefined
  remove?: Record<string, string>
  conflicts?: unknown[]
}

const rows: Row[] = [
  {
    name: 'a foreign value is a conflict and stays',
    held: { a: { value: '1', by: ['juju'] } },
    wanted: want({ a: '2', b: '2' }),
    apply: { b: '2' },
    conflicts: [{ key: 'a', manager: 'juju', value: '1', wanted: '2' }],
  },
  {
    name: 'a value that nobody is recorded for is a conflict too',
    held: { a: { value: '1', by: [] } },
    wanted: want({ a: '2' }),
    apply: undefined,
    conflicts: [{ key: 'a', manager: 'unknown', value: '1', wanted: '2' }],
  },
  {
    name: 'an equal foreign value is shared',
    held: { a: { value: '1', by: ['juju'] } },
    wanted: want({ a: '1' }),
    apply: { a: '1' },
  },
  { name: 'a label nobody has is applied', held: {}, wanted: want({ a: '1' }), apply: { a: '1' } },
  {
    name: 'a label that was deleted by hand comes back',
    held: { b: { value: '1', by: ['us'] } },
    wanted: want({ a: '1', b: '1' }),
    apply: { a: '1', b: '1' },
  },
  {
    name: 'our own value changes with what is wanted',
    held: { a: { value: '1', by: ['us'] } },
    wanted: want({ a: '2' }),
    apply: { a: '2' },
  },
  {
    name: 'what is no longer wanted is let go of',
    held: { a: { value: '1', by: ['us'] }, b: { value: '1', by: ['juju'] } },
    wanted: want({}),
    apply: {},
  },
  {
    name: 'nothing differs, nothing is written',
    held: { a: { value: '1', by: ['us'] } },
    wanted: want({ a: '1' }),
    apply: undefined,
  },
  {
    name: 'what cannot be told is kept, where it is ours',
    held: { a: { value: '1', by: ['us'] }, b: { value: '1', by: ['juju'] } },
    wanted: want({}, { unknown: 'all' }),
    apply: undefined,
  },
  {
    name: 'a key that cannot be told is kept, another is let go of',
    held: { a: { value: '1', by: ['us'] }, b: { value: '1', by: ['us'] } },
    wanted: want({}, { unknown: ['a'] }),
    apply: { a: '1' },
  },
  {
    name: 'an inherited label that is not wanted is removed, whoever wrote it',
    held: { a: { value: '1', by: ['tempo'] } },
    wanted: want({}, { inherited: { a: '1' } }),
    apply: undefined,
    remove: { a: '1' },
  },
  {
    name: 'an inherited label with another value than recorded is foreign',
    held: { a: { value: '2', by: ['tempo'] } },
    wanted: want({}, { inherited: { a: '1' } }),
    apply: undefined,
  },
  {
    name: 'an inherited label that is wanted as it is, is shared',
    held: { a: { value: '1', by: ['tempo'] } },
    wanted: want({ a: '1' }, { inherited: { a: '1' } }),
    apply: { a: '1' },
  },
  {
    name: 'an inherited label that is wanted with another value is removed and applied',
    held: { a: { value: '1', by: ['tempo'] } },
    wanted: want({ a: '2' }, { inherited: { a: '1' } }),
    apply: { a: '2' },
    remove: { a: '1' },
  },
  {
    name: 'an inherited label that cannot be told is kept',
    held: { a: { value: '1', by: ['tempo'] } },
    wanted: want({}, { inherited: { a: '1' }, unknown: 'all' }),
    apply: undefined,
  },
]

test.each(rows)('$name', ({ held, wanted, apply, remove = {}, conflicts = [] }) => {
  expect(labelDifference(seen(held), wanted)).toEqual({ apply, remove, conflicts })
})

describe('for all labels', () => {
  const key = fc.constantFrom('a', 'b', 'c', 'constructor', '__proto__')
  const value = fc.constantFrom('1', '2')
  const held = fc.dictionary(key, fc.record({ value, by: fc.subarray(['us', 'juju', 'kyverno']) }))
  const wanted = fc.record({
    labels: fc.dictionary(key, value),
    unknown: fc.oneof(fc.constant('all' as const), fc.subarray(['a', 'b', 'c'])),
    inherited: fc.dictionary(key, value),
  })

  test('a foreign label is neither applied with another value nor removed', () => {
    fc.assert(
      fc.property(held, wanted, (before, desired) => {
        const { apply = {}, remove } = labelDifference(seen(before), desired)
        for (const [name, { value: current, by }] of Object.entries(before)) {
          const isForeign = by.some((manager) => manager !== 'us') && desired.inherited[name] !== current
          if (!isForeign) continue
          expect(Object.hasOwn(remove, name)).toBe(false)
          if (Object.hasOwn(apply, name)) expect(apply[name]).toBe(current)
        }
      }),
    )
  })

  test('each wanted label is held or named as a conflict, never both', () => {
    fc.assert(
      fc.property(held, wanted, (before, desired) => {
        const { apply, conflicts } = labelDifference(seen(before), desired)
        for (const [name, value] of Object.entries(desired.labels)) {
          const isHeld =
            apply === undefined
              ? before[name]?.value === value && before[name].by.includes('us')
              : apply[name] === value
          expect(isHeld).toBe(!conflicts.some((conflict) => conflict.key === name))
        }
      }),
    )
  })
})
