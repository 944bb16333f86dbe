/** A line of a plot: points of a size and a cost. */
export type Line = { readonly name: string; readonly points: readonly (readonly [x: number, y: number])[] }

const [WIDTH, HEIGHT, LEFT, TOP] = [640, 360, 60, 40]
const COLOURS = ['#1b6ca8', '#c0392b', '#2e8b57', '#8e44ad', '#d68910', '#566573', '#117a65']

/** The powers of ten around the values. */
const decades = (values: readonly number[]): readonly [low: number, high: number] => {
  const logs = values.filter((value) => value > 0).map(Math.log10)
  const [low, high] = [Math.floor(Math.min(...logs)), Math.ceil(Math.max(...logs))]
  return [low, high === low ? low + 1 : high]
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** An SVG of the lines with both axes logarithmic: cost that grows with size is a diagonal. */
export const plot = (
  title: string,
  axes: { readonly x: string; readonly y: string },
  lines: readonly Line[],
): string => {
  const [x0, x1] = decades(lines.flatMap(({ points }) => points.map(([x]) => x)))
  const [y0, y1] = decades(lines.flatMap(({ points }) => points.map(([, y]) => y)))
  const [width, height] = [WIDTH - LEFT - 210, HEIGHT - TOP - 50]
  const xOf = (x: number) => (LEFT + (width * (Math.log10(x) - x0)) / (x1 - x0)).toFixed(1)
  const yOf = (y: number) => (TOP + height - (height * (Math.log10(y) - y0)) / (y1 - y0)).toFixed(1)
  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => 10 ** (from + index))
  const text = (x: number | string, y: number | string, content: string | number, more = '') =>
    `<text x="${x}" y="${y}" ${more}>${escaped(String(content))}</text>`
  const grid = [
    ...range(x0, x1).map((x) => `<path d="M${xOf(x)} ${TOP}v${height}"/>`),
    ...range(y0, y1).map((y) => `<path d="M${LEFT} ${yOf(y)}h${width}"/>`),
  ]
  const labels = [
    ...range(x0, x1).map((x) => text(xOf(x), TOP + height + 16, x, 'text-anchor="middle"')),
    ...range(y0, y1).map((y) => text(LEFT - 6, Number(yOf(y)) + 4, y, 'text-anchor="end"')),
    text(LEFT + width / 2, HEIGHT - 12, axes.x, 'text-anchor="middle"'),
    text(LEFT, TOP - 10, axes.y),
    text(LEFT, 16, title, 'font-weight="bold"'),
  ]
  const drawn = lines.flatMap(({ name, points }, index) => {
    const colour = COLOURS[index % COLOURS.length]
    const way = points
      .filter(([, y]) => y > 0)
      .map(([x, y]) => `${xOf(x)},${yOf(y)}`)
      .join(' ')
    const y = TOP + 12 + 18 * index
    return [
      `<polyline points="${way}" fill="none" stroke="${colour}" stroke-width="2"/>`,
      text(LEFT + width + 14, y, name, `fill="${colour}"`),
    ]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<title>${escaped(title)}: ${escaped(axes.y)} by ${escaped(axes.x)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>`,
    `<g stroke="#ddd">${grid.join('')}</g>`,
    ...labels,
    ...drawn,
    '</svg>\n',
  ].join('\n')
}
