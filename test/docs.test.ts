import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { anchorsOf } from '../tools/docs/anchors.ts'

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
