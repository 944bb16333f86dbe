import { describe, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { readScalar, readText } from '../../../src/platform/base/structured-text.ts'

describe('what is neither JSON nor YAML is not read', () => {
  test.each([
    ['a list without an end', '["v1"', 'neither JSON nor YAML: Flow sequence'],
    ['an alias, which can grow without end', '*x', 'neither JSON nor YAML: Alias resolution is disabled'],
    [
      'nesting without an end',
      '['.repeat(16_000),
      'neither JSON nor YAML: expected at most 64 levels at line 1, column',
    ],
    [
      'lists of lists without an end',
      '- '.repeat(8_000),
      'neither JSON nor YAML: expected at most 64 levels at line 1, column',
    ],
    ['a key twice', 'a: 1\na: 2\n', 'neither JSON nor YAML: Map keys must be unique at line 2, column 1'],
    ['a key twice, once quoted', 'a: {b: 1, "b": 2}', 'neither JSON nor YAML: Map keys must be unique'],
    ['two documents', 'a: 1\n---\na: 1\n', 'expected one document in YAML, got more'],
    ['long YAML', `a: ${'x'.repeat(16_384)}`, 'expected JSON, or YAML of at most 16384 characters, got 16387'],
  ])('%s', (_, text, problem) => {
    expect(readText(text)).toEqual({ unreadable: expect.stringContaining(problem) })
  })

  test.each([
    ['a: |hush-hush', 'Block scalar header includes extra characters at line 1, column 5'],
    ['a: | hush-hush', 'Not a YAML token at line 1, column 6'],
    ['a\n#\nhush-hush', 'Unexpected scalar token in YAML stream at line 3, column 1'],
    ['a: !hush-hush! b', 'The !… tag has no suffix at line 1, column 4'],
  ])('of %j the place is told, and none of the text', (text, problem) => {
    expect(readText(text)).toEqual({ unreadable: `neither JSON nor YAML: ${problem}` })
  })

  test('a problem has one line', () => {
    expect(readText(`[${'"a", \n'.repeat(100)}`)).toEqual({ unreadable: expect.stringMatching(/^.{1,200}$/) })
    expect(readText(`!${'x'.repeat(10_000)}! a`)).toEqual({ unreadable: expect.stringMatching(/^.{1,200}$/) })
  })
})

test.each([
  ['["v1"]', ['v1']],
  ['- v1\n- 2\n', ['v1', 2]],
  ['{a: 1}', { a: 1 }],
  ['null', null],
  [`"${'x'.repeat(100_000)}"`, 'x'.repeat(100_000)],
])('JSON of any length, or YAML: %.20j', (text, value) => {
  expect(readText(text)).toEqual({ value })
})

test.each([
  ['64 levels of lists', `${'['.repeat(64)}1${']'.repeat(64)} # YAML`],
  ['64 levels of indentation', Array.from({ length: 64 }, (_, level) => `${' '.repeat(level)}- \n`).join('')],
  ['a script with brackets', `run: |\n  ${'[{'.repeat(200)}\n  - - - ${'- '.repeat(100)}\n`],
  ['quoted brackets', `"${'['.repeat(200)}": '${'{'.repeat(200)}'`],
  ['brackets in a comment and in plain text', `# ${'['.repeat(200)}\na: b${'['.repeat(200)}`],
  ['text with asterisks', `a: |\n${'  * item\n'.repeat(1_000)}`],
])('YAML is read with %s', (_, text) => {
  expect(readText(text)).toEqual({ value: parse(text) })
})

describe('YAML that is not plain is not read', () => {
  test.each([
    ['a tag of a key', '!!binary bWVzaA==: {}', 'tags'],
    ['a tag of a key, marked', '? !!binary bWVzaA==\n: {}', 'tags'],
    ['a tag in full', '!<tag:yaml.org,2002:binary> bWVzaA==: {}', 'tags'],
    ['a tag of a value', 'mesh: !!map {}', 'tags'],
    ['a directive that renames a tag', '%TAG ! tag:yaml.org,2002:\n---\n!binary bWVzaA==: {}', 'directives'],
    ['a directive of another version', '%YAML 1.1\n---\na: yes', 'directives'],
    ['an anchor', 'a: &x {}\nb: 1', 'anchors'],
    ['an anchor of a key', '&x mesh: {}\nb: *x', 'anchors'],
    ['an alias as a key', '*x : {}', 'keys'],
    ['a list as a key', '? [mesh]\n: {}', 'keys'],
    ['a mapping as a key', '{ { mesh: {} }: {} }', 'keys'],
    ['a number as a key', '8080: {}', 'keys'],
    ['a key that is nothing', '~: {}', 'keys'],
    ['a merge key', '<<: { mesh: {} }', 'merge keys'],
  ])('%s', (_, text, what) => {
    expect(readText(text)).toEqual({
      unreadable: expect.stringMatching(`^neither JSON nor YAML: expected plain YAML, without ${what}`),
    })
  })

  test('YAML that is not plain is not read, and the library warns of nothing', () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    for (const text of ['? [mesh]\n: {}', '!!binary bWVzaA==: {}', 'a: !unknown b', '!u : 1']) readText(text)
    for (const text of ['!unknown b', '? [mesh]\n: {}']) readScalar(text)
    expect(warn).not.toHaveBeenCalled()
  })
})

describe('one value', () => {
  test.each(['a: b', '- a', '[a]', ' '])('one value is not %j', (text) => {
    expect(readScalar(text)).toEqual({ unreadable: 'expected a single value' })
  })

  test.each([
    ['a tag', '!!binary d2Vi', 'tags'],
    ['a tag of text', '!!str web', 'tags'],
    ['a tag of its own', '!x web', 'tags'],
    ['an anchor', '&a web', 'anchors'],
    ['a directive', '%YAML 1.1\n---\nweb', 'directives'],
    ['a directive that renames a tag', '%TAG ! tag:yaml.org,2002:\n---\n!str web', 'directives'],
  ])('one value is not read with %s', (_, text, what) => {
    expect(readScalar(text)).toEqual({
      unreadable: expect.stringMatching(`^neither JSON nor YAML: expected plain YAML, without ${what}`),
    })
  })

  test.each([
    ['db.shop', 'db.shop'],
    ['"db.shop"', 'db.shop'],
    ['db.shop\n...\n', 'db.shop'],
    ['8080', '8080'],
    ["'8080'\n", '8080'],
    ['true', 'true'],
    ['null', 'null'],
  ])('%j is text: %s', (text, value) => {
    expect(readScalar(text)).toEqual({ value })
  })
})
