import { globSync, readFileSync, statSync } from 'node:fs'
import { layOut } from './layout.ts'
import { placeOf, renderMarkdown, type Section } from './markdown.ts'
import { inParts } from './parts.ts'

/** The Markdown pages of the site: all of `docs/`, and those that stand where one looks for them. */
export const findPages = (): string[] => [
  'README.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'knative/README.md',
  ...globSync('docs/**/*.md').toSorted(),
]

/** The site, by path: a page for each Markdown file, its diagrams, and the files that pages lead to. */
export const buildSite = (): Readonly<Record<string, string | Uint8Array>> => {
  const rendered = findPages().map((page) => {
    const rendering = renderMarkdown(page, readFileSync(page, 'utf8'))
    return { page, title: rendering.headings[0]?.text ?? page, ...rendering }
  })
  const titles = new Map(rendered.map(({ page, title }) => [page, title]))
  const parts = inParts([...titles.keys()].filter((page) => page !== 'README.md')).map(({ title, pages }) => ({
    title,
    pages: pages.map((page) => ({ page, title: titles.get(page) ?? page })),
  }))
  const files = [...new Set(rendered.flatMap((one) => one.files))].filter((file) =>
    statSync(file, { throwIfNoEntry: false })?.isFile(),
  )
  return {
    ...Object.fromEntries(['site.css', 'site.js'].map((name) => [name, readFileSync(new URL(name, import.meta.url))])),
    'search.json': JSON.stringify(rendered.flatMap(entriesOf)),
    ...Object.fromEntries(rendered.map((one) => [placeOf(one.page), layOut({ ...one, parts })])),
    ...Object.assign({}, ...rendered.map(({ diagrams }) => diagrams)),
    ...Object.fromEntries(files.map((file) => [file, readFileSync(file)])),
  }
}

/** The entries of a page in the search index: for each section its place, its title and its text. */
const entriesOf = ({ page, title, sections }: { page: string; title: string; sections: readonly Section[] }) =>
  sections.map(({ text, anchor, content }) => ({
    place: `${placeOf(page)}#${anchor}`,
    title: text === title ? title : `${title}: ${text}`,
    content,
  }))
