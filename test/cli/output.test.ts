import { stripVTControlCharacters, styleText } from 'node:util'
import { expect, test } from 'vitest'
import { aligned } from '../../src/cli/output.ts'

const TABLE = {
  titles: ['APPLICATION', 'STATUS', 'MESH'],
  rows: [
    ['shop/error', 'active', 'no'],
    ['shop/web', 'blocked', 'yes'],
    ['shop/constructor', 'constructor', 'no'],
  ],
}
const PLAIN = `APPLICATION       STATUS       MESH
shop/error        active       no
shop/web          blocked      yes
shop/constructor  constructor  no`

const ALWAYS = { validateStream: false }

test('a table is aligned, and has no colours but for a terminal', () => {
  expect(aligned(TABLE)).toBe(PLAIN)
  expect(aligned(TABLE, false)).toBe(PLAIN.split('\n').slice(1).join('\n'))
})

test('at a terminal a status has its colour, and nothing else has one; columns stay aligned', () => {
  const text = aligned(TABLE, true, true)
  expect(text).toContain(`shop/error        ${styleText('green', 'active', ALWAYS)}       no`)
  expect(text).toContain(`shop/web          ${styleText('red', 'blocked', ALWAYS)}      yes`)
  expect(stripVTControlCharacters(text)).toBe(PLAIN)
})
