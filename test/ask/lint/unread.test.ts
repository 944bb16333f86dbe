import { expect, test } from 'vitest'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import type { Place } from '../preview/planned.ts'
import { forPods, forService, granted, lintOf, policy } from './place.ts'

const FORBIDDEN = {
  ...{ status: 403, headers: {} },
  body: JSON.stringify({ kind: 'Status', status: 'Failure', reason: 'Forbidden', message: 'no', code: 403 }),
}

/** What lint finds of policies for a Gateway and a Service, where some paths may not be read. */
const lintWithout = async (forbidden: RegExp) => {
  const place = await granted()
  place.api.seed([
    policy('at-gateway', {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'shop-beacon-waypoint' }],
      rules: [{ from: [{ source: { namespaces: ['shop'] } }] }],
    }),
    policy('at-service', { ...forService('db'), rules: [{ from: [{ source: { namespaces: ['shop'] } }] }] }),
  ])
  const { api } = place
  const handle: typeof api.handle = (request) => (forbidden.test(request.path) ? FORBIDDEN : api.handle(request))
  return await lintOf({ ...place, api: { ...api, handle } })
}

test('without the right to list Gateways nothing is said of waypoints, but that it could not be read', async () => {
  const found = await lintWithout(/^\/apis\/gateway\.networking\.k8s\.io\/v1\/gateways/)
  expect(found).toEqual([
    {
      ...{ rule: 'partly-read', about: 'Namespace shop' },
      message: 'Gateways of all namespaces may not be listed: findings that depend on them are missing',
    },
  ])
})

test('without the right to read the root namespace what could not be read is said', async () => {
  const found = await lintWithout(/\/namespaces\/istio-system\//)
  expect(found.filter(({ rule }) => rule === 'partly-read').map(({ message }) => message)).toEqual([
    'AuthorizationPolicies of istio-system may not be listed: findings that depend on them are missing',
  ])
  expect(found.filter(({ rule }) => rule === 'mesh-config-unknown')).toEqual([
    {
      ...{ rule: 'mesh-config-unknown', about: 'Namespace shop' },
      message: `${UNKNOWN}: ConfigMap istio-system/istio may not be read`,
    },
  ])
})

const UNKNOWN =
  "Istio's own config is not known, and findings that depend on its root namespace or its trust domain are missing"

const ofRevision: KubernetesObject = {
  ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { mesh: 'trustDomain: new\nrootNamespace: mesh-root\n' } },
  metadata: { name: 'istio-1-29-1', namespace: 'istio-system', labels: { 'app.kubernetes.io/version': '1.29.1' } },
}

const labelled = (place: Place, revision: string): void => {
  const { status } = place.api.handle({
    method: 'PATCH',
    path: '/api/v1/namespaces/shop',
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify({ metadata: { labels: { 'istio.io/rev': revision } } }),
  })
  expect(status).toBe(200)
}

const tag = (name: string, revision: string): KubernetesObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'MutatingWebhookConfiguration',
  metadata: { name: `istio-revision-tag-${name}`, labels: { 'istio.io/tag': name, 'istio.io/rev': revision } },
})

test.each<[string, string | undefined, KubernetesObject[]]>([
  ['that the namespace names', '1-29-1', []],
  ['that a tag of the namespace names', 'prod', [tag('prod', '1-29-1')]],
  ['that is the default by a tag', undefined, [tag('default', '1-29-1')]],
])('where Istio is installed by a revision, the config is that of the revision %s', async (_, revision, tags) => {
  const place = await granted()
  const foreign = { principals: ['other/ns/shop/sa/web'] }
  const all = { targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'GatewayClass', name: 'istio-waypoint' }] }
  place.api.seed([
    ...[ofRevision, ...tags],
    policy('foreign', { ...forService('db'), rules: [{ from: [{ source: foreign }] }] }),
    policy('elsewhere', { ...all, rules: [{}] }),
  ])
  if (revision !== undefined) labelled(place, revision)
  const found = (await lintOf(place)).map(({ rule, message }) => `${rule}: ${message}`)
  expect(found).toContainEqual(expect.stringMatching(/^trust-domain-unknown: nobody .* domain other: it is new/))
  expect(found).toContainEqual(expect.stringMatching(/it would in the root namespace, mesh-root$/))
  expect(found).not.toContainEqual(expect.stringMatching(/^mesh-config-unknown/))
})

test('where no config of the revision is found, that is said, what depends on it is not, and the rest is', async () => {
  const place = await granted()
  const http = [{ to: [{ operation: { methods: ['GET'] } }] }]
  place.api.seed([
    ofRevision,
    policy('foreign', { ...forService('db'), rules: [{ from: [{ source: { principals: ['other/ns/a/sa/b'] } }] }] }),
    policy('http', { ...forPods('db'), rules: http }),
  ])
  labelled(place, '1-30-0')
  const found = await lintOf(place)
  expect(found).toContainEqual({
    ...{ rule: 'mesh-config-unknown', about: 'Namespace shop' },
    message: `${UNKNOWN}: there is no readable ConfigMap istio-system/istio-1-30-0`,
  })
  const rules = found.map(({ rule }) => rule)
  expect(rules).toContain('http-without-waypoint')
  expect(rules).not.toContain('trust-domain-unknown')
})

test('without the right to list PeerAuthentications what could not be read is said', async () => {
  const found = await lintWithout(/\/namespaces\/shop\/peerauthentications/)
  expect(found.filter(({ rule }) => rule === 'partly-read').map(({ message }) => message)).toEqual([
    'PeerAuthentications of shop may not be listed: findings that depend on them are missing',
  ])
})
