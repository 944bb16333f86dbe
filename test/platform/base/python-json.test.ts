import { expect, test } from 'vitest'
import { pythonJson } from '../../../src/platform/base/python-json.ts'

test.each([
  [{}, '{}'],
  [[], '[]'],
  [
    { labels: { 'istio.io/dataplane-mode': 'ambient', b: '' } },
    '{"labels": {"istio.io/dataplane-mode": "ambient", "b": ""}}',
  ],
  [[1, null, true, 'a"b'], '[1, null, true, "a\\"b"]'],
  ['ü€🔥\u007f\n', '"\\u00fc\\u20ac\\ud83d\\udd25\\u007f\\n"'],
])('%j', (value, text) => {
  expect(pythonJson(value)).toBe(text)
})
