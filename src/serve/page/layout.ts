import dagre from '@dagrejs/dagre'
import type { Frame } from './page-map.ts'

type Box = { readonly width: number; readonly height: number }
type Place = { readonly x: number; readonly y: number }

export type Item = Box & { readonly id: string; readonly namespace: string; readonly group?: string | undefined }
export type Line = { readonly from: string; readonly to: string; readonly label?: Box | undefined }

/** Items with their centres, and frames around them. */
export type Layout<I> = Box & { readonly nodes: readonly (I & Place)[]; readonly frames: readonly Frame[] }

/** A part of the picture. Its origin is the upper left corner. */
type Block = Box & { readonly places: ReadonlyMap<string, Place>; readonly frames: readonly Frame[] }

const GAP: Gap = { x: 24, y: 22 }
/** The title above a namespace is large if there are many. */
const WIDE_GAP: Gap = { x: 60, y: 150 }
const PADDING = 24
const TITLE = 24
/** The ratio of width to height, as of a screen. */
const RATIO = 1.7

const CHARACTER = 7.7
const SMALL_CHARACTER = 6.4
const NARROWEST = 112
const WIDEST = 300

/** The size of a node with two lines of text. The second line is smaller. */
export const nodeBox = (title: string, caption: string): Box => {
  const text = Math.max(title.length * CHARACTER, caption.length * SMALL_CHARACTER)
  return { width: Math.round(Math.min(WIDEST, Math.max(NARROWEST, text + 28))), height: 46 }
}

/** The size of an edge's label, of one line or several. */
export const labelBox = (label: string): Box => {
  const lines = label.split('\n')
  return { width: Math.max(...lines.map(({ length }) => length)) * SMALL_CHARACTER + 20, height: lines.length * 15 + 6 }
}

/** Places applications from left to right along their traffic. Groups and connected applications stay together, and namespaces are side by side. */
export const layOut = <I extends Item>(items: readonly I[], lines: readonly Line[]): Layout<I> => {
  const namespaces = [...Map.groupBy(items, ({ namespace }) => namespace)].toSorted(([one], [other]) =>
    one < other ? -1 : 1,
  )
  const blocks = namespaces.map(([namespace, members]) =>
    framed(namespace, 'namespace', pack(blocksOf(members, lines), GAP)),
  )
  const { places, ...rest } = pack(blocks, WIDE_GAP)
  return { ...rest, nodes: items.map((item) => ({ ...item, ...(places.get(item.id) ?? { x: 0, y: 0 }) })) }
}

/** Makes a block for each single item, then one for each set of connected items. */
const blocksOf = (items: readonly Item[], lines: readonly Line[]): Block[] => {
  const units = unitsOf(items, lines)
  const homes = new Map(units.flatMap((unit) => [...unit.places.keys()].map((id) => [id, unit] as const)))
  const links = lines.flatMap(({ from, to, label }) => {
    const [tail, head] = [homes.get(from), homes.get(to)]
    return tail && head && tail !== head ? [{ tail, head, label }] : []
  })
  const sets = connected(units, links)
  const [linked, single] = [sets.filter((set) => set.length > 1), sets.filter((set) => set.length === 1).flat()]
  return [
    ...single,
    ...linked.map((set) =>
      ranked(
        set,
        links.filter(({ tail }) => set.includes(tail)),
      ),
    ),
  ]
}

/** Makes a block for each item without a group, and for each group. */
const unitsOf = (items: readonly Item[], lines: readonly Line[]): Block[] => {
  const grouped = [...Map.groupBy(items, ({ id, group }) => group ?? `of ${id}`).values()]
  return grouped.map((members) => {
    const [first] = members
    if (first?.group === undefined) return blockOf(first as Item)
    const inner = members.map((one) => ({ ...one, group: undefined }))
    const ids = new Set(inner.map(({ id }) => id))
    const between = lines.filter(({ from, to }) => ids.has(from) && ids.has(to))
    return framed(first.group, 'group', pack(blocksOf(inner, between), GAP))
  })
}

const blockOf = ({ id, width, height }: Item): Block => ({
  ...{ width, height, frames: [] },
  places: new Map([[id, { x: width / 2, y: height / 2 }]]),
})

type Link = { readonly tail: Block; readonly head: Block; readonly label?: Box | undefined }

const connected = (units: readonly Block[], links: readonly Link[]): Block[][] => {
  const sets = new Map(units.map((unit) => [unit, [unit]]))
  for (const { tail, head } of links) {
    const [one, other] = [sets.get(tail) ?? [], sets.get(head) ?? []]
    if (one === other) continue
    one.push(...other)
    for (const unit of other) sets.set(unit, one)
  }
  return [...new Set(sets.values())]
}

/** https://github.com/dagrejs/dagre/wiki#configuring-the-layout */
const ranked = (units: readonly Block[], links: readonly Link[]): Block => {
  const graph = new dagre.graphlib.Graph({ multigraph: true })
  graph.setGraph({ rankdir: 'LR', nodesep: 16, ranksep: 52, edgesep: 10 })
  for (const [index, { width, height }] of units.entries()) graph.setNode(String(index), { width, height })
  for (const [index, { tail, head, label = { width: 0, height: 0 } }] of links.entries()) {
    const ends = [tail, head].map((unit) => String(units.indexOf(unit)))
    graph.setEdge(ends[0] ?? '', ends[1] ?? '', { ...label, labelpos: 'c' }, String(index))
  }
  dagre.layout(graph)
  const { width = 0, height = 0 } = graph.graph()
  const moved = units.map((unit, index) => {
    const { x, y } = graph.node(String(index)) as Place
    return at(unit, x - unit.width / 2, y - unit.height / 2)
  })
  return joined(moved, { width, height })
}

const at = ({ width, height, places, frames }: Block, left: number, top: number): Block => ({
  ...{ width, height },
  places: new Map([...places].map(([id, { x, y }]) => [id, { x: Math.round(x + left), y: Math.round(y + top) }])),
  frames: frames.map((frame) => ({ ...frame, x: frame.x + left, y: frame.y + top })),
})

const joined = (blocks: readonly Block[], box: Box): Block => ({
  ...box,
  places: new Map(blocks.flatMap(({ places }) => [...places])),
  frames: blocks.flatMap(({ frames }) => frames),
})

const framed = (id: string, kind: Frame['kind'], inner: Block): Block => {
  const [width, height] = [inner.width + 2 * PADDING, inner.height + PADDING + PADDING + TITLE / 2]
  const { places, frames } = at(inner, PADDING, PADDING + TITLE / 2)
  return { width, height, places, frames: [{ id, kind, width, height, x: 0, y: 0 }, ...frames] }
}

/** Packs blocks into rows. The width is chosen so that the result appears as large as possible on a screen. */
const pack = (blocks: readonly Block[], gap: Gap): Block => {
  const widths = blocks.map((_, index) => inRows(blocks.slice(0, index + 1), gap, Number.POSITIVE_INFINITY).width)
  const widest = Math.max(0, ...blocks.map(({ width }) => width))
  const packed = [...new Set(widths.map((width) => Math.max(width, widest)))].map((width) => inRows(blocks, gap, width))
  const [best = inRows(blocks, gap, widest)] = packed.toSorted((one, other) => sizeOf(one) - sizeOf(other))
  return best
}

/** Returns the height of the screen that shows the whole box. */
const sizeOf = ({ width, height }: Box): number => Math.max(width / RATIO, height)

type Gap = { readonly x: number; readonly y: number }

const inRows = (blocks: readonly Block[], gap: Gap, widest: number): Block => {
  let [x, y, row, right] = [0, 0, 0, 0]
  const moved: Block[] = []
  for (const block of blocks) {
    if (x > 0 && x + block.width > widest) [x, y, row] = [0, y + row + gap.y, 0]
    moved.push(at(block, x, y))
    right = Math.max(right, x + block.width)
    row = Math.max(row, block.height)
    x += block.width + gap.x
  }
  return joined(moved, { width: right, height: y + row })
}
