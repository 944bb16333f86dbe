import { expect, onTestFinished, test } from 'vitest'
import { createEmbeddedApi } from '../../../src/embedded/api/api.ts'
import { startIstio } from '../../../src/embedded/demo/istio.ts'
import type { PageMap } from '../../../src/serve/page/page-map.ts'
import { story } from '../../../src/serve/page/story.ts'
import { accessAskedBy, accessOf, isGranted } from '../../knative/access.ts'
import { buildCombination, cannotBuild } from '../../knative/builds.ts'
import { deployed, type Options, serve, startPage, tell } from './world.ts'

const start = async (options: Options = {}, api = createEmbeddedApi()) => {
  const server = await serve(api, options)
  const ask = (path: string, headers: Record<string, string> = {}, init: RequestInit = {}) =>
    fetch(`${server.url}${path}`, { ...init, headers })
  return { ...server, ask, api }
}

const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

test('a browser gets the page, and everything else the JSON it got before', async () => {
  const { ask } = await start()
  const page = await ask('/', BROWSER)
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  const other = await ask('/', { accept: '*/*' })
  expect([other.status, await other.json()]).toMatchObject([404, { reason: 'not-found' }])
})

test('the page has neither script nor style of its own in it, and allows none, nor anything of other hosts', async () => {
  const { ask } = await start()
  const page = await ask('/', BROWSER)
  const text = await page.text()
  expect(text).not.toMatch(/<script(?! src="\/page\/)|<style|\sstyle=|\son\w+=|https?:\/\//)
  const policy = page.headers.get('content-security-policy')?.split('; ')
  expect(policy).toEqual(
    expect.arrayContaining(["default-src 'none'", "script-src 'self'", "worker-src 'self'", "style-src 'self'"]),
  )
  expect(policy?.join()).not.toMatch(/unsafe|data:|\*/)
})

test('every file that the page and its scripts name is there, and no other', async () => {
  const { ask } = await start()
  const text = await (await ask('/', BROWSER)).text()
  const named = [...text.matchAll(/(?:src|href)="(\/page\/[^"]+)"/g)].map(([, path = '']) => path)
  const imported = new Set<string>()
  const read = async (file: string): Promise<void> => {
    const script = await (await ask(`/page/${file}`)).text()
    for (const [, next = ''] of script.matchAll(/from '\.\/([^']+)'/g))
      if (!imported.has(`/page/${next}`)) {
        imported.add(`/page/${next}`)
        await read(next)
      }
    for (const [, path = ''] of script.matchAll(/'(\/page\/[^']+\.js)'/g)) imported.add(path)
  }
  await read('page.js')
  for (const path of [...named, ...imported]) expect([path, (await ask(path)).status]).toEqual([path, 200])
  for (const path of ['/page/tsconfig.json', '/page/..%2fmain.ts', '/page/nothing.js'])
    expect([path, (await ask(path)).status]).toEqual([path, 404])
})

test('the page shows traffic only where the server knows a Prometheus', async () => {
  const prometheus = 'http://127.0.0.1:1'
  const [without, withOne] = [await start(), await start({ prometheus })]
  const [text, other] = await Promise.all([without, withOne].map(async ({ ask }) => (await ask('/', BROWSER)).text()))
  expect([text?.includes('data-traffic="false"'), text?.includes('id="showing"')]).toEqual([true, false])
  expect(other).toContain('id="showing"')
})

test('a file that the browser has is not sent again', async () => {
  const { ask } = await start()
  const tag = (await ask('/page/cytoscape.min.js')).headers.get('etag') ?? ''
  expect((await ask('/page/cytoscape.min.js', { 'if-none-match': tag })).status).toBe(304)
})

test('what applications say is text on the page, whatever is in it', async () => {
  const api = createEmbeddedApi()
  api.seed(deployed('shop', 'web'))
  const { ask, url } = await start({}, api)
  const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`
  await tell(url, 'config-changed', 'shop/web', { config: { settings: { a: hostile } } })
  const relation = { id: 1, endpoint: hostile, interface: hostile, role: 'requires' }
  await tell(url, 'relation-changed', 'shop/web', {
    relation,
    remote: { application: 'db', data: { [hostile]: hostile } },
  })
  const text = await (await ask('/page/applications/shop/web')).text()
  expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
  expect(text).not.toMatch(/<script|<img/)
})

test('a plan names what would be lost, and the event that would be sent', async () => {
  const api = createEmbeddedApi()
  api.seed(
    ['details', 'productpage'].flatMap((name) => deployed('bookinfo', name, 9080)),
    { manager: 'juju' },
  )
  const { ask, url } = await start({}, api)
  for (const { event } of story.slice(0, 5)) await tell(url, event.type, event.subject, event.data)
  const planned = await ask(
    '/page/plan',
    {},
    {
      method: 'POST',
      body: JSON.stringify({
        kind: 'unrelate',
        own: 'bookinfo/details',
        endpoint: 'details',
        remote: 'bookinfo/productpage',
      }),
    },
  )
  const text = await planned.text()
  expect([planned.status, text]).toEqual([200, expect.stringContaining('productpage → details GET :9080 /details/*')])
  expect(text).toContain('data-send="{&quot;type&quot;:&quot;relation-broken&quot;')
  const unknown = { kind: 'relate', own: 'bookinfo/details', endpoint: '', remote: 'bookinfo/productpage' }
  const refused = await ask('/page/plan', {}, { method: 'POST', body: JSON.stringify(unknown) })
  expect([refused.status, await refused.json()]).toMatchObject([
    400,
    { message: expect.stringContaining('the endpoint is missing') },
  ])
})

/** Two applications on a mesh in one namespace, and one in another, as events have made them. */
const made = (async () => {
  const api = createEmbeddedApi()
  api.seed([...deployed('shop', 'web'), ...deployed('shop', 'db'), ...deployed('bank', 'vault')], { manager: 'juju' })
  const istio = startIstio({ api })
  const writer = await startPage(api)
  await tell(writer.url, 'config-changed', 'shop/beacon', { config: { mesh: {} } })
  for (const [index, application] of ['web', 'db'].entries())
    await tell(writer.url, 'relation-changed', `shop/${application}`, {
      relation: { id: index + 1, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' },
      remote: { application: 'beacon', data: {} },
    })
  await tell(writer.url, 'config-changed', 'bank/vault', { config: { settings: { a: 'b' } } })
  await writer.stop()
  istio.stop()
  return api
})()

/** The page as a function: it asks for tokens, and `may` says which namespaces the bearer of `good` may see. */
const startFunction = async (may: readonly string[], intercept?: Options['intercept']) => {
  const api = (await made).copy({
    tokens: { good: 'somebody' },
    audiences: ['meshstep'],
    allows: (_, { namespace = '', resource }) => resource === 'applications' && may.includes(namespace),
  })
  return await start({ isReading: true, audience: 'meshstep', ...(intercept && { intercept }) }, api)
}

const GOOD = { authorization: 'Bearer good' }

const PATHS = [
  '/map',
  '/map?namespace=bank',
  '/page/applications/bank/vault',
  '/page/explain?from=bank/vault&to=bank/vault&port=80',
  '/applications/bank',
]

test('without a token the page shows itself and nothing else', async () => {
  const { ask } = await startFunction(['shop', 'bank'])
  expect((await ask('/', BROWSER)).status).toBe(200)
  for (const path of PATHS) expect([path, (await ask(path)).status]).toEqual([path, 401])
})

test('the page says which audience its tokens are for', async () => {
  const { ask } = await start({ isReading: true, audience: 'meshstep.bank' })
  expect(await (await ask('/', BROWSER)).text()).toContain('kubectl create token ACCOUNT --audience meshstep.bank<')
})

test('who looks sees the namespaces that they may send events about, and no other', async () => {
  const { ask } = await startFunction(['shop'])
  const map = await ask('/map', GOOD)
  expect([map.status, await map.json()]).toMatchObject([200, { namespaces: ['shop'], shown: ['shop'] }])
  for (const path of PATHS.slice(1)) expect([path, (await ask(path, GOOD)).status]).toEqual([path, 403])
})

test('of a related application the page says that it has no memory only where it would see one', async () => {
  const { ask, api } = await startFunction(['shop', 'bank'])
  const writer = await startPage(api)
  onTestFinished(() => writer.stop())
  const relate = (id: number, application: string, namespace?: string) =>
    tell(writer.url, 'relation-changed', 'shop/web', {
      relation: { id, endpoint: 'use', interface: 'http', role: 'requires' },
      remote: { application, ...(namespace && { namespace }), data: {} },
    })
  await relate(11, 'ghost')
  await relate(12, 'vault', 'bank')
  await relate(13, 'gold', 'mint')
  const messages = async (query: string) => {
    const { nodes } = (await (await ask(`/map${query}`, GOOD)).json()) as PageMap
    return Object.fromEntries(nodes.flatMap(({ id, status, message }) => (status === 'unknown' ? [[id, message]] : [])))
  }
  const always = { 'shop/ghost': 'meshstep has no memory of it', 'mint/gold': 'you may not read it' }
  expect(await messages('')).toEqual(always)
  expect(await messages('?namespace=shop')).toEqual({ ...always, 'bank/vault': 'its namespace is not on this map' })
})

test('the page as a function takes no events, and has no buttons that send any', async () => {
  const { ask } = await startFunction(['shop'])
  for (const path of ['/', '/config-changed']) {
    const response = await ask(path, GOOD, { method: 'POST', body: '{}' })
    expect([path, response.status]).toEqual([path, 400])
  }
  expect((await ask('/steps?namespace=shop', GOOD)).status).toBe(404)
  expect(await (await ask('/', BROWSER)).text()).not.toContain('data-story')
})

test.skipIf(cannotBuild)(`the page does with the rights of its account ${cannotBuild ?? ''}`, async () => {
  const granted = accessOf(buildCombination(['page']), 'shop', 'meshstep-page')
  const refused = new Set<string>()
  const { ask } = await startFunction(['shop', 'bank'], (request) => {
    const beyond = accessAskedBy(request).filter((one) => !isGranted(granted, one))
    for (const { verb, resource, namespace = 'everywhere' } of beyond) refused.add(`${verb} ${resource} ${namespace}`)
    const body = JSON.stringify({
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason: 'Forbidden',
      message: 'no',
    })
    return beyond.length === 0 ? undefined : { status: 403, headers: {}, body }
  })
  const asked = [
    ...['/map?namespace=shop', '/page/applications/shop/web', '/applications/shop', '/lint?namespace=shop'],
    '/page/explain?from=shop/web&to=shop/db&port=8080',
  ]
  for (const path of asked) expect([path, (await ask(path, GOOD)).status]).toEqual([path, 200])
  const body = JSON.stringify({ kind: 'relate', own: 'shop/db', endpoint: 'database', remote: 'shop/web' })
  expect((await ask('/page/plan', GOOD, { method: 'POST', body })).status).toBe(200)
  // which namespaces hold memories it may not know: its own is shown
  expect(await (await ask('/map', GOOD)).json()).toMatchObject({ namespaces: ['shop'], shown: ['shop'] })
  expect([...refused]).toEqual(['list configmaps everywhere'])
})
