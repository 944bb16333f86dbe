import { describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import type { ApplicationView } from '../../../src/serve/http/applications.ts'
import { APP, DB, forPods, forService, granted, grantedWithIstio, lintOf, policy } from '../../ask/lint/place.ts'
import { createPlace, type Place } from '../../ask/preview/planned.ts'
import { requires } from '../../helpers/beacon-world.ts'
import { event } from '../../helpers/world.ts'

describe('GET /applications', () => {
  const get = async <T>(place: Place, path: string): Promise<T> =>
    (await (await place.app.request(`/applications/${path}`)).json()) as T

  test('GET /applications shows config, relations with both sides, labels wanted and held, and policies with who asked for them', async () => {
    const view = await get<ApplicationView>(await granted(), 'shop/db')
    expect(view.config).toEqual({ policies: [APP] })
    expect(view.relations).toMatchObject([
      {
        ...{ id: 1, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires', remote: 'shop/beacon' },
        ...{
          stands: true,
          claim: 'applied',
          says: { policies: expect.any(String) },
          hears: { labels: expect.any(String) },
        },
      },
      { id: 3, endpoint: 'use', remote: 'shop/web', stands: true, says: {}, hears: {} },
    ])
    expect(view.wanted).toEqual(view.labels)
    expect(view.labels).toMatchObject({ 'istio.io/dataplane-mode': 'ambient' })
    expect(view.policies?.filter(({ target }) => target === 'Service db')).toMatchObject([
      { sources: ['shop/web'], owner: 'shop/db', requestedBy: ['relation 1 (service-mesh) of shop/db'] },
    ])
    expect(Date.parse(view.saved ?? '')).not.toBeNaN()
  })

  test('GET /applications shows what is waited for', async () => {
    const place = createPlace(['db'])
    await place.happen(event('relation-changed', requires(1, DB)))
    await place.happen(event('config-changed', { application: 'beacon', config: { mesh: {} } }))
    place.api.handle({
      method: 'DELETE',
      path: '/api/v1/namespaces/shop/configmaps/juju-service-mesh-beacon-labels',
      headers: {},
    })
    const view = await get<ApplicationView>(place, 'shop/db')
    expect(view.conditions).toMatchObject([
      {
        object: 'relation 1 (service-mesh)',
        for: ['shop/beacon'],
        message: expect.stringContaining('waiting for the data of shop/beacon'),
      },
    ])
  })

  test('GET /applications lists all of a namespace, also where a memory cannot be read', async () => {
    const place = await granted()
    const path = '/api/v1/namespaces/shop/configmaps/juju-service-mesh-web-labels?fieldManager=somebody'
    const headers = { 'content-type': 'application/merge-patch+json' }
    place.api.handle({ method: 'PATCH', path, headers, body: '{"data":{"state":"{"}}' })
    expect(await get<ApplicationView[]>(place, 'shop')).toMatchObject([
      { application: 'beacon', config: { mesh: {} } },
      { application: 'db' },
      { application: 'web', problem: expect.stringContaining('data.state is not') },
    ])
  })
})

test('GET /applications of a namespace that does not exist says so, and of an empty one lists nothing', async () => {
  const { app } = createPlace([])
  const missing = await app.request('/applications/nowhere')
  expect([missing.status, await missing.json()]).toMatchObject([404, { message: 'Namespace nowhere does not exist' }])
  const place = createPlace(['db'])
  expect(await (await place.app.request('/applications/shop')).json()).toEqual([])
})

const statusOf = async (place: Place, application: string): Promise<ApplicationView['status']> =>
  ((await (await place.app.request(`/applications/shop/${application}`)).json()) as ApplicationView).status

describe('GET /lint', () => {
  const lint = lintOf
  test('GET /lint finds nothing where all is as it should be', async () => {
    expect(await lint(await granted())).toEqual([])
  })

  test('GET /lint names a relation at an endpoint that no policy names', async () => {
    const place = await granted()
    const data = { application: 'db', relation: { id: 9, endpoint: 'su', interface: 'http', role: 'provides' } }
    await place.happen(event('relation-changed', { ...data, remote: { application: 'web', data: {} } }))
    expect(await lint(place)).toEqual([
      {
        rule: 'endpoint-unnamed',
        about: 'shop/db',
        message: 'relation 9 (su) grants nothing: no policy of the config names its endpoint',
      },
    ])
  })

  test('GET /lint names an endpoint that no relation has, and the one that was meant', async () => {
    const place = await granted({
      policies: [{ ...APP, relation: 'ues' }],
      services: { offered: { name: 'db', port: 80 } },
    })
    expect(await lint(place)).toEqual([
      {
        rule: 'endpoint-unknown',
        about: 'shop/db',
        message: 'policies[0] names the endpoint ues, and no relation has it: is use meant?',
      },
      {
        rule: 'endpoint-unknown',
        about: 'shop/db',
        message: 'services names the endpoint offered, and no relation has it',
      },
    ])
  })

  test.each<[string, KubernetesObject, string, RegExp]>([
    [
      'refers to a Service that is not there',
      policy('one', { ...forService('bd'), rules: [{}] }),
      'policy-unmatched',
      /its Service shop\/bd does not exist/,
    ],
    ['selects no pods', policy('one', { ...forPods('bd'), rules: [{}] }), 'policy-unmatched', /selects no pod of shop/],
    [
      'has HTTP fields where only a ztunnel sees the connection',
      policy('one', { ...forPods('db'), rules: [{ to: [{ operation: { methods: ['GET'] } }] }] }),
      'http-without-waypoint',
      /cannot see methods: it lets in nobody/,
    ],
    [
      'hides what another one allows',
      policy('one', { ...forService('db'), action: 'DENY', rules: [{ to: [{ operation: { methods: ['GET'] } }] }] }),
      'allow-hidden',
      /its rules\[0\] no longer lets anybody in, because a DENY policy refuses all its requests: shop\/one, at Service shop\/db$/,
    ],
  ])('GET /lint names a policy that %s', async (_, object, rule, message) => {
    const place = await granted()
    place.api.seed([object])
    expect(await lint(place)).toContainEqual(expect.objectContaining({ rule, message: expect.stringMatching(message) }))
  })

  test.each<[string, Record<string, unknown>, RegExp]>([
    [
      'without an account of their own',
      { serviceAccountName: null, serviceAccount: null },
      /ServiceAccount default, .*set serviceAccountName: web/,
    ],
    [
      'that run as another one',
      { serviceAccountName: 'shared', serviceAccount: 'shared' },
      /ServiceAccount shared, .*set serviceAccountName: web/,
    ],
    [
      'in the network of their node',
      { hostNetwork: true },
      /have no identity outside of the mesh, .*: take hostNetwork out of their template/,
    ],
  ])('GET /lint names pods %s, which what is granted does not let in', async (_, changes, message) => {
    const place = await granted()
    place.api.handle({
      method: 'PATCH',
      path: '/apis/apps/v1/namespaces/shop/statefulsets/web',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ spec: { template: { spec: changes } } }),
    })
    const reads: string[] = []
    const counting = {
      ...place,
      api: {
        ...place.api,
        handle: (request: Parameters<typeof place.api.handle>[0]) => {
          reads.push(request.path)
          return place.api.handle(request)
        },
      },
    }
    const isOffMesh = 'hostNetwork' in changes
    expect(await lint(counting)).toEqual([
      ...(isOffMesh
        ? [{ rule: 'waiting', about: 'shop/web', message: expect.stringMatching(/are off the mesh/) }]
        : []),
      { rule: 'grant-without-effect', about: 'StatefulSet shop/web', message: expect.stringMatching(message) },
    ])
    expect(reads).toHaveLength(new Set(reads).size)
  })

  test('GET /lint names a policy of a Service that no waypoint serves', async () => {
    const place = createPlace(['db'])
    place.api.seed([policy('one', { ...forService('db'), rules: [{}] })])
    expect(await lint(place)).toMatchObject([
      { rule: 'policy-unenforced', message: expect.stringContaining('shop/db') },
    ])
  })

  test('GET /lint names a StatefulSet and a Deployment of one name, of which the first alone is labelled', async () => {
    const place = await granted()
    const [set] = place.api.objects().filter(({ kind, metadata }) => kind === 'StatefulSet' && metadata.name === 'web')
    const { serviceName: _, ...spec } = set?.spec ?? {}
    place.api.seed([
      { ...(set as KubernetesObject), kind: 'Deployment', metadata: { name: 'web', namespace: 'shop' }, spec },
    ])
    expect(await lint(place)).toContainEqual({
      rule: 'workload-twice',
      about: 'shop/web',
      message:
        'StatefulSet and Deployment shop/web have one name, and labels go to the StatefulSet alone: delete or rename the one that is not meant',
    })
  })

  test('GET /lint names a document that was refused, and a memory that cannot be read', async () => {
    const place = await granted()
    const labels = { 'meshstep.dev/kind': 'config' }
    const data = { application: 'web', config: '{ polices: [] }' }
    place.api.seed([
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'web', namespace: 'shop', labels }, data },
    ])
    const path = '/api/v1/namespaces/shop/configmaps/juju-service-mesh-web-labels?fieldManager=somebody'
    const headers = { 'content-type': 'application/merge-patch+json' }
    place.api.handle({ method: 'PATCH', path, headers, body: '{"data":{"state":"{"}}' })
    expect((await lint(place)).map(({ rule, about }) => [rule, about])).toEqual([
      ['memory-unreadable', 'shop/web'],
      ['document-refused', 'ConfigMap shop/web'],
    ])
  })

  test('GET /lint names an expectation of a config that is not met', async () => {
    const place = await granted({
      policies: [APP],
      expect: [{ from: 'shop/web', port: 80, method: 'POST', allowed: true }],
    })
    expect(await lint(place)).toMatchObject([
      { rule: 'expectation', about: 'shop/db', message: expect.stringMatching(/^expected to be allowed: .*POST/) },
    ])
  })
})

test('a label that Kubernetes refuses stays told, in the status and by lint, until the config is another one', async () => {
  const place = await granted({ policies: [APP], labels: { 'bad key!!': 'x' } })
  for (const _ of [1, 2]) await place.send('resync', DB)
  const why = /^config: label bad key!! is not applied: the name of the key must be letters/
  expect(await statusOf(place, 'db')).toMatchObject({ status: 'blocked', message: expect.stringMatching(why) })
  expect(await lintOf(place)).toContainEqual({
    rule: 'label-refused',
    about: 'shop/db',
    message: expect.stringMatching(why),
  })
  await place.send('config-changed', { ...DB, config: { policies: [APP] } })
  expect(await statusOf(place, 'db')).toMatchObject({ status: 'active' })
  expect(await lintOf(place)).toEqual([])
})

describe('an expectation in a config', () => {
  const expecting = (allowed: boolean) => ({
    policies: [APP],
    expect: [{ from: 'shop/web', port: 80, method: 'GET', allowed }],
  })

  test('an expectation in a config that is met says nothing', async () => {
    const place = await grantedWithIstio(expecting(true))
    expect(await place.send('resync', DB)).toMatchObject({ status: 'unchanged', messages: [] })
  })

  test('an expectation in a config makes the answers to events say conditions as soon as the mesh does not meet it any more', async () => {
    const place = await granted(expecting(true))
    const answer = await place.send('relation-broken', { ...DB, relation: { id: 3 } })
    const again = await place.send('resync', DB)
    for (const { status, messages } of [answer, again].slice(1)) {
      expect(status).toBe('waiting')
      expect(messages).toContainEqual(expect.stringMatching(/^expected to be allowed: shop\/web may not send GET/))
    }
  })

  test.each([true, false])(
    'an expectation in a config about a port that the Service does not have is not met, where allowed is %s',
    async (allowed) => {
      const place = await granted({ policies: [APP], expect: [{ from: 'shop/web', port: 81, allowed }] })
      expect((await place.send('resync', DB)).messages).toContainEqual(
        expect.stringMatching(/^expected to be .*: the Service has no port 81, but 80\.$/),
      )
    },
  )

  test('an expectation in a config about two other applications is none of its business', async () => {
    const place = await granted({ expect: [{ from: 'shop/web', to: 'shop/beacon', port: 80, allowed: true }] })
    expect((await place.send('resync', DB)).messages.join()).not.toContain('expected')
  })
})
