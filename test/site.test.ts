import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { placeOf } from '../tools/docs/markdown.ts'
import { inParts, PARTS } from '../tools/docs/parts.ts'
import { buildSite, findPages } from '../tools/docs/site.ts'

const site = buildSite()
const textOf = (path: string): string => String(site[path] ?? '')
const pages = Object.keys(site).filter((path) => path.endsWith('.html'))

const valuesOf = (text: string, attribute: string): string[] =>
  [...text.matchAll(new RegExp(`\\s${attribute}="([^"]*)"`, 'g'))].map(([, value = '']) =>
    value.replaceAll('&amp;', '&'),
  )

const isElsewhere = (link: string): boolean => /^(\w+:|\/\/)/.test(link)

/** Whether a link of a page leads to a file of the site, and to an anchor that is there. */
const leadsNowhere = (page: string, link: string): boolean => {
  const [path = '', anchor] = decodeURI(link).split('#')
  const target = path === '' ? page : join(dirname(page), path)
  return !(target in site) || (anchor !== undefined && !valuesOf(textOf(target), 'id').includes(anchor))
}

test('every page of the documentation is on the site, and all links and images lead somewhere', () => {
  expect(pages.toSorted()).toEqual(findPages().map(placeOf).toSorted())
  const broken = pages.flatMap((page) =>
    [...valuesOf(textOf(page), 'href'), ...valuesOf(textOf(page), 'src')]
      .filter((link) => !isElsewhere(link) && leadsNowhere(page, link))
      .map((link) => `${page}: ${link}`),
  )
  expect(broken).toEqual([])
})

test('nothing is loaded from another host, and nothing runs but the script of the site', () => {
  for (const page of pages) {
    const text = textOf(page)
    expect(text).toContain(
      `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self';`,
    )
    expect(valuesOf(text, 'src').filter(isElsewhere)).toEqual([])
    expect(
      [...text.matchAll(/<link [^>]*href="([^"]*)"/g)].flatMap(([, link = '']) => (isElsewhere(link) ? [link] : [])),
    ).toEqual([])
    const script = join('.', relative(dirname(page), 'site.js'))
    expect([...text.matchAll(/<script.*/g)].map(String)).toEqual([`<script type="module" src="${script}"></script>`])
    expect(text).not.toMatch(/<iframe|<style|\sstyle=|\son\w+="/)
  }
  const drawings = Object.keys(site).filter((path) => path.endsWith('.svg'))
  expect(drawings.length).toBeGreaterThan(2)
  for (const path of [...drawings, 'site.css'])
    expect(textOf(path).replaceAll('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|@import|<script/)
})

test('every page has its place in one part of the navigation, and says where the reader is', () => {
  const parts = PARTS.map(({ title }) => `<h2>${title}</h2>`)
  for (const page of pages) {
    const [navigation = ''] = /<nav.*?<\/nav>/s.exec(textOf(page)) ?? []
    for (const part of parts) expect(navigation).toContain(part)
    const links = valuesOf(navigation, 'href').filter((link) => !link.startsWith('#'))
    expect(links).toHaveLength(new Set(links).size)
    expect(links).toHaveLength(pages.length - 1)
    expect(navigation.includes('aria-current="page"')).toBe(page !== 'index.html')
  }
})

test('who reads page after page comes from the first to the last of the navigation, and back', () => {
  const linkOf = (page: string, rel: string): string | undefined => {
    const [, link] = new RegExp(`<a rel="${rel}" href="([^"]*)"`).exec(textOf(page)) ?? []
    return link === undefined ? undefined : join(dirname(page), link)
  }
  const read = ['docs/tutorial.html']
  for (let next = linkOf('docs/tutorial.html', 'next'); next !== undefined; next = linkOf(next, 'next')) {
    expect(linkOf(next, 'prev')).toBe(read.at(-1))
    read.push(next)
  }
  expect(read.toSorted()).toEqual(pages.filter((page) => page !== 'index.html').toSorted())
})

test('every section is in the search index, with the text below its heading', () => {
  const entries: { place: string; title: string; content: string }[] = JSON.parse(textOf('search.json'))
  for (const { place } of entries) expect(leadsNowhere('index.html', place), place).toBe(false)
  const sections = pages.flatMap((page) => [...textOf(page).matchAll(/<h[1-6] id="([^"]*)"/g)])
  expect(entries).toHaveLength(sections.length)
  const found = entries.filter(({ place }) => place === 'docs/upgrade.html#steps').map(({ content }) => content)
  expect(found).toEqual([expect.stringContaining('Read the changelog since your version.')])
})

test('a page that is in no list has its place by its folder, and is a guide where that says nothing', () => {
  const placed = inParts([
    'docs/b.md',
    'docs/explanation/why.md',
    'docs/how-to/a.md',
    'docs/tutorial.md',
    'docs/tutorial/2.md',
  ])
  expect(placed.map(({ pages: listed }) => listed)).toEqual([
    ['docs/tutorial.md', 'docs/tutorial/2.md'],
    ['docs/b.md', 'docs/how-to/a.md'],
    [],
    ['docs/explanation/why.md'],
  ])
})
