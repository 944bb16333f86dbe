/** The middle of several measurements, and between which two the middle half of them lies. */
export type Figure = { readonly median: number; readonly low: number; readonly high: number }

export const figureOf = (values: readonly number[]): Figure => {
  const sorted = values.toSorted((one, other) => one - other)
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))] ?? Number.NaN
  return { median: at(0.5), low: at(0.25), high: at(0.75) }
}

const digits = (value: number): string => (Math.abs(value) < 10 ? value.toFixed(1) : String(Math.round(value)))

/** `12 (11–14)` */
export const shown = ({ median, low, high }: Figure): string => `${digits(median)} (${digits(low)}–${digits(high)})`

/** A ratio of medians, as `1.50`. */
export const ratio = (one: Figure, other: Figure | undefined): string =>
  other === undefined ? '' : (one.median / other.median).toFixed(2)

export type Cell = string | number | Figure

/** A table, of which the columns are named by the keys of the first row. */
export type Table = { readonly title: string; readonly note?: string; readonly rows: readonly Record<string, Cell>[] }

const cell = (value: Cell | undefined): string => (typeof value === 'object' ? shown(value) : String(value ?? ''))

/** The table in Markdown; of one without rows, what there is to say about it. */
export const markdown = ({ title, note, rows }: Table): string => {
  const columns = Object.keys(rows[0] ?? {})
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [
    `## ${title}`,
    ...(note ? ['', note] : []),
    '',
    ...(columns.length > 0 ? [line(columns), line(columns.map(() => '---'))] : []),
    ...rows.map((row) => line(columns.map((column) => cell(row[column])))),
    '',
  ].join('\n')
}
