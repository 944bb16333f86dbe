import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  type Directive,
  lengthOf,
  literal,
  render,
} from '../../../../src/features/coordinated-workers/nginx/directives.ts'
import { nginxConfiguration } from '../../../../src/features/coordinated-workers/nginx/routing.ts'
import { nasty } from './arbitraries.ts'
import { send } from './clients.ts'
import { freePorts, serveFile } from './nginx.ts'
import { parse } from './nginx-file.ts'
import { nginxProgram } from './nginx-program.ts'
import { routingOf } from './routing.ts'

test.each<[string, Directive, string]>([
  ['a directive', ['listen', '80'], 'listen 80;\n'],
  ['an empty parameter', ['proxy_set_header', 'Connection', ''], 'proxy_set_header Connection "";\n'],
  ['an empty block', ['events', []], 'events {\n}\n'],
  [
    'a block in a block',
    ['http', [['server', [['listen', '80']]]]],
    'http {\n    server {\n        listen 80;\n    }\n}\n',
  ],
  ['spaces and braces', ['return', '200', 'a {b};'], 'return 200 "a {b};";\n'],
  ['quotes and backslashes', ['return', '200', 'a"b\\'], 'return 200 "a\\"b\\\\";\n'],
])('%s', (_, directive, text) => {
  expect(render([directive])).toBe(text)
})

const word = nasty.filter((text) => lengthOf(literal(text)) < 4000)
const leaf = fc.array(fc.oneof(word, fc.constantFrom('listen', '=', '$host')), { minLength: 1, maxLength: 3 })
const tree: fc.Arbitrary<Directive[]> = fc.letrec<{ block: Directive[] }>((tie) => ({
  block: fc.array(
    fc
      .tuple(leaf, fc.option(tie('block'), { depthSize: 'small' }))
      .map(
        ([[name = '', ...parameters], block]): Directive =>
          block === null ? [name, ...parameters] : [name, ...parameters, block],
      ),
    { maxLength: 3 },
  ),
})).block

test('what is written is what is read', () => {
  fc.assert(
    fc.property(tree, (directives) => {
      expect(parse(render(directives))).toEqual(directives)
    }),
  )
})

describe.skipIf(nginxProgram === undefined)('with a real nginx (skipped without one)', () => {
  test('any text is read as what it is', async () => {
    const words = fc.sample(word, { numRuns: 300, seed: 1 })
    const locations = words.map(
      (text, index): Directive => ['location', '=', `/${index}`, [['return', '200', literal(text)]]],
    )
    const httpPort = await freePorts(1)
    const { text } = nginxConfiguration(routingOf({ ports: { httpPort, httpsPort: 443 } }))
    const nginx = await serveFile(text.replace('location = / {', `${render(locations)}$&`), httpPort)
    onTestFinished(nginx.stop)
    for (const [index, wanted] of words.entries()) {
      const answer = await send(`http://127.0.0.1:${httpPort}/${index}`)
      expect(answer).toEqual({ status: 200, text: wanted.toWellFormed() })
    }
  })
})
