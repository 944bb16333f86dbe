import { byId, element } from './html.js'
import { namespaceOf } from './names.js'

/**
 * @typedef {import('../page-map.ts').PageMap} PageMap
 * @typedef {import('../page-map.ts').MapNode} MapNode
 * @typedef {import('../page-map.ts').MapEdge} MapEdge
 * @typedef {import('../page-map.ts').PageTraffic} PageTraffic
 * @typedef {import('../page-map.ts').PageFlow} PageFlow
 * @typedef {{ readonly requests: number, readonly refused: number, readonly seconds: number, readonly class: PageFlow['class'] }} Seen
 *   Requests, or connections of TCP, in some seconds.
 * @typedef {MapEdge & { readonly seen?: Seen }} SeenEdge
 * @typedef {'declared' | 'observed' | 'difference'} Showing
 */

/** The time between two questions for the same traffic, in milliseconds. */
const LOOK_AGAIN = 60_000
/** The limit of namespaces whose traffic is asked for. With more of them these are the first open ones. */
const MOST_NAMESPACES = 12

const SECONDS = /** @type {Readonly<Record<string, number>>} */ ({
  '5m': 300,
  '1h': 3_600,
  '24h': 86_400,
  '7d': 604_800,
})

/**
 * Reads who talked to whom, and draws it on maps. Without a Prometheus, maps stay as they are.
 * @param {{ ask: (path: string) => Promise<Response>, onChange: () => void, showing: string, period: string }} options
 */
export const createTraffic = ({ ask, onChange, showing, period }) => {
  const isThere = document.body.dataset.traffic === 'true'
  const [switched, window] = isThere
    ? [byId('showing'), byId('window')].map((one) => /** @type {HTMLSelectElement} */ (one))
    : []
  if (switched && window) {
    if ([...switched.options].some(({ value }) => value === showing)) switched.value = showing
    if (period in SECONDS) window.value = period
    switched.addEventListener('change', onChange)
    window.addEventListener('change', () => {
      known.clear()
      onChange()
    })
  }
  /** @type {Map<string, { readonly at: number, readonly view: PageTraffic | undefined }>} */
  const known = new Map()
  const now = () => ({ showing: /** @type {Showing} */ (switched?.value ?? 'declared'), period: window?.value ?? '1h' })

  /** @param {string} namespace */
  const read = async (namespace) => {
    const asked = now().period
    known.set(namespace, { at: Date.now(), view: known.get(namespace)?.view })
    const response = await ask(`/traffic?${new URLSearchParams({ namespace, window: asked })}`)
    if (asked === now().period) known.set(namespace, { at: Date.now(), view: await response.json() })
  }

  /** @param {readonly string[]} shown @param {ReadonlySet<string>} open */
  const dueOf = (shown, open) => {
    const wanted = shown.length <= MOST_NAMESPACES ? shown : shown.filter((one) => open.has(one))
    return wanted.slice(0, MOST_NAMESPACES).filter((one) => (known.get(one)?.at ?? 0) + LOOK_AGAIN <= Date.now())
  }

  return {
    now,
    /** Asks for the traffic of namespaces, unless it was asked for a moment ago. @param {readonly string[]} shown @param {ReadonlySet<string>} open */
    look: async (shown, open) => {
      const due = isThere ? dueOf(shown, open) : []
      if (due.length === 0) return
      try {
        for (const namespace of due) await read(namespace)
        note('')
      } catch (error) {
        note(`There is no traffic here: ${error instanceof Error ? error.message : error}`)
      }
      onChange()
    },
    /** @param {PageMap} map */
    drawOn: (map) => {
      const views = [...known.values()]
        .flatMap(({ view }) => view ?? [])
        .filter(({ namespace }) => map.shown.includes(namespace))
      return isThere ? withTraffic(map, views, now()) : map
    },
  }
}

/** @param {string} text */
const note = (text) => {
  byId('traffic-note').textContent = text
}

/**
 * Adds traffic to the edges of a map, and edges and clients that were seen alone.
 * @param {PageMap} map @param {readonly PageTraffic[]} views @param {{ showing: Showing, period: string }} asked
 * @returns {PageMap}
 */
const withTraffic = (map, views, { showing, period }) => {
  /** @type {Map<string, SeenEdge>} */
  const edges = new Map(map.edges.map((edge) => [edge.id, edge]))
  for (const { flows, coveredSeconds } of views)
    for (const flow of flows) {
      const id = `${flow.from} → ${flow.to}`
      const seconds = Math.min(SECONDS[period] ?? 3_600, coveredSeconds ?? Number.POSITIVE_INFINITY)
      const edge = edges.get(id) ?? edgeOf(flow)
      edges.set(id, { ...edge, seen: added(edge.seen, flow, seconds) })
    }
  const ids = new Set(map.nodes.map(({ id }) => id))
  const stated = new Set(map.edges.map((edge) => edge.id))
  const shown = [...edges.values()].filter((edge) =>
    showing === 'declared' ? stated.has(edge.id) : isShown(edge, showing),
  )
  const others = new Set(shown.flatMap(({ from, to }) => [from, to]).filter((id) => !ids.has(id)))
  return { ...map, nodes: [...map.nodes, ...[...others].map(nodeOf)], edges: shown }
}

/** @param {Seen | undefined} before @param {PageFlow} flow @param {number} seconds @returns {Seen} */
const added = (before, flow, seconds) => ({
  requests: (before?.requests ?? 0) + flow.requests,
  refused: (before?.refused ?? 0) + flow.refused,
  // flows come with the worst class first
  ...{ seconds, class: before?.class ?? flow.class },
})

/** @param {PageFlow} flow @returns {SeenEdge} */
const edgeOf = ({ from, to, access, relations }) => ({
  ...{ id: `${from} → ${to}`, from, to, isTelemetry: false, label: '' },
  access: access === 'unknown' ? 'none' : access,
  relations: relations.map((one) => ({ ...one, interface: '' })),
})

/** @param {string} id @returns {MapNode} */
const nodeOf = (id) => ({
  ...{
    id,
    namespace: namespaceOf(id),
    application: id.split('/').slice(1).join('/') || id,
    kind: 'off',
    status: 'seen',
  },
  ...{ message: 'Proxies saw it, and meshstep knows no application of this name here.', caption: 'seen by proxies' },
  ...{ marks: [], ports: [] },
})

/** The difference is what was used without a relation or refused, and what is allowed and silent. @param {SeenEdge} edge @param {Showing} showing */
const isShown = ({ seen }, showing) =>
  seen !== undefined && (showing === 'observed' ? seen.requests > 0 : seen.class !== 'allowed and used')

/**
 * Writes a rate, such as `12/min, 3 refused`.
 * @param {Pick<Seen, 'requests' | 'refused' | 'seconds'>} seen
 */
export const rateText = ({ requests, refused, seconds }) => {
  const each = requests / Math.max(1, seconds)
  const [number, unit] = each >= 2 ? [each, 's'] : each * 60 >= 1 ? [each * 60, 'min'] : [each * 3_600, 'h']
  const text = requests === 0 ? 'silent' : `${number >= 10 ? Math.round(number) : Math.round(number * 10) / 10}/${unit}`
  return refused > 0 ? `${text}, ${Math.round(refused)} refused` : text
}

/**
 * Adds up the traffic of several edges.
 * @param {readonly SeenEdge[]} edges @returns {Seen | undefined}
 */
export const sumOf = (edges) => {
  const all = edges.flatMap(({ seen }) => seen ?? [])
  const [first] = all
  return (
    first &&
    all.slice(1).reduce(
      (sum, one) => ({
        ...{ requests: sum.requests + one.requests, refused: sum.refused + one.refused, seconds: sum.seconds },
        class: sum.class === one.class ? sum.class : 'allowed and used',
      }),
      first,
    )
  )
}

/**
 * Says what was seen between two applications, and offers a relation where none stands for it.
 * @param {SeenEdge | undefined} edge @param {string} period
 */
export const showSeen = (edge, period) => {
  const place = byId('seen')
  // it may have the focus
  const text = JSON.stringify([edge?.id, edge?.seen, period])
  if (place.dataset.shown === text) return
  place.dataset.shown = text
  place.hidden = edge?.seen === undefined
  if (edge?.seen === undefined) return place.replaceChildren()
  const { requests, refused, class: kind } = edge.seen
  const isOffered =
    edge.relations.length === 0 &&
    requests > 0 &&
    [edge.from, edge.to].every((id) => /^[^/]+\/[^/]+$/.test(id) && !id.endsWith('/unknown'))
  place.replaceChildren(
    element('h2', {}, 'Traffic'),
    element(
      'p',
      {},
      `${edge.from} → ${edge.to}: ${Math.round(requests)} requests or connections in the last ${period}, ${Math.round(refused)} of them refused (${rateText(edge.seen)}).`,
    ),
    element('p', {}, element('b', {}, kind)),
    ...(isOffered
      ? [
          element(
            'button',
            { type: 'button', class: 'primary', 'data-propose': `${edge.from} ${edge.to}` },
            'Plan this relation',
          ),
        ]
      : []),
  )
}

/** Fills in *Plan a relation*: who was called is the provider. @param {string} from @param {string} to */
export const proposeRelation = (from, to) => {
  const form = /** @type {HTMLFormElement} */ (byId('plan-form'))
  /** @param {string} name */
  const field = (name) => /** @type {HTMLInputElement | HTMLSelectElement} */ (form.elements.namedItem(name))
  field('kind').value = 'relate'
  field('own').value = to
  field('remote').value = from
  field('endpoint').value = ''
  field('endpoint').focus()
}
