import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, chromium, type Page, type Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Classified } from '../../../src/ask/traffic/classify.ts'
import type { TrafficView } from '../../../src/ask/traffic/traffic.ts'
import type { EmbeddedApi } from '../../../src/embedded/api/api.ts'
import { createEmbeddedApi } from '../../../src/embedded/api/api.ts'
import type { MapNode, PageTraffic } from '../../../src/serve/page/page-map.ts'
import { serveExample, until } from '../../process/helpers.ts'
import { chromiumProgram } from './chromium.ts'
import { largeMap } from './large-map.ts'
import { bookinfo, copies, deployed, holding, kept, REGIONS, serve, settled, shop, startPage, tell } from './world.ts'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** A folder to write screenshots to, as docs has them; none are written where it is not set. */
const { SCREENSHOTS } = process.env

let browser: Browser
let five: Promise<EmbeddedApi>

beforeAll(async () => {
  if (chromiumProgram === undefined) return
  five = bookinfo()
  browser = await chromium.launch({ executablePath: chromiumProgram, args: ['--no-sandbox'] })
})
afterAll(() => browser?.close())

const newContext = () => browser.newContext({ viewport: { width: 1360, height: 850 }, reducedMotion: 'reduce' })

type Opening = {
  readonly base?: string
  readonly expected?: readonly string[]
  readonly given?: BrowserContext
  prepare?(page: Page): Promise<unknown>
}

/** Opens the page; after the test it must have had nothing to complain about. */
const open = async (url: string, { base = url, expected = [], given, prepare }: Opening = {}): Promise<Page> => {
  const context = given ?? (await newContext())
  const page = await context.newPage()
  await prepare?.(page)
  const complaints: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('dialog', (dialog) => {
    complaints.push(`dialog ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(base) && !request.url().startsWith('blob:')) complaints.push(`asks ${request.url()}`)
  })
  // a violation of the policy is an error on the console
  await page.goto(url)
  onTestFinished(async () => {
    await context.close()
    expect(complaints.filter((one) => !expected.some((text) => one.includes(text)))).toEqual([])
  })
  return page
}

/** The page looks again after moments, not after five seconds. */
const hurried = async (page: Page): Promise<void> => {
  await page.addInitScript('setInterval = ((every) => (run) => every(run, 250))(setInterval)')
}

/** What the canvas shows: each application and each edge with its classes. */
const drawn = async (page: Page): Promise<Record<string, string>> =>
  await page.evaluate(`Object.fromEntries(document.getElementById('graph')._cyreg.cy.elements().toArray()
    .filter((one) => one.isEdge() || one.is('.app, .closed')).map((one) => [one.id(), one.classes().toSorted().join(' ')]))`)

const loaded = async (page: Page, applications: number): Promise<void> => {
  await until(
    `${applications} applications are shown`,
    async () => new RegExp(`^${applications} application`).test(await page.locator('#count').innerText()),
    60_000,
  )
}

const has = (page: Page, selector: string, text: string) =>
  until(
    `${selector} has ${text}`,
    async () => (await page.locator(selector).allInnerTexts()).join('\n').includes(text),
    30_000,
  )

const row = (page: Page, id: string) => page.locator(`#rows [data-select="${id}"]`)

/** https://github.com/dequelabs/axe-core/blob/develop/doc/API.md */
const violations = async (page: Page): Promise<string[]> => {
  const source = await readFile(AXE, 'utf8')
  const found = await page.evaluate(
    `${source};axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ' ' + html)))`,
  )
  return found as string[]
}

const EDGE = 'bookinfo/productpage → bookinfo/details'

describe.skipIf(chromiumProgram === undefined)('the page in a browser (skipped without chromium)', () => {
  test('the README is told by buttons, and the map, the list and the sentences say the same', async () => {
    const server = await serveExample()
    const page = await open(server.url)
    await loaded(page, 6)
    await has(page, '#rows tr[data-id="tempo/tempo"]', 'no event yet')
    await row(page, 'tempo/tempo').click()
    await has(page, '#detail', 'It runs, and no event has come for it yet.')
    const button = (title: string) => page.getByRole('button', { name: title })
    const press = async (title: string) => {
      await button(title).click()
      await until(`${title} is done`, () => button(title).evaluate((one) => one.classList.contains('done')))
    }
    await press('beacon runs the mesh')
    await has(page, '#rows', 'runs the mesh')
    await press('details says what may be asked of it')
    await press('details joins the mesh')
    await has(page, '#rows', 'on mesh · guarded')
    await has(page, '#rows tr[data-id="bookinfo/details"] td:last-child', 'no known application')
    await press('productpage joins the mesh')
    await has(
      page,
      '#rows tr[data-id="bookinfo/details"] td:last-child',
      'all that is open to anybody: bookinfo/productpage',
    )
    await press('details is related to productpage')
    await has(page, '#rows', 'bookinfo/details :9080 GET /details/*, /health')
    await until('the edge is drawn', async () => (await drawn(page))[EDGE] === 'allowed labelled')
    expect(await drawn(page)).toMatchObject({
      'bookinfo/beacon': expect.stringContaining('beacon'),
      'bookinfo/details': 'app mesh',
      'bookinfo/productpage': 'app mesh open',
    })

    await row(page, 'bookinfo/productpage').click()
    await has(page, '#detail h2', 'bookinfo/productpage')
    await row(page, 'bookinfo/details').click()
    const sentence =
      'bookinfo/productpage may send GET /details/0 to the Service bookinfo/details on port 9080: the waypoint bookinfo/bookinfo-beacon-waypoint lets it through'
    await has(page, '#detail .verdict', sentence)
    await page.locator('#why-form [name=method]').fill('POST')
    await page.getByRole('button', { name: 'Ask', exact: true }).click()
    await has(page, '#detail .verdict', 'Not allowed')

    await button('What would a typo do?').click()
    await has(page, '#plan h2', 'What would a typo do?')
    await has(page, '#plan', 'Access is lost (2)')
    await has(page, '#plan', '- productpage → details GET :9080 /details/*')
    await has(page, '#plan', 'by its relations nobody may reach bookinfo/details: no relation of endpoint detials')
    expect((await drawn(page))[EDGE]).toContain('lost')
    await button('Discard').click()
    expect(await page.locator('#plan').isVisible()).toBe(false)
    expect((await drawn(page))[EDGE]).not.toContain('lost')
    await has(page, '#rows', ':9080 GET /details/*, /health')

    await press('The relation ends')
    await until('the edge is gone', async () => !(EDGE in (await drawn(page))))
    await has(page, '#steps', 'relation-broken details')
    // between the steps of both sides the map may have been read, with nothing that passes
    await has(page, '#steps', `− ${EDGE}: `)
    // it would complain that nobody answers any more
    await page.context().close()
    expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null })
  })

  test('a relation is planned in a form, and sent from there', async () => {
    const page = await open((await serve((await five).copy())).url)
    await loaded(page, 5)
    await page.locator('#plan-form [name=kind]').selectOption('unrelate')
    await page.locator('#plan-form [name=own]').fill('bookinfo/ratings')
    await page.locator('#plan-form [name=endpoint]').fill('ratings')
    await page.locator('#plan-form [name=remote]').fill('bookinfo/reviews')
    await page.getByRole('button', { name: 'Plan', exact: true }).click()
    await has(page, '#plan h2', 'Plan: unrelate bookinfo/ratings:ratings bookinfo/reviews')
    await has(page, '#plan', '- reviews → ratings GET :9080 /ratings/*')
    const edge = 'bookinfo/reviews → bookinfo/ratings'
    // the map asks for access edge by edge
    await until('the edge is drawn as lost', async () => (await drawn(page))[edge]?.includes('lost') === true)
    expect(await violations(page)).toEqual([])
    await page.getByRole('button', { name: 'Send it' }).click()
    await until('the edge is gone', async () => !(edge in (await drawn(page))))
  })

  test('keys alone are enough: to search, to choose two, to ask, and to leave it again', async () => {
    const page = await open((await serve((await five).copy())).url)
    await loaded(page, 5)
    await page.keyboard.press('/')
    await page.keyboard.type('reviews')
    await has(page, '#count', '1 of 5')
    expect(await page.locator('#rows tr:visible').count()).toBe(1)
    await page.keyboard.press('Enter')
    await has(page, '#detail h2', 'bookinfo/reviews')
    await page.keyboard.press('Escape')
    await page.locator('#search').fill('')
    await row(page, 'bookinfo/productpage').focus()
    await page.keyboard.press('Enter')
    await has(page, '#detail', 'details')
    await row(page, 'bookinfo/details').focus()
    await page.keyboard.press('Enter')
    await has(page, '#detail .verdict', 'Allowed')
    expect(await row(page, 'bookinfo/details').getAttribute('aria-pressed')).toBe('true')
    await page.keyboard.press('Escape')
    await has(page, '#detail', 'Who can talk to whom?')
  })

  test('the page says that it reads the map until it is drawn', async () => {
    const { url } = await serve((await five).copy())
    const held = Promise.withResolvers<void>()
    const prepare = (page: Page) =>
      page.route('**/map', async (route) => {
        await held.promise
        await route.continue()
      })
    const page = await open(url, { prepare })
    await has(page, '#empty', 'Reading the map …')
    expect(await violations(page)).toEqual([])
    held.resolve()
    await loaded(page, 5)
    await until('it is drawn', async () => !(await page.locator('#empty').isVisible()))
  })

  test('the buttons of the example are there only where its applications are', async () => {
    const api = createEmbeddedApi()
    api.seed(deployed('shop', 'web'))
    const page = await open((await serve(api)).url, { prepare: hurried })
    await loaded(page, 1)
    expect(await page.locator('#story').isVisible()).toBe(false)
    api.seed(['details', 'productpage'].flatMap((name) => deployed('bookinfo', name, 9080)))
    await until('the example is there', () => page.locator('#story').isVisible())
  })

  test('a beacon has a line to each application that is related to it, and the list names it', async () => {
    const page = await open((await serve((await five).copy())).url)
    await loaded(page, 5)
    const members = async () =>
      Object.keys(await drawn(page)).flatMap((id) =>
        id.startsWith('member ') ? [id.split(' ').slice(1).join(' ')] : [],
      )
    await until('the lines are drawn', async () => (await members()).length > 0)
    expect((await members()).toSorted()).toEqual(
      ['details', 'productpage', 'ratings', 'reviews'].map((name) => `bookinfo/beacon bookinfo/${name}`),
    )
    await has(page, '#rows tr[data-id="bookinfo/details"]', 'beacon bookinfo/beacon')
  })

  test.each(['light', 'dark'] as const)('axe finds nothing wrong with it when it is %s', async (colorScheme) => {
    const page = await open((await serve((await five).copy())).url)
    await page.emulateMedia({ colorScheme })
    await loaded(page, 5)
    expect(await violations(page)).toEqual([])
    await row(page, 'bookinfo/details').click()
    await has(page, '#detail', 'Policies')
    for (const summary of await page.locator('#detail summary').all()) await summary.click()
    expect(await violations(page)).toEqual([])
    await row(page, 'bookinfo/ratings').click()
    await has(page, '#detail .verdict', 'Not allowed')
    expect(await violations(page)).toEqual([])
  })

  test('what is said with evil intent is text, however long it is', async () => {
    const api = createEmbeddedApi()
    api.seed([...deployed('shop', 'web'), ...deployed('shop', `${'long-'.repeat(12)}db`)])
    const { url } = await serve(api)
    const evil = `<script>alert(1)</script><img src=x onerror="alert(2)">'"`
    await tell(url, 'config-changed', 'shop/web', { config: { settings: { evil } } })
    await tell(url, 'relation-changed', 'shop/web', {
      relation: { id: 1, endpoint: evil, interface: evil, role: 'requires' },
      remote: { application: `${'long-'.repeat(12)}db`, data: { [evil]: evil } },
    })
    const page = await open(`${url}/`)
    await loaded(page, 2)
    await row(page, 'shop/web').click()
    await has(page, '#detail', '<script>alert(1)</script>')
    expect(await page.locator('main script, main img').count()).toBe(0)
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  })

  test('the time line goes on where it was after the server was restarted, with what was missed', async () => {
    const api = (await five).copy()
    const first = await startPage(api)
    const port = Number(new URL(first.url).port)
    const page = await open(first.url, { expected: ['net::ERR', 'Failed to load resource'] })
    await loaded(page, 5)
    const entries = (text: string) => page.locator('#steps > li', { hasText: text }).count()
    await tell(first.url, 'resync', 'bookinfo/details', {})
    await until('a step is shown', async () => (await entries('resync details')) === 1)
    await first.stop()
    await has(page, '#live', 'reconnecting')
    const second = await serve(api, { port })
    await tell(second.url, 'resync', 'bookinfo/ratings', {})
    await has(page, '#live', 'live')
    await until('what was missed is shown', async () => (await entries('resync ratings')) === 1)
    expect([await entries('resync details'), await entries('the server was restarted')]).toEqual([1, 1])
    await tell(second.url, 'resync', 'bookinfo/details', {})
    await until('steps go on', async () => (await entries('resync details')) === 2)
    expect(await entries('resync ratings')).toBe(1)
  })

  /** Watches the streams of steps that pages ask for. */
  const watchStreams = (context: BrowserContext) => {
    const asked = new Set<Request>()
    const ended = new Set<Request>()
    context.on('request', (request) => {
      if (new URL(request.url()).pathname === '/steps') asked.add(request)
    })
    context.on('requestfailed', (request) => void ended.add(request))
    context.on('requestfinished', (request) => void ended.add(request))
    return {
      after: () => [...asked].map((request) => request.headers()['last-event-id']),
      open: () => [...asked.difference(ended)].filter((request) => !request.frame().page().isClosed()).length,
    }
  }

  test('seven pages share one stream of steps, so that all load, their buttons work, and one goes on when another is closed', async () => {
    const { url } = await serve((await five).copy())
    const context = await newContext()
    const streams = watchStreams(context)
    const pages: Page[] = []
    for (let count = 0; count < 7; count += 1) {
      const page = await open(url, { given: context })
      await loaded(page, 5)
      pages.push(page)
    }
    expect(streams.open()).toBe(1)
    const [first, ...others] = pages as [Page, ...Page[]]
    const seventh = others.at(-1) as Page
    await seventh.getByRole('button', { name: 'details joins the mesh' }).click()
    for (const page of pages) await has(page, '#steps', 'relation-changed details')
    for (const page of pages) expect(await page.locator('#live').innerText()).toBe('live')
    await first.close()
    await tell(url, 'resync', 'bookinfo/ratings', {})
    for (const page of others) await has(page, '#steps', 'resync ratings')
    await until('one stream is open', async () => streams.open() === 1)
    // who comes later is told what the others know
    await has(await open(url, { given: context }), '#steps', 'relation-changed details')
    expect(await seventh.locator('#steps > li', { hasText: 'resync ratings' }).count()).toBe(1)
  })

  test('a hidden page holds no stream, and is up to date again as soon as it is seen', async () => {
    const { url } = await serve((await five).copy())
    const context = await newContext()
    const streams = watchStreams(context)
    const page = await open(url, { given: context })
    await loaded(page, 5)
    await tell(url, 'resync', 'bookinfo/ratings', {})
    await has(page, '#steps', 'resync ratings')
    const turn = (state: 'hidden' | 'visible') =>
      page.evaluate(
        `Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
      )
    await turn('hidden')
    await until('no stream is open', async () => streams.open() === 0)
    await tell(url, 'resync', 'bookinfo/details', {})
    const read = page.waitForResponse((response) => response.url().endsWith('/map'))
    await turn('visible')
    await read
    await has(page, '#steps', 'resync details')
    expect(await page.locator('#steps > li', { hasText: 'resync ratings' }).count()).toBe(1)
    expect(streams.after()).toEqual(['0', expect.stringMatching(/^\w+-[1-9]\d*$/)])
  })

  test('300 namespaces are watched like one', async () => {
    const api = createEmbeddedApi()
    const names = Array.from({ length: 300 }, (_, index) => `team-${'with-a-long-name-'.repeat(3)}${index}`)
    api.seed(names.flatMap((name) => deployed(name, 'web')))
    const { url } = await serve(api)
    const page = await open(url)
    await loaded(page, 300)
    await has(page, '#live', 'live')
    await tell(url, 'config-changed', `${names.at(-1)}/web`, { config: {} })
    await has(page, '#steps', 'config-changed web')
  })

  test.each([
    [503, '{"message":"the server is stopping"}', 'There are no steps here: the server is stopping'],
    [431, '', 'There are no steps here: 431 Request Header Fields Too Large'],
  ])('steps that are refused with %s are said with the reason, until they come', async (status, body, text) => {
    const { url } = await serve((await five).copy())
    let isRefused = true
    const prepare = (page: Page) =>
      page.route('**/steps*', (route) => (isRefused ? route.fulfill({ status, body }) : route.continue()))
    const page = await open(url, { expected: ['Failed to load resource'], prepare })
    await has(page, '#refused', text)
    await has(page, '#live', 'no steps')
    expect(await violations(page)).toEqual([])
    isRefused = false
    await has(page, '#live', 'live')
    expect(await page.locator('#refused').isVisible()).toBe(false)
  })

  test('a namespace where nothing is, and a search that finds nothing, are said in words', async () => {
    const { url } = await serve((await five).copy())
    const page = await open(`${url}/?namespace=nosuch`, { base: url })
    await has(page, '#empty', 'Nothing runs in the namespace nosuch, and no event has come for it. Is that its name?')
    expect(await violations(page)).toEqual([])
    await page.locator('#namespace').selectOption('')
    await loaded(page, 5)
    await until('the map is drawn', async () => !(await page.locator('#empty').isVisible()))
    expect(new URL(page.url()).search).toBe('')
    await page.locator('#search').fill('nobody-like-that')
    await has(page, '#count', 'nothing found: 0 of 5')
  })

  test('a server that is away is said in words, until it is back', async () => {
    const api = (await five).copy()
    const first = await startPage(api)
    const page = await open(first.url, { expected: ['net::ERR', 'Failed to load resource'], prepare: hurried })
    await loaded(page, 5)
    await first.stop()
    await has(page, '#problem', 'The server does not answer: does it run? The page asks again every five seconds.')
    await row(page, 'bookinfo/details').click()
    await has(page, '#detail', 'The server does not answer')
    await serve(api, { port: Number(new URL(first.url).port) })
    await until('nothing is wrong any more', async () => !(await page.locator('#problem').isVisible()), 30_000)
  })

  test('the address names what is selected and what was asked, and shows it to whoever gets it', async () => {
    const { url } = await serve((await five).copy())
    const page = await open(url)
    await loaded(page, 5)
    const address = () => Object.fromEntries(new URL(page.url()).searchParams)
    await row(page, 'bookinfo/productpage').click()
    expect(address()).toEqual({ application: 'bookinfo/productpage' })
    await row(page, 'bookinfo/details').click()
    const pair = { from: 'bookinfo/productpage', to: 'bookinfo/details' }
    expect(address()).toEqual(pair)
    await has(page, '#detail .verdict', 'Allowed')
    await page.locator('#why-form [name=method]').fill('POST')
    await page.getByRole('button', { name: 'Ask', exact: true }).click()
    await has(page, '#detail .verdict', 'Not allowed')
    expect(address()).toEqual({ ...pair, port: '9080', method: 'POST', path: '/details/0', via: 'service' })

    const other = await open(page.url(), { base: url })
    await has(other, '#detail .verdict', 'Not allowed')
    expect(await other.locator('#why-form [name=method]').inputValue()).toBe('POST')
    expect(await row(other, 'bookinfo/details').getAttribute('aria-pressed')).toBe('true')
    await other.keyboard.press('Escape')
    await has(other, '#detail', 'Who can talk to whom?')
    expect(new URL(other.url()).search).toBe('')
    const one = await open(`${url}/?namespace=bookinfo&application=bookinfo/ratings`, { base: url })
    await has(one, '#detail h2', 'bookinfo/ratings')
    expect(await one.locator('#namespace').inputValue()).toBe('bookinfo')
  })

  test('what was asked, and what was opened to be read, stays when something else changes', async () => {
    const { url } = await serve((await five).copy())
    const asked = 'from=bookinfo/productpage&to=bookinfo/details&port=9080&method=POST&path=/details/0'
    const page = await open(`${url}/?${asked}`, { base: url })
    await has(page, '#detail .verdict', 'Not allowed')
    await page.locator('#detail summary').click()
    await page.locator('h1').click()
    const again = page.waitForResponse((response) => response.url().includes('/page/explain'))
    await tell(url, 'config-changed', 'bookinfo/ratings', { config: { settings: { a: 'b' } } })
    const answer = await again
    await answer.finished()
    expect(new URL(answer.url()).searchParams.get('method')).toBe('POST')
    // the answer is drawn by then
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
    await has(page, '#detail .verdict', 'Not allowed')
    expect(await page.locator('#detail details').getAttribute('open')).toBe('')
  })

  test('what other hands change in the cluster is on the map a little later', async () => {
    const api = (await five).copy()
    const page = await open((await serve(api)).url, { prepare: hurried })
    await loaded(page, 5)
    const targetRefs = [{ group: '', kind: 'Service', name: 'details' }]
    api.seed([
      {
        apiVersion: 'security.istio.io/v1',
        kind: 'AuthorizationPolicy',
        metadata: { name: 'nobody', namespace: 'bookinfo' },
        spec: { targetRefs, action: 'DENY', rules: [{}] },
      },
    ])
    await until('the edge is of no use', async () => (await drawn(page))[EDGE]?.includes('none') === true, 20_000)
  })

  test('the page asks for a token where it is served as a function, and shows with one what its bearer may see', async () => {
    const api = createEmbeddedApi({
      tokens: { good: 'somebody' },
      audiences: ['meshstep'],
      allows: (_, { namespace = '' }) => namespace === 'bookinfo',
    })
    api.seed(kept(await five, 'bookinfo'))
    const server = await startPage(api, { isReading: true, audience: 'meshstep' })
    onTestFinished(() => server.stop())
    const page = await open(server.url, { expected: ['401'] })
    await has(page, '#token-dialog', 'expected a bearer token')
    expect(await violations(page)).toEqual([])
    await page.locator('#token').fill('good')
    await page.keyboard.press('Enter')
    await loaded(page, 5)
    expect(await page.locator('[data-story]').count()).toBe(0)
    await row(page, 'bookinfo/details').click()
    await has(page, '#detail', 'Policies')
  })

  test('5 and 500 applications are drawn, each once or in its namespace, and can be printed', async () => {
    const fifty = await shop()
    const worlds = [
      [5, kept(await five, 'bookinfo'), 5],
      [50, fifty, 50],
      [500, copies(fifty, REGIONS), REGIONS.length],
    ] as const
    // 60 are drawn below, and a picture is wanted of 50
    for (const [number, objects, boxes] of worlds.filter(([number]) => number !== 50 || SCREENSHOTS !== undefined)) {
      const api = SCREENSHOTS === undefined ? holding(objects) : await settled(objects)
      const page = await open((await serve(api)).url)
      await loaded(page, number)
      const counted = async () => {
        const classes = Object.values(await drawn(page)).map((one) => one.split(' '))
        return classes.filter((one) => one.includes('app') || one.includes('closed')).length
      }
      await until('all is drawn', async () => (await counted()) === boxes)
      const saved = page.waitForEvent('download')
      await page.getByRole('button', { name: 'SVG' }).click()
      const svg = await readFile(await (await saved).path(), 'utf8')
      expect(svg.match(/font-weight="600"/g)).toHaveLength(boxes)
      if (SCREENSHOTS !== undefined) await picture(page, number, SCREENSHOTS)
    }
  })

  /** A page whose server tells of a large map, and then of others. */
  const openLarge = async (
    size: Parameters<typeof largeMap>[0],
    { query = '', expected = [], isHurried = false }: { query?: string; isHurried?: boolean } & Opening = {},
  ) => {
    const { url } = await serve((await five).copy())
    const told = { map: largeMap(size) }
    const prepare = async (page: Page) => {
      if (isHurried) await hurried(page)
      await page.route(
        ({ pathname }) => pathname === '/map',
        (route) => route.fulfill({ json: told.map }),
      )
    }
    const page = await open(`${url}/${query}`, { base: url, prepare, expected })
    await loaded(page, size.applications)
    await until('the map is drawn', async () => Object.keys(await drawn(page)).length > 0)
    return { page, told, url, prepare }
  }

  const LARGE = { namespaces: 10, applications: 500, edges: 2_000 }

  const heading = (page: Page, namespace: string) => page.locator(`#rows [data-toggle="${namespace}"]`)

  /** The names on the canvas, with their sizes on the screen in pixels, and whether all of the box is visible. */
  const names = async (page: Page, selector: string): Promise<{ id: string; size: number; isVisible: boolean }[]> =>
    await page.evaluate(`(() => {
      const { cy } = document.getElementById('graph')._cyreg
      return cy.nodes(${JSON.stringify(selector)}).toArray().map((one) => {
        const { x1, x2, y1, y2 } = one.renderedBoundingBox({ includeLabels: false })
        const isVisible = x1 >= 0 && y1 >= 0 && x2 <= cy.width() && y2 <= cy.height()
        return { id: one.id(), size: one.data('font') * cy.zoom(), isVisible }
      })
    })()`)

  const isShown = (page: Page, id: string) => until(`${id} is drawn`, async () => id in (await drawn(page)))

  const illegible = async (page: Page, selector: string, least: number) =>
    (await names(page, selector)).filter(({ size, isVisible }) => size < least || !isVisible)

  test('60 applications are all there at once, and each name can be read', async () => {
    const { page } = await openLarge({ namespaces: 2, applications: 60, edges: 90 })
    await isShown(page, 'region-02/cart-web')
    expect(await names(page, '.app')).toHaveLength(60)
    expect(await illegible(page, '.app', 7)).toEqual([])
  })

  test.each(['light', 'dark'] as const)(
    'the lines between 60 applications stand out from the ground when it is %s',
    async (colorScheme) => {
      const { page } = await openLarge({ namespaces: 2, applications: 60, edges: 90 })
      await page.emulateMedia({ colorScheme })
      await isShown(page, 'region-02/cart-web')
      const contrasts = async () =>
        (await page.evaluate(`(() => {
        const { cy } = document.getElementById('graph')._cyreg
        const parse = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map(Number)
        const light = (colour) => colour.map((one) => one / 255)
          .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
          .reduce((sum, one, index) => sum + one * [0.2126, 0.7152, 0.0722][index], 0)
        const ground = parse(getComputedStyle(document.getElementById('map')).backgroundColor)
        return cy.edges().map((edge) => {
          const opacity = edge.numericStyle('opacity')
          const seen = parse(edge.style('line-color')).map((one, index) => one * opacity + ground[index] * (1 - opacity))
          const [dark, bright] = [light(seen), light(ground)].toSorted((one, other) => one - other)
          return (bright + 0.05) / (dark + 0.05)
        })
      })()`)) as number[]
      // the map is drawn anew after the scheme has changed; https://www.w3.org/WAI/WCAG22/Understanding/non-text-contrast
      await until('each line has a contrast of 3', async () => Math.min(...(await contrasts())) >= 3)
    },
  )

  test('the lines of many applications to their beacon are drawn only for what is selected', async () => {
    const { page, told } = await openLarge(
      { namespaces: 1, applications: 20, edges: 20 },
      { expected: ['404'], isHurried: true },
    )
    const { map } = told
    const [beacon, ...members] = map.nodes as [MapNode, ...MapNode[]]
    const nodes = [{ ...beacon, kind: 'beacon' as const }, ...members.map((node) => ({ ...node, beacon: beacon.id }))]
    told.map = { ...map, version: '2', nodes }
    const lines = (which: string) =>
      page.evaluate(`document.getElementById('graph')._cyreg.cy.edges('.member').filter(${which}).length`)
    await until('they are there', async () => (await lines('() => true')) === 19)
    expect(await lines('(one) => one.visible()')).toBe(0)
    await row(page, members[0]?.id ?? '').click()
    expect(await lines('(one) => one.visible()')).toBe(1)
    await page.keyboard.press('Escape')
    await row(page, beacon.id).click()
    expect(await lines('(one) => one.visible()')).toBe(19)
  })

  test('500 applications are first their namespaces, with counts and connections, and each name can be read', async () => {
    const { page } = await openLarge(LARGE)
    const shown = await names(page, '.closed')
    expect(shown).toHaveLength(10)
    expect(await illegible(page, '.closed', 9)).toEqual([])
    expect(await names(page, '.app')).toEqual([])
    expect(await page.locator('#rows tr').count()).toBe(10)
    await has(page, '#rows tr[data-namespace="region-01"]', '50 applications')
    const edges = Object.keys(await drawn(page)).filter((id) => id.includes(' → '))
    expect(edges.length).toBeGreaterThan(10)
    expect(await violations(page)).toEqual([])
    expect(page.workers()).toHaveLength(1)
  })

  test('a namespace is opened and closed by Enter and by a click, and the address remembers it', async () => {
    const { page, url, prepare } = await openLarge(LARGE)
    await heading(page, 'region-03').focus()
    await page.keyboard.press('Enter')
    await isShown(page, 'region-03/cart-web')
    expect(await heading(page, 'region-03').getAttribute('aria-expanded')).toBe('true')
    expect(await names(page, '.app')).toHaveLength(50)
    expect(await page.locator('#rows tr[data-id]').count()).toBe(50)
    expect(await violations(page)).toEqual([])
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ open: 'region-03' })

    const other = await open(page.url(), { base: url, prepare })
    await isShown(other, 'region-03/cart-web')
    const press = async (id: string) => {
      const { x, y } = (await other.evaluate(
        `document.getElementById('graph')._cyreg.cy.getElementById('${id}').renderedPosition()`,
      )) as { x: number; y: number }
      await other.locator('#graph').click({ position: { x: x + 12, y: y - 6 } })
    }
    await other.getByRole('button', { name: 'Fit' }).click()
    await press('namespace region-05')
    await isShown(other, 'region-05/cart-web')
    await until(
      'all of it is visible',
      async () => (await illegible(other, '[namespace = "region-05"].app', 7)).length === 0,
    )
    await press('title region-05')
    await until('it is closed', async () => !('region-05/cart-web' in (await drawn(other))))
    expect(new URL(other.url()).search).toBe('?open=region-03')
    expect('region-03/cart-web' in (await drawn(other))).toBe(true)
  })

  test('what is selected is opened, named and in the middle with its neighbours, at any zoom', async () => {
    const { page } = await openLarge(LARGE, {
      query: '?application=region-07/payments-api',
      expected: ['404'],
    })
    await isShown(page, 'region-07/payments-api')
    const nearby = '.chosen, .near'
    await until('it is in the middle', async () => (await illegible(page, nearby, 9)).length === 0)
    expect((await names(page, nearby)).length).toBeGreaterThan(4)
    for (const _ of Array.from({ length: 9 })) await page.keyboard.press('-')
    expect((await names(page, nearby)).filter(({ size }) => size < 9)).toEqual([])
    expect(Math.min(...(await names(page, '.app')).map(({ size }) => size))).toBeLessThan(6)
  })

  test('what is found opens its namespace, is named and in the middle, and is in the address', async () => {
    const { page, url, prepare } = await openLarge(LARGE)
    await page.locator('#search').fill('region-09/orders-cache')
    await has(page, '#count', '1 of 500')
    const found = async (one: Page) => {
      await isShown(one, 'region-09/orders-cache')
      await until('it is in the middle', async () => (await illegible(one, '.found', 9)).length === 0)
      expect((await names(one, '.found')).map(({ id }) => id)).toEqual(['region-09/orders-cache'])
    }
    await found(page)
    await until('the address has it', async () => page.url().includes('search='))
    const other = await open(page.url(), { base: url, prepare })
    await found(other)
    expect(await other.locator('#search').inputValue()).toBe('region-09/orders-cache')
    await other.locator('#search').fill('orders-cache')
    await has(other, '#count', '10 of 500')
    await until('all are closed again', async () => (await names(other, '.app')).length === 0)
    expect(await names(other, '.closed')).toHaveLength(10)
    expect(await other.locator('#rows tr[data-id]:visible').count()).toBe(10)
    await other.keyboard.press('ArrowDown')
    expect(await other.evaluate('document.activeElement.dataset.select')).toBe('region-01/orders-cache')
    await other.locator('#search').fill('')
    await until(
      'the rows of what was found are gone',
      async () => (await other.locator('#rows tr[data-id]').count()) === 0,
    )
    expect(await other.locator('#count').innerText()).toMatch(/^500 applications/)
  })

  test('a change draws again only what changed, on the map and in the list', async () => {
    const { page, told } = await openLarge(LARGE, { query: '?open=region-03', isHurried: true })
    await isShown(page, 'region-03/cart-web')
    await page.evaluate(`(() => {
      const { cy } = document.getElementById('graph')._cyreg
      window.changed = []
      cy.on('add remove position', ({ type, target }) => window.changed.push(type + ' ' + target.id()))
      for (const row of document.querySelectorAll('#rows tr')) row.isKept = true
    })()`)
    const { map } = told
    told.map = {
      ...map,
      version: '2',
      nodes: map.nodes.map((node) =>
        node.id === 'region-03/cart-web'
          ? { ...node, status: 'waiting', caption: 'on mesh · guarded · waiting' }
          : node,
      ),
      edges: map.edges.filter(({ to }) => to !== 'region-03/cart-db'),
    }
    await has(page, '#rows tr[data-id="region-03/cart-web"]', 'waiting')
    await until('it is drawn', async () => (await drawn(page))['region-03/cart-web']?.includes('attention') === true)
    const gone = map.edges.filter(({ to, from }) => to === 'region-03/cart-db' && from.startsWith('region-03/'))
    const changed = (await page.evaluate('window.changed')) as string[]
    expect(gone.length).toBeGreaterThan(0)
    expect(changed).toEqual(expect.arrayContaining(gone.map(({ id }) => `remove ${id}`)))
    expect(changed.filter((one) => one.startsWith('add'))).toEqual([])
    const again = (await page.evaluate(
      `[...document.querySelectorAll('#rows tr')].filter((row) => !row.isKept).map((row) => row.dataset.id)`,
    )) as string[]
    expect(again.length).toBeLessThan(8)
    expect(again).toContain('region-03/cart-web')
  })

  /** What a Prometheus knows of the example, as the server tells it. */
  const seen = (): TrafficView => {
    const flow = (
      from: string,
      to: string,
      requests: number,
      refused: number,
      more: Partial<Classified>,
    ): Classified => ({
      ...{
        from: from.includes('/') ? from : `bookinfo/${from}`,
        to: `bookinfo/${to}`,
        protocol: 'http',
        requests,
        refused,
      },
      ...{ relations: [], access: 'allowed', class: 'allowed and used', ...more },
    })
    return {
      ...{ namespace: 'bookinfo', window: '1h', coveredSeconds: 3_600, onMesh: [], notes: [] },
      flows: [
        flow('default/sleep', 'details', 6, 6, { access: 'none', class: 'refused' }),
        flow('details', 'ratings', 240, 0, { access: 'none', class: 'used without a relation' }),
        flow('productpage', 'details', 7_200, 0, { relations: [{ id: 3, label: 'details' }] }),
        flow('reviews', 'ratings', 0, 0, { relations: [{ id: 6, label: 'ratings' }], class: 'allowed and silent' }),
      ],
    }
  }

  /** The page knows a part of it. */
  const told: PageTraffic = seen()

  const openSeen = async (query = '', answer: object = { json: told }, expected: readonly string[] = []) => {
    const { url } = await serve((await five).copy(), { prometheus: 'http://127.0.0.1:1' })
    const prepare = (page: Page) =>
      page.route(
        ({ pathname }) => pathname === '/traffic',
        (route) => route.fulfill(answer),
      )
    const page = await open(`${url}/${query}`, { base: url, prepare, expected: ['404', ...expected] })
    return { page, url }
  }

  const labels = async (page: Page): Promise<Record<string, string>> =>
    await page.evaluate(
      `Object.fromEntries(document.getElementById('graph')._cyreg.cy.edges().not('.member').map((one) => [one.id(), one.data('label')]))`,
    )

  const SEEN_ALONE = 'bookinfo/details → bookinfo/ratings'
  const REFUSED = 'default/sleep → bookinfo/details'

  test('edges carry what proxies saw, and a switch shows what is declared, what was seen, and the difference', async () => {
    const { page } = await openSeen()
    await has(page, '#rows', '2/s')
    await until(
      'the rate is on the map',
      async () => (await labels(page))[EDGE] === ':9080 GET /details/*, /health\n2/s',
    )
    expect(Object.keys(await labels(page))).not.toContain(SEEN_ALONE)
    const wide = `document.getElementById('graph')._cyreg.cy.getElementById('${EDGE}').data('wide')`
    expect(await page.evaluate(wide)).toBeGreaterThan(4)

    await page.locator('#showing').selectOption('observed')
    await until('the rest is gone', async () => !('bookinfo/reviews → bookinfo/ratings' in (await labels(page))))
    expect(await drawn(page)).toMatchObject({
      [EDGE]: expect.not.stringContaining('refusing'),
      [SEEN_ALONE]: expect.stringContaining('unrelated'),
      [REFUSED]: expect.stringContaining('refusing'),
      'default/sleep': expect.stringContaining('off'),
    })
    expect((await labels(page))[REFUSED]).toBe('6/h, 6 refused')
    expect(await violations(page)).toEqual([])

    await page.locator('#showing').selectOption('difference')
    await until('what is as declared is gone', async () => !(EDGE in (await labels(page))))
    expect(Object.keys(await labels(page)).toSorted()).toEqual(
      [SEEN_ALONE, 'bookinfo/reviews → bookinfo/ratings', REFUSED].toSorted(),
    )
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ traffic: 'difference' })
  })

  test('what was used without a relation can be planned as one, from the edge', async () => {
    const { page } = await openSeen('?traffic=observed&from=bookinfo/details&to=bookinfo/ratings')
    await has(page, '#seen', '240 requests or connections in the last 1h, 0 of them refused (4/min)')
    await has(page, '#seen', 'used without a relation')
    expect(await violations(page)).toEqual([])
    await page.getByRole('button', { name: 'Plan this relation' }).click()
    const field = (name: string) => page.locator(`#plan-form [name=${name}]`).inputValue()
    expect([await field('kind'), await field('own'), await field('remote')]).toEqual([
      'relate',
      'bookinfo/ratings',
      'bookinfo/details',
    ])
    await page.keyboard.type('ratings')
    await page.keyboard.press('Enter')
    await until('it is planned', async () => (await page.locator('#plan [data-send]').count()) === 1)
    const planned = JSON.parse((await page.locator('#plan [data-send]').getAttribute('data-send')) ?? '{}')
    expect(planned).toMatchObject({ type: 'relation-changed', subject: 'bookinfo/ratings' })
    await page.keyboard.press('Escape')
    expect(await page.locator('#seen').isVisible()).toBe(false)
  })

  test('a Prometheus that does not answer is said, and the map stays as it is', async () => {
    const { page } = await openSeen('', { status: 503, json: { message: 'Prometheus does not answer' } }, ['503'])
    await has(page, '#traffic-note', 'There is no traffic here: Prometheus does not answer')
    await until('the edge is drawn', async () => (await labels(page))[EDGE] === ':9080 GET /details/*, /health')
  })
})

const picture = async (page: Page, number: number, folder: string): Promise<void> => {
  if (number === 5) {
    await row(page, 'bookinfo/productpage').click()
    await row(page, 'bookinfo/details').click()
    await has(page, '#detail .verdict', 'Allowed')
  }
  if (number === 500) {
    await page.locator('[data-toggle="shop-dub"]').click()
    await until('it is open', async () => 'shop-dub/cart-api' in (await drawn(page)))
  }
  await page.evaluate('scrollTo(0, 0)')
  await page.mouse.move(0, 0)
  // what moves has come to rest
  await page.waitForTimeout(500)
  await page.screenshot({ path: `${folder}/${number}.jpg`, type: 'jpeg', quality: 65 })
}
