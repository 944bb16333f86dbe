// Copies the text of code blocks, and searches. Every page can be read without this script.

/** @typedef {{ place: string, title: string, content: string }} Entry */

const MOST_FOUND = 12
const CONTEXT = 60

/** @param {string} name @param {Record<string, string>} properties */
const element = (name, properties) => Object.assign(document.createElement(name), properties)

/**
 * The commands of a block that shows a terminal, without prompts and answers; the whole text of any other block.
 * @param {string} text
 */
const commandsIn = (text) => {
  if (!/^\$ /m.test(text)) return text
  return [...text.matchAll(/^[$>] (.*)/gm)].map(([, line]) => `${line}\n`).join('')
}

for (const block of document.querySelectorAll('main > pre')) {
  const text = commandsIn(block.textContent ?? '')
  const button = element('button', { type: 'button', textContent: 'Copy', className: 'copy' })
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(text)
    button.textContent = 'Copied'
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 2_000)
  })
  block.prepend(button)
}

/** @type {Promise<Entry[]> | undefined} */
let index
const readIndex = () => (index ??= fetch(new URL('search.json', import.meta.url)).then((answer) => answer.json()))

/**
 * Ranks an entry: words in its title count more than words in its text. Zero where a word is missing.
 * @param {Entry} entry @param {string[]} words
 */
const rankOf = ({ title, content }, words) => {
  const [head, body] = [title.toLowerCase(), content.toLowerCase()]
  const ranks = words.map((word) => (head.includes(word) ? 10 : body.includes(word) ? 1 : 0))
  return ranks.includes(0) ? 0 : ranks.reduce((sum, rank) => sum + rank, 0)
}

/** @param {Entry} entry @param {string[]} words */
const rowOf = ({ place, title, content }, [word = '']) => {
  const at = Math.max(0, content.toLowerCase().indexOf(word) - CONTEXT)
  const row = element('li', {})
  const excerpt = content.slice(at, at + 2 * CONTEXT)
  row.append(
    element('a', { href: new URL(place, import.meta.url).href, textContent: title }),
    element('span', { textContent: excerpt === '' ? '' : `…${excerpt}…` }),
  )
  return row
}

const box = document.querySelector('search')
const input = box?.querySelector('input')
const found = document.getElementById('found')
box?.removeAttribute('hidden')
input?.addEventListener('input', async () => {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
  const entries = words.length === 0 ? [] : await readIndex()
  const ranked = entries
    .map((entry) => ({ entry, rank: rankOf(entry, words) }))
    .filter(({ rank }) => rank > 0)
    .toSorted((one, other) => other.rank - one.rank)
  const rows = ranked.slice(0, MOST_FOUND).map(({ entry }) => rowOf(entry, words))
  const isNothing = words.length > 0 && rows.length === 0
  found?.replaceChildren(...(isNothing ? [element('li', { textContent: 'No page has these words.' })] : rows))
})
