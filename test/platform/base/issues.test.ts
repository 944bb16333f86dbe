import { expect, test } from 'vitest'
import * as z from 'zod'
import { describeIssues } from '../../../src/platform/base/issues.ts'

const Port = z.int('expected a port')

const describe = (value: unknown): string => {
  const schema = z.strictObject({ expect: z.array(z.strictObject({ port: Port })) })
  const { error } = schema.safeParse(value)
  if (!error) throw new Error('expected problems')
  return describeIssues(error)
}

test('problems are told in one line, each with where it is', () => {
  expect(describe({ expect: [{ port: 1 }, { port: 'x' }], more: 1 })).toBe(
    'expect[1].port: expected a port; Unrecognized key: "more"',
  )
})

test('problems beyond the fifth are counted', () => {
  const told = describe({ expect: Array.from({ length: 7 }, () => ({ port: 'x' })) })
  expect(told).toMatch(/^expect\[0\]\.port: .*; expect\[4\]\.port: expected a port and 2 more$/)
})
