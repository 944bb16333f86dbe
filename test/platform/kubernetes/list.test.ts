import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createMemo } from '../../../src/platform/base/memo.ts'
import { parseList } from '../../../src/platform/kubernetes/list.ts'

type Metadata = Readonly<Record<string, string | number>>

/** Lists as the API server writes them: those of built-in kinds in the order of their fields, custom resources in that of the alphabet. */
const forms = {
  'built-in kinds': (metadata: Metadata, items: readonly unknown[]) =>
    `${JSON.stringify({ kind: 'ConfigMapList', apiVersion: 'v1', metadata, items })}\n`,
  'custom resources': (metadata: Metadata, items: readonly unknown[]) =>
    `${JSON.stringify({ apiVersion: 'security.istio.io/v1', items, kind: 'AuthorizationPolicyList', metadata })}\n`,
}

const item = (name: string, text = '') => ({ metadata: { name, annotations: { text } }, spec: { metadata: {} } })

describe.each(Object.entries(forms))('a list of %s', (_, write) => {
  test('a list has the same objects while it has the same items, whatever its own metadata', () => {
    const memo = createMemo()
    const moments: Metadata[] = [
      { resourceVersion: '1' },
      { continue: 'e30=', remainingItemCount: 3, resourceVersion: '22' },
      {},
    ]
    const [one, other, last] = moments.map((metadata) => parseList(write(metadata, [item('a'), item('b')]), memo))
    expect(other?.items).toBe(one?.items)
    expect(last?.items).toBe(one?.items)
    expect(other?.metadata).toEqual({ continue: 'e30=', remainingItemCount: 3, resourceVersion: '22' })
  })

  test('a list has other objects as soon as any item differs', () => {
    const memo = createMemo()
    const metadata = { resourceVersion: '1' }
    parseList(write(metadata, [item('a'), item('b')]), memo)
    const { items } = parseList(write(metadata, [item('a'), item('b', 'changed')]), memo)
    expect(items).toMatchObject([item('a'), item('b', 'changed')])
  })

  test('a list is read as it is, whatever stands in its items and its metadata', () => {
    const text = fc.oneof(
      fc.string(),
      fc.constantFrom(
        ',"metadata":{}}',
        '"},"items":[',
        '},"kind":"ConfigMapList","metadata":{"resourceVersion":"1"}}',
        '{',
      ),
    )
    const metadata = fc.dictionary(fc.constantFrom('resourceVersion', 'continue', 'selfLink'), text)
    const entry = fc.record({
      metadata: fc.dictionary(fc.constantFrom('name', 'a}', 'metadata'), text),
      spec: fc.jsonValue(),
    })
    fc.assert(
      fc.property(fc.array(fc.record({ metadata, items: fc.array(entry) }), { maxLength: 4 }), (lists) => {
        const memo = createMemo()
        for (const { metadata: own, items } of lists) {
          const list = JSON.parse(write(own, items))
          const [kind, apiVersion] = [list.kind.replace('List', ''), list.apiVersion]
          const expected = { ...list, items: list.items.map((one: object) => ({ ...one, kind, apiVersion })) }
          expect(parseList(write(own, items), memo)).toEqual(expected)
        }
      }),
    )
  })
})

test('an empty list may have null for items', () => {
  const text = '{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":null}'
  expect(parseList(text, createMemo())).toEqual(JSON.parse(text))
})
