import { type Heading, placeOf, wayTo } from './markdown.ts'

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

export type Layout = {
  readonly page: string
  readonly title: string
  readonly html: string
  readonly headings: readonly Heading[]
  readonly parts: readonly { readonly title: string; readonly pages: readonly { page: string; title: string }[] }[]
}

/** What the browser may load: nothing but the style and images of the site. */
const POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"

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
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title === 'meshstep' ? title : `${title} · meshstep`)}</title>
<link rel="stylesheet" href="${wayTo(page, 'site.css')}">
</head>
<body>
<a class="skip" href="#content">To the content</a>
<header><a href="${wayTo(page, 'index.html')}">meshstep</a></header>
<nav aria-label="Documentation">
${navigation.join('\n')}
</nav>
<main id="content">
${html}</main>
</body>
</html>
`
}
