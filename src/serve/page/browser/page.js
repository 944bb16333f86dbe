import { openedAddress, writeAddress } from './address.js'
import { byId, element } from './html.js'
import { createLayout, labelBox } from './layout.js'
import { follow, Refusal } from './live.js'
import { createGraph, MOST_LABELS } from './map.js'
import { counted, namespaceOf, passing } from './names.js'
import { openIn, viewOf } from './namespaces.js'
import { markRows, showRows } from './rows.js'
import { svg } from './svg.js'
import { createTraffic, proposeRelation, showSeen } from './traffic.js'

/** @typedef {import('../page-map.ts').PageMap} PageMap */
/** @typedef {import('./namespaces.js').View} View */
/** @typedef {import('./layout.js').Layout} Layout */
/** @typedef {import('./live.js').Told} Told */
/** @typedef {import('./live.js').Connection} Connection */

/** The time between two reads while the page is visible, in milliseconds. The cluster also changes without steps. */
const LOOK_AGAIN = 5_000
const MOST_ENTRIES = 200

const AWAY = 'The server does not answer: does it run?'

const { dataset } = document.body
const hasSteps = dataset.steps === 'true'

/** The map of the server. @type {PageMap | undefined} */
let declared
/** The same with traffic. @type {PageMap | undefined} */
let map
/** @type {string[]} */
let chosen = []
/** @type {(readonly [string, string])[]} */
let lost = []
const address = openedAddress()
let { namespace } = address
/** The namespaces that somebody has opened or closed. */
const { opened, closed } = address
const searchField = /** @type {HTMLInputElement} */ (byId('search'))
searchField.value = address.search
/** @type {Record<string, string>} */
let request = {}
/** Applications whose last step found a conflict. */
const conflicts = /** @type {Set<string>} */ (new Set())

// requests

/** @type {Promise<void> | undefined} */
let asking

/** @param {string} reason */
const askForToken = (reason) => {
  asking ??= new Promise((resolve) => {
    const dialog = byId('token-dialog')
    if (!(dialog instanceof HTMLDialogElement)) return
    byId('token-reason').textContent = reason
    dialog.showModal()
    dialog.addEventListener(
      'close',
      () => {
        sessionStorage.setItem('token', /** @type {HTMLInputElement} */ (byId('token')).value.trim())
        asking = undefined
        // another token may see other steps
        if (following) followSteps()
        resolve()
      },
      { once: true },
    )
  })
  return asking
}

/**
 * Sends a request, with a token if the server needs one. Rejects with the server's message.
 * @param {string} path
 * @param {RequestInit} init
 * @returns {Promise<Response>}
 */
const ask = async (path, init = {}) => {
  const token = sessionStorage.getItem('token')
  const headers = { ...(token && { authorization: `Bearer ${token}` }), ...init.headers }
  const response = await fetch(path, { ...init, headers }).catch((error) => {
    throw init.signal?.aborted ? error : new Error(AWAY)
  })
  if (response.ok) return response
  const text = await response.text()
  const message = messageIn(text) ?? `${response.status} ${text.slice(0, 200) || response.statusText}`
  if (response.status !== 401) throw new Refusal(message)
  await askForToken(message)
  return ask(path, init)
}

/** @param {string} text */
const messageIn = (text) => {
  try {
    return String(JSON.parse(text).message)
  } catch {
    return undefined
  }
}

/** @param {unknown} error */
const complain = (error) => {
  const problem = byId('problem')
  problem.hidden = error === undefined
  problem.textContent = error === undefined ? '' : `${error instanceof Error ? error.message : error}`
}

// the map

const graph = createGraph(byId('graph'), {
  onNode: (id) => choose(id),
  onEdge: ({ from, to, members: [first, ...others] }) => {
    if (first && others.length === 0) void choosePair(first.from, first.to)
    else showConnections(from, to)
  },
  onNamespace: (one) => toggle(one),
  onNothing: () => clear(),
})

const traffic = createTraffic({
  ask,
  ...{ showing: address.showing, period: address.period },
  onChange: () => {
    if (!declared) return
    remember()
    void arrange()
  },
})

const elk = new ELK({ workerUrl: '/page/elk-worker.min.js' })
const layOut = createLayout((given) => elk.layout(given))

/** The view on the map, with its places. @type {{ readonly view: View, readonly layout: Layout } | undefined} */
let drawn
let turns = 0

/** @param {PageMap} given */
const openNow = (given) => openIn(given, { opened, closed, chosen, found: matching() })

/** Draws the map. What changed is seen at once where everything has a place already. Then everything gets its new place. */
const arrange = async () => {
  if (!declared) return
  map = traffic.drawOn(declared)
  turns += 1
  const turn = turns
  const open = openNow(map)
  void traffic.look(map.shown, open)
  const view = viewOf(map, open, conflicts, matching())
  const known = drawn?.layout.places
  if (drawn && known && view.items.every(({ id }) => known.has(id))) put(view, drawn.layout)
  showRows(map, open, matching())
  mark()
  const isLabelled = view.edges.length <= MOST_LABELS
  const lines = view.edges.map(({ from, to, label }) => ({
    ...{ from, to },
    ...(isLabelled && label !== '' && { label: labelBox(label) }),
  }))
  const layout = await layOut(view.items, lines, view.closed)
  if (turn === turns) put(view, layout)
}

/** @param {View} view @param {Layout} layout */
const put = (view, layout) => {
  drawn = { view, layout }
  graph.draw(view, layout)
  mark()
  tellSeen()
}

let isLoading = false
let isStale = false

/** Reads the map. Several requests during a read lead to one more read. */
const load = async () => {
  isStale = true
  if (isLoading) return
  isLoading = true
  while (isStale) {
    isStale = false
    const error = await loadOnce().then(
      () => undefined,
      (problem) => problem,
    )
    complain(error?.message === AWAY ? `${AWAY} The page asks again every five seconds.` : error)
    if (!hasSteps) setConnection({ state: error === undefined ? 'live' : 'reconnecting' })
  }
  isLoading = false
}

const queryOf = () => (namespace === '' ? '' : `?${new URLSearchParams({ namespace })}`)

const loadOnce = async () => {
  const response = await ask(`/map${queryOf()}`)
  const next = /** @type {PageMap} */ (await response.json())
  if (next.version !== declared?.version) await take(next)
  else if (map) void traffic.look(map.shown, openNow(map))
}

/** @param {PageMap} next */
const take = async (next) => {
  const start = performance.now()
  const before = declared
  declared = next
  map = traffic.drawOn(next)
  const isSame = before !== undefined && before.shown.join() === next.shown.join()
  if (isSame || (before !== undefined && namespace === '')) tellChanges(before, next)
  const names = new Set(map.nodes.map(({ id }) => id))
  chosen = chosen.filter((id) => names.has(id))
  showNamespaces(next)
  showNames(next)
  showStory(names)
  byId('empty').textContent = next.nodes.length > 0 ? READING : nothingIn(namespace)
  void (before === undefined ? showOpened() : refreshDetail())
  await arrange()
  byId('empty').hidden = next.nodes.length > 0
  document.body.dataset.version = next.version
  if (before === undefined) performance.mark('drawn')
  else performance.measure('changed', { start })
}

const READING = byId('empty').textContent

/** @param {string} one */
const nothingIn = (one) =>
  one === ''
    ? 'No application is known, and no workload runs, in the namespaces that you may see.'
    : `Nothing runs in the namespace ${one}, and no event has come for it. Is that its name?`

/** Shows the buttons of the example where its applications are. @param {ReadonlySet<string>} names */
const showStory = (names) => {
  const story = document.getElementById('story')
  if (story) story.hidden = !(story.dataset.needs ?? '').split(' ').every((id) => names.has(id))
}

/** @param {PageMap} map */
const showNames = ({ nodes }) => {
  const ids = nodes.map(({ id }) => id)
  const names = byId('names')
  if (names.dataset.ids === ids.join()) return
  names.dataset.ids = ids.join()
  names.replaceChildren(...ids.map((id) => element('option', { value: id })))
}

/** @param {PageMap} map */
const showNamespaces = ({ namespaces }) => {
  const all = [...new Set([...namespaces, ...(namespace === '' ? [] : [namespace])])]
  const select = /** @type {HTMLSelectElement} */ (byId('namespace'))
  select.replaceChildren(
    element('option', { value: '' }, 'all'),
    ...all.map((name) => element('option', { value: name, selected: name === namespace }, name)),
  )
}

const matching = () => {
  const sought = searchField.value.trim().toLowerCase()
  if (sought === '' || !map) return undefined
  const found = map.nodes.filter(({ id, caption }) => `${id} ${caption}`.toLowerCase().includes(sought))
  return new Set(found.map(({ id }) => id))
}

const mark = () => {
  const found = matching()
  const shown = { chosen, matching: found, lost: new Set(lost.map(([from, to]) => `${from} → ${to}`)) }
  graph.mark(shown)
  markRows(shown)
  const total = map?.nodes.length ?? 0
  byId('count').textContent = found
    ? `${found.size === 0 ? 'nothing found: ' : ''}${found.size} of ${total}`
    : counted(total)
}

/** Opens a namespace, or closes it. A closed one is one box on the map. @param {string} one */
const toggle = async (one) => {
  if (!map) return
  const isOpen = openNow(map).has(one)
  if (isOpen && chosen.some((id) => namespaceOf(id) === one)) clear()
  opened.delete(one)
  closed.delete(one)
  // only what differs from a map that nobody has touched is remembered
  if (openNow(map).has(one) === isOpen) (isOpen ? closed : opened).add(one)
  remember()
  await arrange()
  if (isOpen) graph.showAll()
  else graph.showNamespace(one)
}

// the selection

const hint = [...byId('detail').childNodes]

const clear = () => {
  select([])
  show(...hint)
}

/** Puts what is shown into the page's URL. */
const remember = () => {
  writeAddress({ namespace, chosen, request, search: searchField.value, ...traffic.now(), opened, closed })
}

/** Selects applications, and brings them into view. @param {string[]} ids @param {Record<string, string>} [asked] */
const select = (ids, asked = {}) => {
  chosen = ids
  request = asked
  remember()
  mark()
  tellSeen()
  void arrange().then(() => graph.show(chosen))
}

/** Says what was seen between the selected two. */
const tellSeen = () => {
  if (dataset.traffic !== 'true') return
  const [from, to] = chosen
  showSeen(
    map?.edges.find((one) => one.from === from && one.to === to),
    traffic.now().period,
  )
}

/** Selects the applications in the page's URL. */
const showOpened = () => {
  const { chosen: ids, request: asked } = address
  const [from, to] = ids
  if (from !== undefined && to !== undefined) return choosePair(from, to, asked.port === undefined ? undefined : asked)
  return from === undefined ? undefined : choose(from)
}

/** Lists the connections between two namespaces, or of one with an application. @param {string} from @param {string} to */
const showConnections = (from, to) => {
  const edge = drawn?.view.edges.find((one) => one.from === from && one.to === to)
  if (!edge) return
  show(
    element('h2', {}, `${edge.members.length} connections`),
    element(
      'ul',
      {},
      ...edge.members.map((one) =>
        element(
          'li',
          {},
          element('button', { type: 'button', class: 'link', 'data-pair': `${one.from} ${one.to}` }, one.id),
          ` ${passing(one)}`,
        ),
      ),
    ),
  )
}

/** Shows an application, or with another one already selected, if that one may reach it. @param {string} id */
const choose = (id) => {
  const [first] = chosen
  if (chosen.length === 1 && first !== undefined && first !== id) return choosePair(first, id)
  select([id])
  return showApplication(id)
}

/** @param {string} id */
const showApplication = (id) => {
  const node = map?.nodes.find((one) => one.id === id)
  if (node === undefined || !['untold', 'seen'].includes(node.status))
    return showDetail(`/page/applications/${id}`, `Reading ${id} …`)
  show(element('h2', {}, id), element('p', {}, node.message))
}

/** @param {string} from @param {string} to @param {Record<string, string>} [asked] */
const choosePair = async (from, to, asked) => {
  const edge = map?.edges.find((one) => one.from === from && one.to === to)
  const port = edge?.sample?.port ?? map?.nodes.find(({ id }) => id === to)?.ports[0]
  select([from, to], asked)
  if (asked === undefined && port === undefined) {
    show(
      element('h2', {}, `${from} → ${to}`),
      element('p', {}, `${to} has no Service with a port, so there is no request to check.`),
    )
    return
  }
  const { method, path } = edge?.sample ?? {}
  const query = asked ?? { port: String(port), ...(method && { method }), ...(path && { path }) }
  await showDetail(
    `/page/explain?${new URLSearchParams({ from, to, ...query })}`,
    `Asking whether ${from} may reach ${to} …`,
  )
  const all = byId('detail').querySelector('.allowed-in-all')
  if (all instanceof HTMLElement && edge && edge.label !== '') {
    all.hidden = false
    all.replaceChildren(...edge.label.split('\n').map((line) => element('li', {}, element('code', {}, line))))
  }
}

/** The path of the current details, and the server's answer. */
let shown = { path: '', text: '' }

/** Shows content that does not come from the server. @param {(string | Node)[]} children */
const show = (...children) => {
  shown = { path: '', text: '' }
  byId('detail').replaceChildren(...children)
}

/**
 * Shows a server's answer as HTML, which the server has escaped. An unchanged answer is not drawn again, because somebody may be reading it.
 * @param {string} path
 * @param {string} meanwhile
 */
const showDetail = async (path, meanwhile) => {
  if (path !== shown.path) {
    show(element('p', { class: 'muted' }, meanwhile))
    shown.path = path
  }
  const expected = shown
  try {
    const text = await (await ask(path)).text()
    if (expected !== shown || text === shown.text) return
    shown.text = text
    byId('detail').innerHTML = text
  } catch (error) {
    if (expected !== shown) return
    shown.text = ''
    byId('detail').replaceChildren(
      element('p', { class: 'verdict no' }, error instanceof Error ? error.message : String(error)),
    )
  }
}

/** Updates the details, but not while they have the focus. */
const refreshDetail = async () => {
  const [from, to] = chosen
  if (from === undefined || byId('detail').contains(document.activeElement)) return
  if (to === undefined) await showApplication(from)
  else await choosePair(from, to, request.port === undefined ? undefined : request)
}

byId('detail').addEventListener('submit', (event) => {
  event.preventDefault()
  if (!(event.target instanceof HTMLFormElement)) return
  const given = [...new FormData(event.target)].map(([name, value]) => [name, String(value)])
  const { from = '', to = '' } = event.target.dataset
  void choosePair(from, to, Object.fromEntries(given.filter(([, value]) => value !== '')))
})

/** The effects of buttons, by the names of their data. @type {Readonly<Record<string, (value: string, button: HTMLButtonElement) => unknown>>} */
const BUTTONS = {
  select: (id) => choose(id),
  pair: (pair) => choosePair(...pairIn(pair)),
  swap: () => chosen.length === 2 && choosePair(chosen[1] ?? '', chosen[0] ?? ''),
  send: (told) => send(JSON.parse(told)).then(forget),
  discard: () => forget(),
  story: (_, button) => tell(button),
  toggle: (one) => toggle(one),
  propose: (pair) => proposeRelation(...pairIn(pair)),
}

/** @param {string} pair @returns {[string, string]} */
const pairIn = (pair) => {
  const [from = '', to = ''] = pair.split(' ')
  return [from, to]
}

document.addEventListener('click', ({ target }) => {
  const button = target instanceof Element ? target.closest('button') : null
  for (const [name, value = ''] of Object.entries(button?.dataset ?? {}))
    if (button) void BUTTONS[name]?.(value, button)
})

// planning and sending

const forget = () => {
  lost = []
  byId('plan').hidden = true
  byId('plan').replaceChildren()
  mark()
}

/** Plans, under a heading that says what. @param {string} title @param {unknown} asked */
const plan = async (title, asked) => {
  const [section, place] = [byId('plan'), element('div', {}, element('p', { class: 'muted' }, 'Planning …'))]
  section.hidden = false
  section.replaceChildren(element('h2', {}, title), place)
  try {
    const body = JSON.stringify(asked)
    place.innerHTML = await (await ask('/page/plan', { method: 'POST', body })).text()
    const { lost: gone = '[]' } = place.querySelector('article')?.dataset ?? {}
    lost = JSON.parse(gone)
  } catch (error) {
    lost = []
    place.replaceChildren(element('p', { class: 'verdict no' }, error instanceof Error ? error.message : String(error)))
  }
  section.scrollIntoView({ block: 'nearest' })
  mark()
}

byId('plan-form').addEventListener('submit', (event) => {
  event.preventDefault()
  if (!(event.target instanceof HTMLFormElement)) return
  const asked = Object.fromEntries(new FormData(event.target))
  const { kind, own, endpoint, remote } = asked
  void plan(`Plan: ${kind} ${own}${endpoint === '' ? '' : `:${endpoint}`} ${remote}`, asked)
})

/** @param {{ type: string, subject: string, data: unknown }} told */
const send = async ({ type, subject, data }) => {
  const event = {
    ...{ specversion: '1.0', id: crypto.randomUUID(), source: '/page', type: `dev.meshstep.${type}.v1`, subject },
    ...{ time: new Date().toISOString(), datacontenttype: 'application/json', data },
  }
  const headers = { 'content-type': 'application/cloudevents+json' }
  try {
    await ask('/', { method: 'POST', headers, body: JSON.stringify(event) })
    complain(undefined)
    return true
  } catch (error) {
    complain(error)
    return false
  } finally {
    void load()
  }
}

/** @param {HTMLButtonElement} button */
const tell = async (button) => {
  const event = JSON.parse(button.dataset.event ?? '{}')
  if (button.dataset.planned === 'true') return await plan(button.textContent, { event })
  forget()
  button.disabled = true
  const isSent = await send(event)
  button.disabled = false
  button.classList.toggle('done', isSent)
}

// steps

/** @param {Connection} connection */
const setConnection = ({ state, reason }) => {
  const [live, refused] = [byId('live'), byId('refused')]
  refused.hidden = reason === undefined
  refused.textContent = reason === undefined ? '' : `There are no steps here: ${reason}`
  if (live.dataset.state === state) return
  // the map may have changed without a step meanwhile
  if (state === 'live' && live.dataset.state === 'reconnecting') void load()
  live.dataset.state = state
  live.textContent = state === 'refused' ? 'no steps' : state
}

/** The last steps, with their ids. */
const kept = /** @type {Told[]} */ ([])
const restarted = { process: '' }
/** @type {AbortController | undefined} */
let following

/** Follows steps while the page is visible. Pages with the same token share a stream. */
const followSteps = () => {
  following?.abort()
  following = undefined
  if (!hasSteps || document.visibilityState === 'hidden') return
  following = new AbortController()
  const token = sessionStorage.getItem('token') ?? ''
  void follow({ ask, token, kept, signal: following.signal, onStep, onConnection: setConnection })
}

/** Each step saves one. */
const MEMORY = /^ConfigMap .*\/juju-service-mesh-.*-labels$/

/** @param {Told} told */
const onStep = ({ id: message, step }) => {
  const [process = ''] = message.split('-')
  if (restarted.process !== '' && restarted.process !== process)
    entry(step.time, element('span', { class: 'muted' }, 'the server was restarted'))
  restarted.process = process
  if (namespace !== '' && namespace !== step.namespace) return
  const id = `${step.namespace}/${step.application}`
  if (step.status === 'conflict') conflicts.add(id)
  else conflicts.delete(id)
  const removed = new Set(step.removed)
  entry(
    step.time,
    element('b', {}, step.event.type.replace(/^dev\.meshstep\.(.*)\.v1$/, '$1')),
    ' ',
    step.application !== undefined &&
      element('button', { type: 'button', class: 'link', 'data-select': id }, step.application),
    ' ',
    element('span', { class: `status ${step.status}` }, step.status),
    element(
      'ul',
      { class: 'wrote' },
      ...step.written
        .filter((one) => !MEMORY.test(one))
        .map((one) =>
          element('li', { class: removed.has(one) ? 'lost' : '' }, `${removed.has(one) ? '− ' : ''}${one}`),
        ),
      ...step.messages.map((one) => element('li', { class: 'message' }, one)),
    ),
  )
  void load()
}

/** @param {string} time @param {import('./html.js').Child[]} children */
const entry = (time, ...children) => {
  const steps = byId('steps')
  const clock = element('time', { datetime: time }, new Date(time).toLocaleTimeString([], { hour12: false }))
  steps.prepend(element('li', {}, clock, ' ', ...children))
  while (steps.childElementCount > MOST_ENTRIES) steps.lastElementChild?.remove()
}

/** Reports the differences between two maps, in the namespaces that are shown now. @param {PageMap} before @param {PageMap} after */
const tellChanges = (before, after) => {
  const isShown = (/** @type {string} */ id) => after.shown.includes(namespaceOf(id))
  const nodes = before.nodes.filter(({ id }) => isShown(id))
  const edges = before.edges.filter(({ from, to }) => isShown(from) && isShown(to))
  const changes = [
    ...differences(nodes, after.nodes, ({ id, caption }) => [id, caption]),
    ...differences(edges, after.edges, (edge) => [edge.id, passing(edge)]),
  ]
  if (changes.length === 0) return
  const more = changes.length - MOST_CHANGES
  entry(
    new Date().toISOString(),
    element('span', { class: 'muted' }, 'the map changed'),
    element(
      'ul',
      { class: 'wrote' },
      ...changes.slice(0, MOST_CHANGES).map(({ text, kind }) => element('li', { class: kind }, text)),
      more > 0 && element('li', {}, `and ${more} more`),
    ),
  )
}

const MOST_CHANGES = 12

/**
 * @template T
 * @param {readonly T[]} before @param {readonly T[]} after @param {(one: T) => [string, string]} read
 * @returns {{ text: string, kind: string }[]}
 */
const differences = (before, after, read) => {
  const [old, now] = [new Map(before.map(read)), new Map(after.map(read))]
  return [
    ...[...now].flatMap(([id, text]) => {
      const was = old.get(id)
      if (was === text) return []
      return [
        was === undefined
          ? { text: `+ ${id}: ${text}`, kind: 'gained' }
          : { text: `${id}: ${was} ⇒ ${text}`, kind: '' },
      ]
    }),
    ...[...old].flatMap(([id, text]) => (now.has(id) ? [] : [{ text: `− ${id}: ${text}`, kind: 'lost' }])),
  ]
}

// filters, keys, and the start

/** The pause in typing after which what is found is shown, in milliseconds. */
const TYPING = 150
/** @type {ReturnType<typeof setTimeout> | undefined} */
let searching

/** Opens the namespaces of what is found, and shows it. */
const find = async () => {
  remember()
  await arrange()
  const found = matching()
  if (found === undefined) graph.showAll()
  else if (found.size > 0) graph.show([...found])
}

/** Opens the first application that is found: the one of that name, if there is one. */
byId('filters').addEventListener('submit', (event) => {
  event.preventDefault()
  const found = [...(matching() ?? [])]
  const sought = searchField.value.trim().toLowerCase()
  const first = found.find((id) => id === sought || id.endsWith(`/${sought}`)) ?? found[0]
  if (first === undefined) return
  clearTimeout(searching)
  void choose(first)
})
searchField.addEventListener('keydown', (event) => {
  if (event.key !== 'ArrowDown') return
  event.preventDefault()
  const first = byId('rows').querySelector('tr:not([hidden]) [data-select]')
  if (first instanceof HTMLElement) first.focus()
})
searchField.addEventListener('input', () => {
  mark()
  clearTimeout(searching)
  searching = setTimeout(find, TYPING)
})
byId('namespace').addEventListener('change', ({ target }) => {
  namespace = /** @type {HTMLSelectElement} */ (target).value
  clear()
  graph.showAll()
  void load()
})
byId('fit').addEventListener('click', () => graph.showAll())
byId('print').addEventListener('click', () => {
  if (!drawn) return
  const url = URL.createObjectURL(new Blob([svg(drawingOf(drawn))], { type: 'image/svg+xml' }))
  element('a', { href: url, download: `meshstep${namespace === '' ? '' : `-${namespace}`}.svg` }).click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
})

/** @param {{ readonly view: View, readonly layout: Layout }} shown */
const drawingOf = ({ view: { items, edges }, layout: { places, frames, width, height } }) => ({
  ...{ frames, width, height },
  nodes: items.map(({ node, ...item }) => ({
    ...item,
    ...(places.get(item.id) ?? { x: 0, y: 0 }),
    kind: node?.kind ?? /** @type {const} */ ('namespace'),
  })),
  edges: edges.map(({ from, to, label, access }) => ({
    ...{ from, to, isDashed: access !== 'allowed' },
    label: edges.length <= MOST_LABELS ? label : '',
  })),
})

/** @type {Readonly<Record<string, () => void>>} */
const KEYS = {
  '/': () => searchField.focus(),
  Escape: () => clear(),
  0: () => graph.showAll(),
  '+': () => graph.zoom(1.25),
  '-': () => graph.zoom(0.8),
}
document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof HTMLElement && event.target.matches('input, select, textarea')
  if (event.ctrlKey || event.metaKey || event.altKey || (isTyping && event.key !== 'Escape')) return
  const act = KEYS[event.key]
  if (!act) return
  if (event.key === '/') event.preventDefault()
  act()
})

setInterval(() => {
  if (document.visibilityState === 'visible') void load()
}, LOOK_AGAIN)
document.addEventListener('visibilitychange', () => {
  followSteps()
  if (document.visibilityState === 'visible') void load()
})
await load()
followSteps()
