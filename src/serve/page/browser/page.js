import { byId, element } from './html.js'
import { follow, Refusal } from './live.js'
import { createGraph } from './map.js'

/** @typedef {import('../page-map.ts').PageMap} PageMap */
/** @typedef {import('../page-map.ts').MapNode} MapNode */
/** @typedef {import('../page-map.ts').MapEdge} MapEdge */
/** @typedef {import('./live.js').Told} Told */
/** @typedef {import('./live.js').Connection} Connection */

/** The time between two reads while the page is visible, in milliseconds. The cluster also changes without steps. */
const LOOK_AGAIN = 5_000
const MOST_ENTRIES = 200

const AWAY = 'The server does not answer: does it run?'

const { dataset } = document.body
const hasSteps = dataset.steps === 'true'

/** @type {PageMap | undefined} */
let map
/** @type {string[]} */
let chosen = []
/** @type {(readonly [string, string])[]} */
let lost = []
/** @type {Record<string, string>} */
const opened = Object.fromEntries(new URLSearchParams(location.search))
let { namespace = '' } = opened
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
  onEdge: (id) => {
    const edge = map?.edges.find((one) => one.id === id)
    if (edge) void choosePair(edge.from, edge.to)
  },
  onNothing: () => clear(),
})

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
  if (next.version !== map?.version) take(next)
}

/** @param {PageMap} next */
const take = (next) => {
  const before = map
  map = next
  const isSame = before !== undefined && before.shown.join() === next.shown.join()
  if (isSame || (before !== undefined && namespace === '')) tellChanges(before, next)
  graph.draw(next, conflicts)
  const names = new Set(next.nodes.map(({ id }) => id))
  chosen = chosen.filter((id) => names.has(id))
  showNamespaces(next)
  showRows(next)
  byId('names').replaceChildren(...next.nodes.map(({ id }) => element('option', { value: id })))
  byId('empty').hidden = next.nodes.length > 0
  byId('empty').textContent =
    namespace === ''
      ? 'No application is known, and no workload runs, in the namespaces that you may see.'
      : `Nothing runs in the namespace ${namespace}, and no event has come for it. Is that its name?`
  mark()
  void (before === undefined ? showOpened() : refreshDetail())
  document.body.dataset.version = next.version
  if (before === undefined) performance.mark('drawn')
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

/** @param {PageMap} map */
const showRows = ({ nodes, edges }) => {
  const from = Map.groupBy(edges, (edge) => edge.from)
  byId('rows').replaceChildren(
    ...nodes.map((node) =>
      element(
        'tr',
        { 'data-id': node.id },
        element(
          'th',
          { scope: 'row' },
          element(
            'button',
            { type: 'button', class: 'link', 'data-select': node.id, 'aria-pressed': 'false' },
            node.id,
          ),
        ),
        element(
          'td',
          {},
          node.caption,
          node.waypoint !== undefined && element('div', { class: 'muted' }, node.waypoint),
          node.message === '' ? undefined : element('div', { class: 'muted' }, node.message),
        ),
        element('td', {}, ...(from.get(node.id) ?? []).map(reach), openTo(node, from.get(node.id) ?? [], nodes)),
      ),
    ),
  )
}

/** @param {MapEdge} edge */
const reach = ({ from, to, access, label, isTelemetry }) => {
  const what = access === 'none' ? 'nothing passes' : label.replaceAll('\n', '; ')
  const more = [access === 'open' && 'open to anybody', isTelemetry && 'telemetry'].filter((one) => one !== false)
  return element(
    'div',
    { class: `reach ${access}`, 'data-edge': `${from} → ${to}` },
    element('button', { type: 'button', class: 'link', 'data-pair': `${from} ${to}` }, to),
    ` ${[what, ...more].join(', ')}`,
  )
}

/**
 * Lists open applications, because an empty cell would mean that the client reaches nobody.
 * @param {MapNode} client
 * @param {readonly MapEdge[]} edges
 * @param {readonly MapNode[]} nodes
 */
const openTo = (client, edges, nodes) => {
  const known = new Set([client.id, ...edges.map(({ to }) => to)])
  const open = nodes.filter(({ id, access }) => access === 'open' && !known.has(id)).map(({ id }) => id)
  if (open.length > 0) {
    const shown = open.length > 4 ? [...open.slice(0, 3), `${open.length - 3} others`] : open
    return element('div', { class: 'reach open muted' }, `all that is open to anybody: ${shown.join(', ')}`)
  }
  return edges.length === 0 ? element('div', { class: 'muted' }, 'no known application') : undefined
}

const matching = () => {
  const sought = /** @type {HTMLInputElement} */ (byId('search')).value.trim().toLowerCase()
  if (sought === '' || !map) return undefined
  const found = map.nodes.filter(({ id, caption }) => `${id} ${caption}`.toLowerCase().includes(sought))
  return new Set(found.map(({ id }) => id))
}

const mark = () => {
  const found = matching()
  graph.mark({ chosen, matching: found, lost })
  const total = map?.nodes.length ?? 0
  byId('count').textContent = found
    ? `${found.size === 0 ? 'nothing found: ' : ''}${found.size} of ${total}`
    : `${total} ${total === 1 ? 'application' : 'applications'}`
  for (const row of byId('rows').querySelectorAll('tr')) {
    const id = row.dataset.id ?? ''
    row.hidden = found !== undefined && !found.has(id)
    row.classList.toggle('chosen', chosen.includes(id))
    row.querySelector('[data-select]')?.setAttribute('aria-pressed', String(chosen.includes(id)))
  }
  const gone = new Set(lost.map(([from, to]) => `${from} → ${to}`))
  for (const one of byId('rows').querySelectorAll('[data-edge]'))
    one.classList.toggle('lost', gone.has(/** @type {HTMLElement} */ (one).dataset.edge ?? ''))
}

// the selection

const hint = [...byId('detail').childNodes]

const clear = () => {
  select([])
  show(...hint)
}

/** Selects applications, and puts the selection and the request into the page's URL. @param {string[]} ids @param {Record<string, string>} [asked] */
const select = (ids, asked = {}) => {
  chosen = ids
  request = asked
  const [one, other] = ids
  const selected = other === undefined ? { ...(one && { application: one }) } : { from: one ?? '', to: other, ...asked }
  const query = new URLSearchParams({ ...(namespace !== '' && { namespace }), ...selected })
  history.replaceState(null, '', query.size === 0 ? location.pathname : `?${query}`)
  mark()
}

/** Selects the applications in the page's URL. */
const showOpened = () => {
  const { application, from, to, namespace: _, ...asked } = opened
  if (from !== undefined && to !== undefined) return choosePair(from, to, asked.port === undefined ? undefined : asked)
  return application === undefined ? undefined : choose(application)
}

/** Shows an application, or with another one already selected, if that one may reach it. @param {string} id */
const choose = (id) => {
  const [first] = chosen
  if (chosen.length === 1 && first !== undefined && first !== id) return choosePair(first, id)
  select([id])
  graph.show(id)
  return showApplication(id)
}

/** @param {string} id */
const showApplication = (id) => {
  const node = map?.nodes.find((one) => one.id === id)
  if (node?.status !== 'untold') return showDetail(`/page/applications/${id}`, `Reading ${id} …`)
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

document.addEventListener('click', ({ target }) => {
  const button = target instanceof Element ? target.closest('button') : null
  if (!button) return
  const { select, pair, swap, send: told, discard, story } = button.dataset
  if (select !== undefined) void choose(select)
  if (pair !== undefined) {
    const [from = '', to = ''] = pair.split(' ')
    void choosePair(from, to)
  }
  if (swap !== undefined && chosen.length === 2) void choosePair(chosen[1] ?? '', chosen[0] ?? '')
  if (told !== undefined) void send(JSON.parse(told)).then(forget)
  if (discard !== undefined) forget()
  if (story !== undefined) void tell(button)
})

// planning and sending

const forget = () => {
  lost = []
  byId('plan').replaceChildren()
  mark()
}

/** @param {unknown} asked */
const plan = async (asked) => {
  const place = byId('plan')
  place.replaceChildren(element('p', { class: 'muted' }, 'Planning …'))
  try {
    const body = JSON.stringify(asked)
    place.innerHTML = await (await ask('/page/plan', { method: 'POST', body })).text()
    const { lost: gone = '[]' } = place.querySelector('article')?.dataset ?? {}
    lost = JSON.parse(gone)
  } catch (error) {
    lost = []
    place.replaceChildren(element('p', { class: 'verdict no' }, error instanceof Error ? error.message : String(error)))
  }
  place.scrollIntoView({ block: 'nearest' })
  mark()
}

byId('plan-form').addEventListener('submit', (event) => {
  event.preventDefault()
  if (event.target instanceof HTMLFormElement) void plan(Object.fromEntries(new FormData(event.target)))
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
  if (button.dataset.planned === 'true') return await plan({ event })
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
  const isShown = (/** @type {string} */ id) => after.shown.includes(id.split('/')[0] ?? '')
  const nodes = before.nodes.filter(({ id }) => isShown(id))
  const edges = before.edges.filter(({ from, to }) => isShown(from) && isShown(to))
  const changes = [
    ...differences(nodes, after.nodes, ({ id, caption }) => [id, caption]),
    ...differences(edges, after.edges, ({ id, access, label }) => [
      id,
      access === 'none' ? 'nothing passes' : label.replaceAll('\n', '; '),
    ]),
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

byId('filters').addEventListener('submit', (event) => event.preventDefault())
byId('search').addEventListener('input', mark)
byId('namespace').addEventListener('change', ({ target }) => {
  namespace = /** @type {HTMLSelectElement} */ (target).value
  clear()
  graph.showAll()
  void load()
})
byId('fit').addEventListener('click', () => graph.showAll())
byId('print').addEventListener('click', async () => {
  try {
    const url = URL.createObjectURL(await (await ask(`/map.svg${queryOf()}`)).blob())
    element('a', { href: url, download: `meshstep${namespace === '' ? '' : `-${namespace}`}.svg` }).click()
    setTimeout(() => URL.revokeObjectURL(url), 10_000)
  } catch (error) {
    complain(error)
  }
})

/** @type {Readonly<Record<string, () => void>>} */
const KEYS = {
  '/': () => byId('search').focus(),
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
