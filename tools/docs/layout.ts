import { escapeHtml, type Heading, placeOf, wayTo } from './markdown.ts'

export type Layout = {
  readonly page: string
  readonly title: string
  readonly html: string
  readonly headings: readonly Heading[]
  readonly parts: readonly { readonly title: string; readonly pages: readonly { page: string; title: string }[] }[]
}

/** The browser loads nothing but the style, the images, the script and the search index of the site. */
const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'"

/** Lays out a page: the parts beside it, and in the part of the page its sections. */
export const layOut = ({ page, title, html, headings, parts }: Layout): string => {
  const sections = headings
    .filter(({ level }) => level === 2)
    .map(({ text, anchor }) => `<li><a href="#${anchor}">${escapeHtml(text)}</a></li>`)
  const entry = (other: { page: string; title: string }): string => {
    const link = `<a href="${wayTo(page, placeOf(other.page))}"${other.page === page ? ' aria-current="page"' : ''}>${escapeHtml(other.title)}</a>`
    return `<li>${link}${other.page === page && sections.length > 0 ? `<ul>${sections.join('')}</ul>` : ''}</li>`
  }
  const navigation = parts.map(
    ({ title: part, pages }) => `<h2>${part}</h2>\n<ul>\n${pages.map(entry).join('\n')}\n</ul>`,
  )
  const order = parts.flatMap(({ pages }) => pages)
  const place = order.findIndex((other) => other.page === page)
  const turn = [
    ['prev', 'Previous', order[place - 1]],
    ['next', 'Next', order[place + 1]],
  ] as const
  const turns = turn.flatMap(([rel, word, other]) =>
    other === undefined
      ? []
      : [`<a rel="${rel}" href="${wayTo(page, placeOf(other.page))}">${word}: ${escapeHtml(other.title)}</a>`],
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title === 'meshstep' ? title : `${title} · meshstep`)}</title>
<link rel="stylesheet" href="${wayTo(page, 'site.css')}">
<script type="module" src="${wayTo(page, 'site.js')}"></script>
</head>
<body>
<a class="skip" href="#content">To the content</a>
<header>
<a href="${wayTo(page, 'index.html')}">meshstep</a>
<search hidden><input type="search" placeholder="Search" aria-label="Search" aria-controls="found"><ol id="found"></ol></search>
</header>
<nav aria-label="Documentation">
${navigation.join('\n')}
</nav>
<main id="content">
${html}<footer>${turns.join('\n')}</footer>
</main>
</body>
</html>
`
}
