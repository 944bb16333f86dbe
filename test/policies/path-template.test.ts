import { describe, expect, test } from 'vitest'
import { pathProblem } from '../../src/policies/path-template.ts'

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
