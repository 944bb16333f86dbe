import { describe, expect, test } from 'vitest'
import {
  hasLiteralAsterisk,
  pathProblem,
  templateProblem,
  unmatchedPath,
} from '../../../src/core/policies/path-template.ts'

describe('a path that Istio refuses', () => {
  test.each([
    ['', /not empty/],
    ['/a/{b}', /braces only/],
    ['/{*}/a/{}/b', /braces only/],
    ['/a/{**}b/c', /braces only/],
    ['/{*}/a/{*}.txt', /braces only/],
    ['/a/{*', /braces only/],
    ['/a/b}/*', /braces only/],
    ['/{a=**}', /braces only/],
    ['/{**}/{**}', /after \{\*\*\}/],
    ['/{**}/a/{*}/b', /after \{\*\*\}/],
    ['/a/{*}/b/*', /neither wildcards/],
    ['/a/{*}/**/b', /neither wildcards/],
    ['/{*}/a?b', /neither wildcards/],
    ['/{*}//b', /neither wildcards/],
    ['/{*}/a b', /neither wildcards/],
  ])('%s', (path, problem) => {
    expect(pathProblem(path)).toMatch(problem)
  })
})

test.each([
  '/',
  '//',
  '*',
  '/a',
  'a',
  '/a/*',
  '*.css',
  '/a b/?x=ü',
  '/a//b',
  '{*}',
  '/{*}/a/',
  '//{**}//',
  '/a/{**}/b',
  '/{*}/{*}/{**}',
  '/proxy/worker/{*}/metrics',
  "/{*}/-._~%20!$&'()+,;:@=",
])('a good path: %s', (path) => {
  expect(pathProblem(path)).toBeUndefined()
})

test('a path of a million slashes is looked at once', () => {
  // a look at each of them from each of them would not end
  expect(pathProblem(`${'/'.repeat(1_000_000)}x{`)).toMatch(/braces/)
})

test.each(['{*}', '{**}', 'a/{*}'])('the waypoint refuses a template that does not begin with a slash: %s', (path) => {
  expect(templateProblem(path)).toMatch(/begins with \//)
})

test.each([['a'], ['a*'], ['/a b'], ['/a\0'], ['/a\n'], ['']])('no request has the path %j', (path) => {
  expect(unmatchedPath(path)).toMatch(/no request has/)
})

test.each(['/', '*', '/a*b', '*.css', '/a%20b', '/ü', '/{*}/a'])('requests may have the path %s', (path) => {
  expect([templateProblem(path), unmatchedPath(path)]).toEqual([undefined, undefined])
})

test.each([
  ['/a*b', true],
  ['/*/', true],
  ['*a*', true],
  ['/a**', true],
  ['/a*', false],
  ['*a', false],
  ['*', false],
  ['/{*}/{**}', false],
])('an asterisk in %s stands for itself: %s', (path, isLiteral) => {
  expect(hasLiteralAsterisk(path)).toBe(isLiteral)
})
