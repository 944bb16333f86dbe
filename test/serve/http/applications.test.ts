import { describe, expect, test } from 'vitest'
import { createAuthenticate } from '../../../src/core/access/authenticate.ts'
import { features } from '../../../src/features.ts'
import type { Memo } from '../../../src/platform/base/memo.ts'
import { createKubernetes, type TransportRequest } from '../../../src/platform/kubernetes/client.ts'
import { createApplications } from '../../../src/serve/http/applications.ts'
import { createWorld, FORBIDDEN, NAMESPACE, type World } from '../../helpers/world.ts'

const MEMORY = 'juju-service-mesh-web-labels'

const createTaken = (data: Record<string, string> | undefined) => {
  const world = createWorld()
  const metadata = { name: MEMORY, namespace: NAMESPACE }
  world.api.seed([{ apiVersion: 'v1', kind: 'ConfigMap', metadata, ...(data && { data }) }], {
    manager: 'kubectl-create',
  })
  return world
}

describe('an application under whose memory’s name there is a ConfigMap of somebody else', () => {
  test('an application under whose memory’s name there is a ConfigMap of somebody else is answered with whose it is, as an event is', async () => {
    const world = createTaken({ colour: 'blue' })
    const answer = await world.app.request('/applications/shop/web')
    expect([answer.status, await answer.json()]).toMatchObject([
      500,
      {
        status: 500,
        reason: 'broken',
        message: expect.stringMatching(
          /^ConfigMap shop\/juju-service-mesh-web-labels is no memory: it is written by kubectl-create, and has colour in place of labels and state\..* Rename or delete it/,
        ),
      },
    ])
    await expect(world.send('config-changed', { config: {} })).rejects.toThrow(/is no memory/)
    expect(world.object('ConfigMap', MEMORY)?.data).toEqual({ colour: 'blue' })
  })

  test.each([[undefined], [{ labels: '{"a":"b"}' }]])(
    'an application under whose memory’s name there is a ConfigMap of somebody else that may be the charm library’s, %j, is not active',
    async (data) => {
      const answer = await createTaken(data).app.request('/applications/shop/web')
      expect(await answer.json()).toMatchObject({
        status: { status: 'waiting', message: expect.stringMatching(/is the charm library's, or somebody else's/) },
        labels: data ? { a: 'b' } : {},
      })
    },
  )
})

describe('GET /applications', () => {
  test('GET /applications does not say that there are no policies where they may not be listed', async () => {
    const world = createWorld()
    await world.send('config-changed', { config: {} })
    const view = async () => await (await world.app.request('/applications/shop/web')).json()
    expect(await view()).toMatchObject({ policies: [], messages: [] })
    world.intercept = ({ path }) => (path.includes('authorizationpolicies') ? FORBIDDEN : undefined)
    const unread = await view()
    expect(unread).not.toHaveProperty('policies')
    expect(unread).toMatchObject({
      messages: ['its policies are not known: this process may not list the AuthorizationPolicies of shop'],
    })
  })

  /** `web` of two namespaces, and `db` of one whose name goes before `shop/` only where names are compared as text. */
  const createPlaces = async (options: Parameters<typeof createWorld>[1] = {}) => {
    const world = createWorld([], options)
    const namespaces = ['bank', 'shop', 'shop-2']
    world.api.seed(namespaces.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })))
    for (const [namespace, application] of [
      ['shop', 'web'],
      ['shop', 'db'],
      ['shop-2', 'db'],
      ['bank', 'web'],
    ])
      await world.send('config-changed', { namespace, application, config: {} })
    return world
  }
  type Item = { namespace: string; application: string; problem?: string }
  const ask = (world: World, query = '') =>
    world.app.request(`/applications${query}`, { headers: { authorization: 'Bearer good' } })
  const namesIn = (items: Item[]) => items.map(({ namespace, application }) => `${namespace}/${application}`)
  const ALL = ['bank/web', 'shop/db', 'shop/web', 'shop-2/db']

  test('GET /applications answers the applications of all namespaces, each as its namespace does', async () => {
    const world = await createPlaces()
    const items = (await (await ask(world)).json()) as Item[]
    expect(namesIn(items)).toEqual(ALL)
    const byNamespace = await Promise.all(
      ['bank', 'shop', 'shop-2'].map(async (namespace) => (await ask(world, `/${namespace}`)).json()),
    )
    expect(items).toEqual(byNamespace.flat())
  })

  test.each([1, 2, 3, 4])(
    'GET /applications answers %i at a time, each once, with a link to those that follow',
    async (limit) => {
      const world = await createPlaces()
      const pages: string[][] = []
      for (let query: string | undefined = `?limit=${limit}`; query !== undefined; ) {
        const page = await ask(world, query)
        pages.push(namesIn((await page.json()) as Item[]))
        query = /^<(.*)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1]
      }
      expect(pages.flat()).toEqual(ALL)
      expect(pages.map(({ length }) => length)).toEqual(
        Array.from({ length: Math.ceil(4 / limit) }, (_, page) => Math.min(limit, 4 - page * limit)),
      )
    },
  )

  test('GET /applications leaves out those that the asker may not send events about', async () => {
    let isSetUp = false
    const world = await createPlaces({ allows: (about) => !isSetUp || about === 'db' })
    isSetUp = true
    world.clock.advance(60_000)
    expect(namesIn((await (await ask(world)).json()) as Item[])).toEqual(['shop/db', 'shop-2/db'])
  })

  test('GET /applications reads nothing of the memories of others', async () => {
    const world = await createPlaces()
    const read: string[] = []
    const memo: Memo = (text, of) => {
      if (text.startsWith('{"version":')) read.push(text)
      return of(text)
    }
    const transport = async (request: TransportRequest) => world.api.handle(request)
    const authenticate = createAuthenticate({ audience: 'meshstep', clock: world.clock })
    const applications = createApplications({
      ...{
        features,
        authenticate,
        clock: world.clock,
        environment: { resolver: '10.96.0.10' },
        timeoutMilliseconds: 1_000,
      },
      connect: (deadline) => createKubernetes({ transport, clock: world.clock, deadline, memo }),
    })
    expect((await applications.everywhere(new URLSearchParams(), 'Bearer good')).items).toEqual([])
    expect(read).toEqual([])
  })

  test('GET /applications names one whose memory cannot be read, and goes on', async () => {
    const world = await createPlaces()
    world.api.handle({
      method: 'PATCH',
      path: `/api/v1/namespaces/bank/configmaps/${MEMORY}`,
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ data: { state: '{' } }),
    })
    const items = (await (await ask(world)).json()) as Item[]
    expect(namesIn(items)).toEqual(ALL)
    expect(items[0]?.problem).toMatch(/ConfigMap bank\//)
  })

  test('GET /applications says where to ask instead of a process that may look into its own namespace alone', async () => {
    const world = await createPlaces()
    const body = JSON.stringify({ kind: 'Status', status: 'Failure', message: 'no', reason: 'Forbidden', code: 403 })
    world.intercept = ({ path }) =>
      path.startsWith('/api/v1/configmaps') ? { status: 403, headers: {}, body } : undefined
    const answer = await ask(world)
    expect([answer.status, await answer.json()]).toMatchObject([
      403,
      { message: expect.stringContaining('/applications/{namespace}') },
    ])
  })

  test.each(['limit=0', 'limit=501', 'limit=x', 'page=2'])('GET /applications refuses %s', async (query) => {
    expect((await ask(createWorld(), `?${query}`)).status).toBe(400)
  })
})
