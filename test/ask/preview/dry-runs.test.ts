import { describe, expect, test } from 'vitest'
import type { Sender } from '../../../src/core/access/authenticate.ts'
import type { Transport } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { event, workload } from '../../helpers/world.ts'
import { createPlace } from './planned.ts'

const config = { workload: { podSpec: { containers: [{ name: 'c', image: 'x:1', imagePullPolicy: 'Sometimes' }] } } }
const withSpec = event('config-changed', { namespace: 'shop', application: 'api', config })

const refusing = (code: number, reason: string, message: string) => ({
  status: code,
  headers: {},
  body: JSON.stringify({ kind: 'Status', status: 'Failure', code, reason, message }),
})

/** A cluster that answers dry runs in its own way, and the dry runs that it was asked for. */
const answering = (answer: ReturnType<typeof refusing> | undefined, sender?: Sender) => {
  const asked: { path: string; authorization: string | undefined }[] = []
  const place = createPlace(['web'], {
    ...(sender && { authenticate: async () => sender }),
    intercept: async (request): ReturnType<Transport> => {
      if (request.path.includes('dryRun=All')) {
        asked.push({ path: request.path.replace(/\?.*/, ''), authorization: request.headers.authorization })
        if (answer) return answer
      }
      return place.api.handle(request)
    },
  })
  return { place, asked }
}

const labelled = (): KubernetesObject => {
  const object = workload('StatefulSet', 'web')
  const { template } = object.spec as { template: { metadata: { labels: Record<string, string> } } }
  template.metadata.labels.team = 'red'
  return object
}

const SELECTED = '/apis/apps/v1/namespaces/shop/statefulsets/web'

describe('a plan asks the API server by a dry run', () => {
  test('a spec that it refuses refuses the event, as it would without a plan', async () => {
    const { place } = answering(refusing(422, 'Invalid', 'imagePullPolicy: Unsupported value: "Sometimes"'))
    await expect(place.plan({ events: [withSpec] })).rejects.toThrow(/Unsupported value: "Sometimes"/)
  })

  test('a document that it refuses is named, and changes nothing', async () => {
    const { place } = answering(refusing(422, 'Invalid', 'spec.serviceName: field is immutable'))
    const { objects, incomplete } = await place.plan({ objects: [labelled()] })
    expect([objects, incomplete]).toEqual([
      [],
      ['StatefulSet shop/web is not planned: TRY StatefulSet shop/web: 422 spec.serviceName: field is immutable'],
    ])
  })

  test.each([
    ['who asks may not', refusing(403, 'Forbidden', 'statefulsets "web" is forbidden: User "a" cannot patch resource')],
    ['it does not accept the token', refusing(401, 'Unauthorized', 'Unauthorized')],
    ['a webhook fails', refusing(500, 'InternalError', 'failed calling webhook')],
  ])('a document of which it cannot say is planned, with that: %s', async (_, answer) => {
    const { place } = answering(answer)
    const { objects, messages } = await place.plan({ objects: [labelled()] })
    expect(objects.map(({ object }) => object)).toEqual(['StatefulSet shop/web'])
    expect(messages).toEqual([
      expect.stringMatching(/^it is not known if the API server takes StatefulSet shop\/web: TRY .*: (403|401|500) /),
    ])
  })

  test('a document in a namespace that is only planned is planned, with that', async () => {
    const { place } = answering(undefined)
    const home = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'new' } }
    const inside = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'new' }, data: {} }
    const { objects, messages } = await place.plan({ objects: [home, inside] })
    expect(objects.map(({ object }) => object)).toEqual(['ConfigMap new/a', 'Namespace new'])
    expect(messages).toEqual([expect.stringContaining('takes ConfigMap new/a: its namespace is only planned')])
  })

  test('with the rights of whoever asks, and nothing is asked for a deletion', async () => {
    const sender: Sender = {
      author: { username: 'a', groups: [] },
      authorize: async () => undefined,
      mayGet: async () => true,
    }
    const { place, asked } = answering(undefined, sender)
    const proposal = { events: [], objects: [labelled()], expectations: [] }
    const { messages } = await place.preview(proposal, { authorization: 'Bearer of-a' })
    expect([messages, asked]).toEqual([[], [{ path: SELECTED, authorization: 'Bearer of-a' }]])
    await place.preview(proposal, { authorization: 'Bearer of-a', isDeletion: true })
    expect(asked).toHaveLength(1)
  })

  test('a dry run writes nothing', async () => {
    const { place } = answering(undefined)
    const before = JSON.stringify(place.api.objects())
    await place.plan({ objects: [labelled()] })
    expect(JSON.stringify(place.api.objects())).toBe(before)
  })
})

describe('a plan goes by what the API server answers', () => {
  const service = (more: object): KubernetesObject => ({
    ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'new', namespace: 'shop' } },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }], ...more },
  })
  const annotation = 'kubectl.kubernetes.io/last-applied-configuration'

  test('what admission adds is planned', async () => {
    const mutated = { ...service({}), metadata: { name: 'new', namespace: 'shop', labels: { added: 'by-webhook' } } }
    const { place } = answering({ status: 200, headers: {}, body: JSON.stringify(mutated) })
    const { objects } = await place.plan({ objects: [service({})] })
    expect(objects[0]?.after?.metadata.labels).toEqual({ added: 'by-webhook' })
  })

  test('a second document of one object is not known, as both are tried on the cluster as it is', async () => {
    const { place, asked } = answering(undefined)
    const { messages } = await place.plan({ objects: [service({}), service({ selector: { app: 'db' } })] })
    expect(messages).toEqual([expect.stringMatching(/Service shop\/new: this plan has changed it before$/)])
    expect(asked).toHaveLength(1)
  })

  test('an apply that was made client-side, again, changes nothing, and takes away what it leaves out', async () => {
    const { place } = answering(undefined)
    const given = service({ externalName: undefined, ports: [{ port: 80 }, { port: 81, name: 'b' }] })
    const metadata = { ...given.metadata, annotations: { [annotation]: JSON.stringify(given) } }
    place.api.seed([{ ...given, metadata }], { manager: 'kubectl-client-side-apply' })
    expect((await place.plan({ objects: [given] })).objects).toEqual([])
    const { objects } = await place.plan({ objects: [service({})] })
    expect(objects[0]?.after?.spec).toMatchObject({ type: 'ClusterIP', ports: [{ port: 80 }] })
  })

  test('an object that is being deleted goes with its last finalizer, and what it owns goes with it', async () => {
    const { place } = answering(undefined)
    const owner = { ...service({}), metadata: { name: 'owner', namespace: 'shop', finalizers: ['a.b/c'] } }
    place.api.handle({
      method: 'PATCH',
      path: '/api/v1/namespaces/shop/services/owner?fieldManager=kubectl',
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: JSON.stringify(owner),
    })
    const live = place.api.find(owner)
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Service', name: 'owner', uid: live?.metadata.uid ?? '' }]
    place.api.seed([{ ...service({}), metadata: { name: 'owned', namespace: 'shop', ownerReferences } }])
    place.api.handle({ method: 'DELETE', path: '/api/v1/namespaces/shop/services/owner', headers: {} })
    const { objects } = await place.plan({ objects: [{ ...owner, metadata: { name: 'owner', namespace: 'shop' } }] })
    expect(objects.map(({ object, change }) => [object, change])).toEqual([
      ['Service shop/owned', 'removed'],
      ['Service shop/owner', 'removed'],
    ])
  })
})

describe('a Secret', () => {
  const secret = (stringData: object): KubernetesObject => ({
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'real', namespace: 'shop' }, stringData },
  })

  test('is not planned for those who may not get it, so that nobody can try values', async () => {
    const sender: Sender = {
      author: { username: 'a', groups: [] },
      authorize: async () => undefined,
      mayGet: async () => false,
    }
    const { place } = answering(undefined, sender)
    place.api.seed([secret({ password: 'right' })])
    for (const password of ['right', 'wrong']) {
      const { objects, incomplete } = await place.plan({ objects: [secret({ password })] })
      expect([objects, incomplete]).toEqual([[], ['Secret shop/real is not planned: you may not get it']])
    }
  })

  test('that is refused says nothing of its values', async () => {
    const { place } = answering(refusing(422, 'Invalid', 'stringData.password: expected string, got 9876543210'))
    const { incomplete } = await place.plan({ objects: [secret({ password: 1 })] })
    expect(incomplete).toEqual(['Secret shop/real is not planned: the API server refuses it with 422 Invalid'])
  })
})

test.each<[string, KubernetesObject, object]>([
  [
    'a Namespace has no namespace',
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop', namespace: 'shop', labels: { a: 'b' } } },
    { objects: [{ object: 'Namespace shop', change: 'changed' }], incomplete: [] },
  ],
  [
    'a version that nobody serves is not followed',
    { apiVersion: 'security.istio.io/v9', kind: 'AuthorizationPolicy', metadata: { name: 'x', namespace: 'shop' } },
    { objects: [], incomplete: [expect.stringContaining('a plan follows no objects of security.istio.io/v9')] },
  ],
  [
    'a name that is a path is refused',
    { apiVersion: 'v1', kind: 'Service', metadata: { name: '..', namespace: 'shop' } },
    { objects: [], incomplete: [expect.stringContaining('Service shop/.. is not planned: metadata.name')] },
  ],
])('a document as it is: %s', async (_, object, plan) => {
  expect(await answering(undefined).place.plan({ objects: [object] })).toMatchObject(plan)
})
