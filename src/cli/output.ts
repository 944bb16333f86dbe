import { stringify } from 'yaml'

export type Format = 'table' | 'json' | 'yaml'

/** Writes data to stdout. Nothing else is written there. */
export const print = (text: string): void => {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
}

/** Writes a message for a person to stderr. */
export const say = (text: string): void => {
  process.stderr.write(`${text}\n`)
}

/** Prints data as JSON, as YAML, or as the text of `table`. */
export const printAs = <T>(format: Format, data: T, table: (data: T) => string): void =>
  print(format === 'json' ? JSON.stringify(data, null, 2) : format === 'yaml' ? stringify(data) : table(data))

/** Prints Kubernetes objects as one list, JSON. */
export const printList = (items: readonly object[]): void =>
  print(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }, null, 2))

/** Aligns columns under their titles, two spaces apart. A cell with several lines takes as many rows. */
export const table = (titles: readonly string[], rows: readonly (readonly string[])[]): string => {
  const lines = rows.flatMap((row) => {
    const cells = row.map((cell) => cell.split('\n'))
    const height = Math.max(...cells.map(({ length }) => length))
    return Array.from({ length: height }, (_, line) => cells.map((cell) => cell[line] ?? ''))
  })
  const widths = titles.map((title, column) =>
    Math.max(title.length, ...lines.map((line) => (line[column] ?? '').length)),
  )
  return [titles, ...lines]
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
