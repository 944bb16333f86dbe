import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { RULE_IDS } from '../src/ask/lint/rule-ids.ts'
import { REASONS } from '../src/platform/base/condition.ts'
import { schemas } from '../src/serve/schemas/schemas.ts'
import { anchorsOf } from '../tools/docs/anchors.ts'
import { functions } from './helpers/functions.ts'

const PAGES = [...globSync('*.md'), 'knative/README.md', ...globSync('docs/**/*.md')]

const textOf = (page: string): string => readFileSync(page, 'utf8')

const withoutBlocks = (text: string): string => text.replaceAll(/^```.*?^```/gms, '')

const withoutCode = (text: string): string => withoutBlocks(text).replaceAll(/`[^`\n]*`/g, '')

const headingsOf = (page: string): string[] =>
  [...withoutBlocks(textOf(page)).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading)

test.each(PAGES)('the links of %s lead somewhere', (page) => {
  const links = [...withoutCode(textOf(page)).matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link)
  const broken = links.filter((link) => {
    if (/^https?:/.test(link)) return false
    const [path = '', anchor] = link.split('#')
    const file = path === '' ? page : join(dirname(page), path)
    return !existsSync(file) || (anchor !== undefined && !anchorsOf(headingsOf(file)).includes(anchor))
  })
  expect(broken).toEqual([])
})

test.each(PAGES)('the files that %s names are there', (page) => {
  const named = [...textOf(page).matchAll(/`((?:src|functions|test|docs)\/[\w./*-]*)`/g)]
  const missing = named.flatMap(([, file = '']) => (file.includes('NAME') || globSync(file).length > 0 ? [] : [file]))
  expect(missing).toEqual([])
})

test('the README is short, and says first what meshstep works with', () => {
  const lines = textOf('README.md').split('\n')
  expect(lines.length).toBeLessThanOrEqual(140)
  const [, first = ''] = textOf('README.md').split('\n\n')
  for (const name of ['Juju', 'Istio', 'ambient', 'Knative']) expect(first.split('. ')[0]).toContain(name)
})

test.each(['npm ci && npm start', 'npm ci && npm test'])(
  'the README has `%s` alone on a line near its top',
  (command) => {
    expect(textOf('README.md').split('\n').slice(0, 40)).toContain(command)
  },
)

const { version } = JSON.parse(textOf('package.json')) as { version: string }

test.each(PAGES)('%s installs the package from a tarball of its version, as it is not published', (page) => {
  const installed = [...textOf(page).matchAll(/^(?:\$ )?npm (?:install|i) .*?(\S*\bmeshstep\b\S*)/gm)]
  for (const [, what] of installed) expect(what).toBe(`../meshstep/meshstep-${version}.tgz`)
})

/** The first words of what stands as code in the first cell of a row. */
const rowsOf = (page: string): string[] =>
  [...withoutBlocks(textOf(page)).matchAll(/^\|(?<cell>.*?[^\\])\|/gm)].flatMap(({ groups }) =>
    [...(groups?.cell ?? '').matchAll(/`([\w-]+)/g)].map(([, word = '']) => word),
  )

const commands = globSync('src/cli/commands/*.ts').flatMap((file) =>
  [...textOf(file).matchAll(/program\s*\.command\('([a-z-]+)/g)].map(([, name = '']) => name),
)

const configKeys = Object.keys((schemas.config?.().properties ?? {}) as object)

test.each([
  ['event', 'docs/events.md', functions.map(({ name }) => name), rowsOf],
  ['command', 'docs/commands.md', commands, rowsOf],
  ['key of the config', 'docs/config.md', configKeys, rowsOf],
  ['key of the config', 'docs/reference/config.md', configKeys, headingsOf],
  ['finding', 'docs/lint.md', RULE_IDS, headingsOf],
  ['reason of a condition', 'docs/errors.md', REASONS, rowsOf],
] as const)('each %s has its place in %s', (_, page, names, placesOf) => {
  expect(names.length).toBeGreaterThan(5)
  const places = new Set(placesOf(page))
  expect(names.filter((name) => !places.has(name))).toEqual([])
})

test('the recipes of a new event and of a new feature name what writes the reference', () => {
  for (const recipe of ['A new event', 'A new feature']) {
    const [, text = ''] = textOf('docs/contributing.md').split(`\n## ${recipe}\n`)
    expect([recipe, text.split('\n## ')[0]]).toEqual([recipe, expect.stringContaining('`npm run schemas`')])
  }
})

test('every dependency has a row in docs/contributing.md that says what it is for', () => {
  const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const [, table = ''] = readFileSync('docs/contributing.md', 'utf8').split('## Dependencies')
  const named = [...table.matchAll(/^\| ([^|]*) \|/gm)].flatMap(([, cell = '']) => [...cell.matchAll(/`([^`…]+)/g)])
  const isNamed = (name: string): boolean =>
    named.some(([, one = '']) => one === name || (one.endsWith('/') && name.startsWith(one)))
  expect(Object.keys(devDependencies).filter((name) => !isNamed(name))).toEqual([])
})
