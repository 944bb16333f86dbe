import { dirname, join, normalize, relative } from 'node:path'
import MarkdownIt, { type Token } from 'markdown-it'
import { anchorsOf } from './anchors.ts'
import { draw } from './diagram.ts'

export const { escapeHtml } = new MarkdownIt().utils

export type Heading = { readonly level: number; readonly text: string; readonly anchor: string }

/** A heading and the text below it, up to the next one. */
export type Section = Pick<Heading, 'text' | 'anchor'> & { readonly content: string }

/** A page, and the files that it needs beside it, by path. */
export type Rendered = {
  readonly html: string
  readonly headings: readonly Heading[]
  readonly sections: readonly Section[]
  readonly diagrams: Readonly<Record<string, string>>
  /** Files of the repository that it leads to, besides pages. */
  readonly files: readonly string[]
}

/** The place of a file of the repository on the site; a README is the index of its folder. */
export const placeOf = (file: string): string => file.replace(/README\.md$/, 'index.md').replace(/\.md$/, '.html')

/** The way from a page to a place. */
export const wayTo = (page: string, place: string): string => relative(dirname(placeOf(page)), place) || '.'

const headingsOf = (tokens: readonly Token[]): Heading[] => {
  const found = tokens.flatMap((token, index) => {
    const text = (tokens[index + 1]?.children ?? []).map(({ content }) => content).join('')
    return token.type === 'heading_open' ? [{ level: Number(token.tag.slice(1)), text }] : []
  })
  const anchors = anchorsOf(found.map(({ text }) => text))
  return found.map((heading, index) => ({ ...heading, anchor: anchors[index] ?? '' }))
}

const plainText = ({ content, children }: Token): string =>
  children?.map((child) => (/break$/.test(child.type) ? ' ' : child.content)).join('') ?? content

const sectionsOf = (tokens: readonly Token[], headings: readonly Heading[]): Section[] => {
  const starts = tokens.flatMap(({ type }, index) => (type === 'heading_open' ? [index] : []))
  return headings.map(({ text, anchor }, index) => {
    const below = tokens.slice((starts[index] ?? 0) + 3, starts[index + 1])
    return { text, anchor, content: below.map(plainText).join(' ').replaceAll(/\s+/g, ' ').trim() }
  })
}

/** The file that a link leads to, and the anchor there; undefined for another host or the page itself. */
const targetOf = (page: string, link: string): { file: string; anchor: string } | undefined => {
  if (/^(\w+:|#)/.test(link)) return undefined
  const [path = '', anchor] = decodeURI(link).split('#')
  return { file: normalize(join(dirname(page), path)), anchor: anchor === undefined ? '' : `#${anchor}` }
}

/** Renders the Markdown of a page, its links leading to the places of the site. */
export const renderMarkdown = (page: string, text: string): Rendered => {
  const markdown = new MarkdownIt({ html: false, linkify: false })
  const tokens = markdown.parse(text, {})
  const headings = headingsOf(tokens)
  const sections = sectionsOf(tokens, headings)
  const files: string[] = []
  const diagrams: Record<string, string> = {}

  const moved = (link: string): string => {
    const target = targetOf(page, link)
    if (target === undefined) return link
    if (!target.file.endsWith('.md')) files.push(target.file)
    return wayTo(page, placeOf(target.file)) + target.anchor
  }
  const all = tokens.flatMap((token) => [token, ...(token.children ?? [])])
  for (const token of all) {
    const name = token.type === 'link_open' ? 'href' : token.type === 'image' ? 'src' : undefined
    if (name !== undefined) token.attrSet(name, moved(String(token.attrGet(name))))
  }
  for (const [index, token] of all.filter(({ type }) => type === 'heading_open').entries())
    token.attrSet('id', headings[index]?.anchor ?? '')

  const { fence } = markdown.renderer.rules
  markdown.renderer.rules.fence = (...given) => {
    const [list, index] = given
    const token = list[index]
    if (token?.info !== 'mermaid') return fence?.(...given) ?? ''
    const name = `${placeOf(page).replace(/\.html$/, '')}-${Object.keys(diagrams).length + 1}.svg`
    diagrams[name] = draw(token.content)
    const source = escapeHtml(token.content)
    return `<figure><img src="${wayTo(page, name)}" alt="A diagram; its text is below"><details><summary>Diagram as text</summary><pre><code>${source}</code></pre></details></figure>\n`
  }
  // wide tables scroll by themselves
  markdown.renderer.rules.table_open = () => '<div class="wide" tabindex="0"><table>\n'
  markdown.renderer.rules.table_close = () => '</table></div>\n'
  return { html: markdown.renderer.render(tokens, markdown.options, {}), headings, sections, diagrams, files }
}
