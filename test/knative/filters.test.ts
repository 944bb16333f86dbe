import { expect, test } from 'vitest'
import { matches } from './filters.ts'
import type { Filter } from './kinds.ts'

const attributes = { type: 'a.b', source: '/x/y' }

const rows: [Filter, boolean][] = [
  [{ exact: { type: 'a.b' } }, true],
  [{ exact: { type: 'a' } }, false],
  [{ exact: { type: 'a.b', source: '/x' } }, false],
  [{ exact: { subject: 'a.b' } }, false],
  [{ prefix: { type: 'a.' } }, true],
  [{ prefix: { type: '.b' } }, false],
  [{ suffix: { source: '/y' } }, true],
  [{ suffix: { source: '/x' } }, false],
  [{ all: [{ exact: { type: 'a.b' } }, { exact: { source: '/x/y' } }] }, true],
  [{ all: [{ exact: { type: 'a.b' } }, { exact: { source: '/x' } }] }, false],
  [{ any: [{ exact: { type: 'a' } }, { exact: { source: '/x/y' } }] }, true],
  [{ any: [{ exact: { type: 'a' } }, { exact: { source: '/x' } }] }, false],
  [{ not: { exact: { type: 'a' } } }, true],
  [{ not: { exact: { type: 'a.b' } } }, false],
]

test.each(rows)('%j is %s', (filter, expected) => expect(matches(filter, attributes)).toBe(expected))
