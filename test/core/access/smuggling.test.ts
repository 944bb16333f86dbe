import { describe, expect, test } from 'vitest'
import { createWorld, isWrite, MESH_LABELS, meshRelation, service, type World, workload } from '../../helpers/world.ts'

const TYPE = 'dev.meshstep.relation-changed.v1'
const JSON_TYPE = 'application/json'
const STRUCTURED = 'application/cloudevents+json'

/** Somebody who may send for `db` alone wants `web` on the mesh. */
const createSmuggled = (): World =>
  createWorld([workload(), service(), workload('StatefulSet', 'db'), service('db')], {
    allows: (about) => about === 'db' || about === 'beacon',
  })

const attributes = { specversion: '1.0', id: '1', source: '/db', type: TYPE }
const headersOf = (more: Record<string, string> = {}) => ({
  ...Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`ce-${name}`, value])),
  'content-type': JSON_TYPE,
  ...more,
})
const data = (about: Record<string, unknown>): string => JSON.stringify({ ...about, ...meshRelation() })
const structured = (more: Record<string, unknown>): string => JSON.stringify({ ...attributes, ...more })

const ofDb = { namespace: 'shop', application: 'db' }
const ofWeb = { namespace: 'shop', application: 'web' }

type Sent = { headers: Record<string, string>; body: string | Uint8Array }

const expectUntouched = async (world: World, { headers, body }: Sent, statuses: readonly number[]) => {
  const init = { method: 'POST', headers: { ...headers, authorization: 'Bearer good' } }
  const response = await world.app.request('/', {
    ...init,
    body: typeof body === 'string' ? body : new Uint8Array(body),
  })
  expect(statuses, await response.text()).toContain(response.status)
  expect(world.labels('web').template).not.toHaveProperty(Object.keys(MESH_LABELS)[0] ?? '')
  expect(world.memory('web')).toBeUndefined()
  return world
}

describe('who may send for one application speaks for no other', () => {
  test.each([
    'shop/web',
    'shop/%77eb',
    'shop%2Fweb',
    'SHOP/WEB',
    'shop/Web',
    'shop/web ',
    'shop//web',
    '/shop/web',
    'shop/db/../web',
    'shop/db/web',
    'shop/db%00web',
    'shop/%EF%BD%97eb',
    'shop/web%E2%80%8B',
    'shop/db,shop/web',
  ])('somebody who may send for one application speaks for no other with the subject %j', async (subject) => {
    for (const about of [{}, ofDb, ofWeb]) {
      const sent = { headers: headersOf({ 'ce-subject': subject }), body: data(about) }
      const world = await expectUntouched(createSmuggled(), sent, [400, 403])
      expect(world.calls.filter(isWrite).filter((call) => !call.includes('reviews'))).toEqual([])
    }
  })

  test.each<[string, Sent, readonly number[]]>([
    [
      'a header that names its own, and data that name another',
      { headers: headersOf({ 'ce-subject': 'shop/db' }), body: data(ofWeb) },
      [400],
    ],
    [
      'data that name another twice',
      { headers: headersOf(), body: `{"application":"db","namespace":"shop",${data(ofWeb).slice(1)}` },
      [403],
    ],
    [
      'data that name another first',
      { headers: headersOf(), body: data(ofWeb).replace(/}$/, ',"application":"db"}') },
      [200],
    ],
    [
      'a batch of both',
      {
        headers: { 'content-type': 'application/cloudevents-batch+json' },
        body: `[${structured({ subject: 'shop/db' })},${structured({ subject: 'shop/web' })}]`,
      },
      [415],
    ],
    [
      'headers of its own around an event of another',
      {
        headers: headersOf({ 'content-type': STRUCTURED, 'ce-subject': 'shop/db' }),
        body: structured({ subject: 'shop/web', data: meshRelation() }),
      },
      [403],
    ],
    [
      'two subjects in one event',
      {
        headers: { 'content-type': STRUCTURED },
        body: structured({ subject: 'shop/db', data: meshRelation() })
          .replace('}', '},"subject":"shop/web"')
          .replace(/}$/, '}'),
      },
      [400, 403],
    ],
    [
      'a name in a key that objects inherit',
      {
        headers: headersOf({ 'ce-subject': 'shop/db' }),
        body: `{"__proto__":{"application":"web"},${data({}).slice(1)}`,
      },
      [200, 400],
    ],
    [
      'text in UTF-16',
      {
        headers: headersOf({ 'content-type': 'application/json; charset=utf-16' }),
        body: Buffer.from(data(ofWeb), 'utf16le'),
      },
      [400, 415],
    ],
    [
      'letters that look alike',
      { headers: headersOf(), body: data({ namespace: 'shop', application: 'ｗeb' }) },
      [400],
    ],
    [
      'a document of another, in an event of its own',
      {
        headers: headersOf({ 'ce-type': 'dev.knative.apiserver.resource.add', 'ce-subject': 'shop/db' }),
        body: JSON.stringify({
          kind: 'ConfigMap',
          metadata: { name: 'x', namespace: 'shop', labels: { 'meshstep.dev/kind': 'config' } },
          data: { application: 'web', config: '{}' },
        }),
      },
      [403],
    ],
    [
      'a nudge that another seems to send',
      { headers: headersOf({ 'ce-source': '/meshstep/shop/db' }), body: data(ofWeb) },
      [403],
    ],
  ])('somebody who may send for one application speaks for no other with %s', async (_, sent, statuses) => {
    await expectUntouched(createSmuggled(), sent, statuses)
  })
})
