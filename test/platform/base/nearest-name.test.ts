import { expect, test } from 'vitest'
import * as z from 'zod'
import { nearestName, suggestKeys } from '../../../src/platform/base/nearest-name.ts'

test.each([
  ['polices', 'policies'],
  ['port', 'ports'],
  ['hostnetwork', 'hostNetwork'],
  ['ues', 'use'],
  ['prots', 'ports'],
  ['labels', undefined],
])('of a few names, the one that is near %s is %s', (name, near) => {
  expect(nearestName(name, ['policies', 'hostNetwork', 'use', 'ports'])).toBe(near)
})

test.each([
  [{ port: [1] }, 'Unrecognized key: "port", did you mean ports?'],
  [{ other: 1 }, 'Unrecognized key: "other"'],
  [
    { port: [1], other: 1, polices: 1 },
    'Unrecognized keys: "port", "other", "polices", did you mean ports or policies?',
  ],
])('a strict object refuses %j with the keys that may be meant', (value, message) => {
  const { error } = z
    .strictObject({ ports: z.unknown().optional(), policies: z.unknown().optional() })
    .safeParse(value, { error: suggestKeys })
  expect(error?.issues.map((issue) => issue.message)).toEqual([message])
})

test('a problem of another kind keeps its own message', () => {
  const { error } = z.strictObject({ ports: z.string('expected ports') }).safeParse({}, { error: suggestKeys })
  expect(error?.issues.map((issue) => issue.message)).toEqual(['expected ports'])
})
