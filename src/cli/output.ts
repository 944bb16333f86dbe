import { styleText } from 'node:util'
import { stringify } from 'yaml'
import { ownValue } from '../platform/base/own-value.ts'
import { Failure } from './failure.ts'
import { fillTemplate } from './json-path.ts'

/** A form of output, as kubectl has it. */
export type Format = {
  readonly kind: 'table' | 'wide' | 'name' | 'json' | 'yaml' | 'jsonpath'
  /** The template of jsonpath. */
  readonly template?: string | undefined
  readonly hasHeaders: boolean
}

/** Columns under their titles. A cell may have several lines. */
export type Table = { readonly titles: readonly string[]; readonly rows: readonly (readonly string[])[] }

/** Writes data to stdout. Nothing else is written there. */
export const print = (text: string): void => {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
}

/** Writes a message for a person to stderr. */
export const say = (text: string): void => {
  process.stderr.write(`${text}\n`)
}

/** Tells if output is for people, so that messages go beside it. */
export const isForPeople = ({ kind }: Format): boolean => kind === 'table' || kind === 'wide'

/** Prints data as `format` says, for people as the table or text of `shown`. Throws Failure for names where there are none. */
export const printAs = <T>(
  format: Format,
  data: T,
  shown: (data: T) => Table | string,
  namesOf?: (data: T) => readonly string[],
): void => {
  const { kind, template = '', hasHeaders } = format
  if (kind === 'json') print(JSON.stringify(data, null, 2))
  else if (kind === 'yaml') print(stringify(data))
  else if (kind === 'jsonpath') process.stdout.write(fillTemplate(template, data))
  else if (kind === 'name') {
    if (namesOf === undefined) throw new Failure('--output name: get alone has names')
    for (const name of namesOf(data)) print(name)
  } else {
    const text = shown(data)
    print(typeof text === 'string' ? text : aligned(text, hasHeaders, isColoured()))
  }
}

/** Prints Kubernetes objects as one list, JSON. */
export const printList = (items: readonly object[]): void =>
  print(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }, null, 2))

/** Tells if stdout is a terminal with colours. NO_COLOR turns them off. https://no-color.org */
const isColoured = (): boolean => process.stdout.isTTY && process.stdout.hasColors()

const COLOURS: Readonly<Record<string, 'green' | 'yellow' | 'red'>> = {
  ...{ active: 'green', ok: 'green' },
  ...{ waiting: 'yellow', maintenance: 'yellow', unknown: 'yellow', conflict: 'yellow' },
  ...{ error: 'red', blocked: 'red', unreadable: 'red', failed: 'red', refused: 'red' },
}

const COLOURED: ReadonlySet<string> = new Set(['STATUS', 'RESULT'])

const coloured = (cell: string): string => {
  const colour = ownValue(COLOURS, cell)
  return colour === undefined ? cell : styleText(colour, cell, { validateStream: false })
}

/**
 * Aligns columns under their titles, two spaces apart. A cell with several lines takes as many rows. With `hasColours`, a status or result is
 * green, yellow or red.
 */
export const aligned = ({ titles, rows }: Table, hasHeaders = true, hasColours = false): string => {
  const lines = rows.flatMap((row) => {
    const cells = row.map((cell) => cell.split('\n'))
    const height = Math.max(...cells.map(({ length }) => length))
    return Array.from({ length: height }, (_, line) => cells.map((cell) => cell[line] ?? ''))
  })
  const shown = hasHeaders ? [titles, ...lines] : lines
  const widths = titles.map((_, column) => Math.max(0, ...shown.map((line) => (line[column] ?? '').length)))
  const isStatus = titles.map((title) => hasColours && COLOURED.has(title))
  return shown
    .map((line) =>
      line
        .map((cell, column) => [isStatus[column] ? coloured(cell) : cell, padding(cell, widths[column])].join(''))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

const padding = ({ length }: string, width = 0): string => ' '.repeat(width - length)
