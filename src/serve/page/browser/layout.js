/**
 * @typedef {{ readonly width: number, readonly height: number }} Box
 * @typedef {{ readonly x: number, readonly y: number }} Place
 * @typedef {Box & { readonly id: string, readonly namespace: string, readonly group?: string | undefined }} Item
 * @typedef {{ readonly from: string, readonly to: string, readonly label?: Box | undefined }} Line
 * @typedef {Box & Place & { readonly id: string, readonly kind: 'namespace' | 'group' }} Frame `x` and `y` are its upper left corner.
 * @typedef {Box & { readonly places: ReadonlyMap<string, Place>, readonly frames: readonly Frame[] }} Layout The centres of items, and frames around them.
 * @typedef {{ id: string, x?: number, y?: number, width?: number, height?: number, children?: ElkNode[], layoutOptions?: Record<string, string>,
 *   edges?: { id: string, sources: string[], targets: string[] }[] }} ElkNode
 * @typedef {(graph: ElkNode) => Promise<ElkNode>} Run
 */

const CHARACTER = 7.7
const SMALL_CHARACTER = 6.4
/** Widths are multiples of it, so that a longer second line seldom moves others. */
const STEP = 40
const NARROWEST = 120
const WIDEST = 320

/**
 * Returns the size of a node with two lines of text. The second line is smaller.
 * @param {string} title @param {string} caption @returns {Box}
 */
export const nodeBox = (title, caption) => {
  const text = Math.max(title.length * CHARACTER, caption.length * SMALL_CHARACTER) + 24
  return { width: Math.min(WIDEST, Math.max(NARROWEST, Math.ceil(text / STEP) * STEP)), height: 46 }
}

/** The width of a character of a name that fills its box, as on a map that is zoomed out. */
const LARGE_CHARACTER = 10.5

/** Returns the size of a node with its name alone. @param {string} title @returns {Box} */
export const nameBox = (title) => ({
  width: Math.min(WIDEST, Math.max(90, title.length * LARGE_CHARACTER + 12)),
  height: 28,
})

/**
 * Returns the size of an edge's label, of one line or several.
 * @param {string} label @returns {Box}
 */
export const labelBox = (label) => {
  const lines = label.split('\n')
  return { width: Math.max(...lines.map(({ length }) => length)) * SMALL_CHARACTER + 20, height: lines.length * 15 + 6 }
}

/** The ratio of width to height, as of a screen. */
const RATIO = 1.7
const PADDING = 24
const TITLE = 24

/** https://eclipse.dev/elk/reference/algorithms/org-eclipse-elk-layered.html */
const ALONG_TRAFFIC = {
  'elk.algorithm': 'layered',
  'elk.direction': 'RIGHT',
  'elk.aspectRatio': String(RATIO),
  'elk.edgeRouting': 'POLYLINE',
  'elk.layered.nodePlacement.strategy': 'SIMPLE',
  'elk.layered.thoroughness': '3',
  'elk.spacing.componentComponent': '22',
}

/** https://eclipse.dev/elk/reference/algorithms/org-eclipse-elk-rectpacking.html */
const IN_ROWS = { 'elk.algorithm': 'rectpacking', 'elk.aspectRatio': String(RATIO) }

/** @typedef {{ readonly between: number, readonly layers: number, readonly row: number }} Gaps */

/** @type {Gaps} */
const INNER_GAPS = { between: 12, layers: 48, row: 16 }
/** Between namespaces, for their titles. @type {Gaps} */
const OUTER_GAPS = { between: 56, layers: 90, row: 56 }
/** Between closed namespaces. @type {Gaps} */
const CLOSED_GAPS = { between: 32, layers: 90, row: 48 }

/** The limit of edges for each node up to which a drawing along the traffic is tried. With more it is a hairball. */
const MOST_EDGES = 2.5
const MOST_NODES = 150
/** A drawing along the traffic may be larger than one in rows by this factor, or as large as names can still be read on one screen. */
const MOST_LARGER = 1.5
const INNER_SCREEN = 1_150
const OUTER_SCREEN = 760

/** The limit of kept parts. */
const MOST_KEPT = 500

/**
 * Creates a layout. It places items from left to right along their traffic, or in rows where that is much smaller. Groups stay together, and namespaces are
 * side by side. `closed` are namespaces that are an item themselves. A part that did not change is not computed again.
 * @param {Run} run computes a graph of ELK
 */
export const createLayout = (run) => {
  /** @type {Map<string, Promise<ElkNode>>} */
  const kept = new Map()
  /** @param {ElkNode} graph */
  const once = (graph) => {
    const key = JSON.stringify(graph)
    const placed = kept.get(key) ?? run(graph)
    kept.delete(key)
    kept.set(key, placed)
    placed.catch(() => kept.delete(key))
    for (const oldest of kept.keys()) if (kept.size > MOST_KEPT) kept.delete(oldest)
    return placed
  }

  /** @param {ElkNode[]} children @param {readonly Line[]} lines @param {Gaps} gaps @param {number} screen @returns {Promise<ElkNode>} */
  const place = async (children, lines, gaps, screen) => {
    const rows = await once(graphOf(children, [], IN_ROWS, gaps))
    const count = children.reduce((sum, { children: inner = [] }) => sum + Math.max(1, inner.length), 0)
    if (lines.length === 0 || lines.length > MOST_EDGES * count || count > MOST_NODES) return rows
    const along = await once(graphOf(children, lines, ALONG_TRAFFIC, gaps))
    return sizeOf(along) > Math.max(screen, MOST_LARGER * sizeOf(rows)) ? rows : along
  }

  /** @param {string} namespace @param {readonly Item[]} items @param {readonly Line[]} lines @param {number} count @returns {Promise<Layout>} */
  const placeNamespace = async (namespace, items, lines, count) => {
    const ids = new Set(items.map(({ id }) => id))
    const inside = lines.filter(({ from, to }) => ids.has(from) && ids.has(to))
    return framed(namespace, read(await place(groupsOf(items), inside, INNER_GAPS, INNER_SCREEN / Math.sqrt(count))))
  }

  /**
   * @param {readonly Item[]} items @param {readonly Line[]} lines @param {ReadonlySet<string>} closed the items that are a namespace
   * @returns {Promise<Layout>}
   */
  return async (items, lines, closed = new Set()) => {
    const open = [
      ...Map.groupBy(
        items.filter(({ id }) => !closed.has(id)),
        ({ namespace }) => namespace,
      ),
    ]
    const parts = await Promise.all(
      open.map(
        async ([namespace, members]) =>
          /** @type {const} */ ([namespace, await placeNamespace(namespace, members, lines, open.length)]),
      ),
    )
    const blocks = new Map(parts)
    const boxes = [
      ...[...blocks].map(([id, { width, height }]) => ({ id: `namespace ${id}`, namespace: id, width, height })),
      ...items.filter(({ id }) => closed.has(id)),
    ].toSorted((one, other) => (one.namespace < other.namespace ? -1 : 1))
    const homes = new Map(items.map(({ id, namespace }) => [id, closed.has(id) ? id : `namespace ${namespace}`]))
    const outer = read(
      await place(boxes.map(leaf), between(lines, homes), open.length > 0 ? OUTER_GAPS : CLOSED_GAPS, OUTER_SCREEN),
    )
    const moved = [...blocks].map(([id, block]) => {
      const { x = 0, y = 0 } = outer.places.get(`namespace ${id}`) ?? {}
      return at(block, x - block.width / 2, y - block.height / 2)
    })
    return {
      ...{ width: outer.width, height: outer.height },
      places: new Map([...outer.places, ...moved.flatMap(({ places }) => [...places])]),
      frames: moved.flatMap(({ frames }) => frames),
    }
  }
}

/**
 * Returns the height of the screen that shows all of it.
 * @param {ElkNode} graph
 */
const sizeOf = ({ width = 0, height = 0 }) => Math.max(width / RATIO, height)

/** @param {Box & { readonly id: string }} item @returns {ElkNode} */
const leaf = ({ id, width, height }) => ({ id, width, height })

/** Makes a node of each item without a group, and one of each group with its members. @param {readonly Item[]} items @returns {ElkNode[]} */
const groupsOf = (items) =>
  [...Map.groupBy(items, ({ id, group }) => group ?? ` ${id}`)].flatMap(([id, members]) =>
    members[0]?.group === undefined ? members.map(leaf) : [{ id: `group ${id}`, children: members.map(leaf) }],
  )

/** Lists one line for each pair of namespaces. @param {readonly Line[]} lines @param {ReadonlyMap<string, string>} homes @returns {Line[]} */
const between = (lines, homes) => {
  const pairs = lines.flatMap(({ from, to }) => {
    const [tail, head] = [homes.get(from), homes.get(to)]
    return tail !== undefined && head !== undefined && tail !== head ? [`${tail} → ${head}`] : []
  })
  return [...new Set(pairs)].toSorted().map((pair) => {
    const [from = '', to = ''] = pair.split(' → ')
    return { from, to }
  })
}

/** @param {ElkNode[]} children @param {readonly Line[]} lines @param {Record<string, string>} options @param {Gaps} gaps @returns {ElkNode} */
const graphOf = (children, lines, options, { between: gap, layers, row }) => {
  const layoutOptions = {
    ...options,
    'elk.spacing.nodeNode': String(options === IN_ROWS ? row : gap),
    'elk.layered.spacing.nodeNodeBetweenLayers': String(layers),
    'elk.padding': '[top=0,left=0,bottom=0,right=0]',
    // components are packed without it only
    ...(children.some((child) => child.children) && { 'elk.hierarchyHandling': 'INCLUDE_CHILDREN' }),
  }
  const padding = `[top=${TITLE + 12},left=16,bottom=16,right=16]`
  return {
    ...{ id: 'root', layoutOptions },
    // ELK writes into the graph
    children: children.map((child) =>
      child.children
        ? {
            ...child,
            layoutOptions: { ...layoutOptions, 'elk.padding': padding },
            children: child.children.map((one) => ({ ...one })),
          }
        : { ...child },
    ),
    edges: lines.map(({ from, to, label }, index) => ({
      ...{ id: `edge ${index}`, sources: [from], targets: [to] },
      ...(label && { labels: [{ text: ' ', ...label }] }),
    })),
  }
}

/** @param {ElkNode} graph @returns {Layout} */
const read = ({ children = [], width = 0, height = 0 }) => {
  const inner = children.map(({ id, x = 0, y = 0, ...box }) => {
    const [wide, high] = [box.width ?? 0, box.height ?? 0]
    if (!box.children)
      return { places: [/** @type {const} */ ([id, { x: x + wide / 2, y: y + high / 2 }])], frames: [] }
    const { places } = at(read(box.children.length > 0 ? { ...box, id } : { id }), x, y)
    const frame = {
      id: id.slice('group '.length),
      kind: /** @type {const} */ ('group'),
      x,
      y,
      width: wide,
      height: high,
    }
    return { places: [...places], frames: [frame] }
  })
  return {
    width,
    height,
    places: new Map(inner.flatMap(({ places }) => places)),
    frames: inner.flatMap(({ frames }) => frames),
  }
}

/** @param {Layout} layout @param {number} left @param {number} top @returns {Layout} */
const at = ({ width, height, places, frames }, left, top) => ({
  ...{ width, height },
  places: new Map([...places].map(([id, { x, y }]) => [id, { x: Math.round(x + left), y: Math.round(y + top) }])),
  frames: frames.map((frame) => ({ ...frame, x: frame.x + left, y: frame.y + top })),
})

/** @param {string} id @param {Layout} inner @returns {Layout} */
const framed = (id, inner) => {
  const [width, height] = [inner.width + 2 * PADDING, inner.height + 2 * PADDING + TITLE / 2]
  const { places, frames } = at(inner, PADDING, PADDING + TITLE / 2)
  return { width, height, places, frames: [{ id, kind: 'namespace', width, height, x: 0, y: 0 }, ...frames] }
}
