import { expect, test } from 'vitest'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { forService, granted, lintOf, policy } from './place.ts'

const account = (name: string, namespace = 'shop'): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind: 'ServiceAccount' },
  metadata: { name, namespace },
})
const allow = (rule: Record<string, unknown>) => policy('one', { ...forService('db'), rules: [rule] })
const from = (source: Record<string, unknown>) => allow({ from: [{ source }] })
const REPORT = 'cluster.local/ns/shop/sa/report'

const FORBIDDEN = {
  ...{ status: 403, headers: {} },
  body: JSON.stringify({ kind: 'Status', status: 'Failure', reason: 'Forbidden', message: 'no', code: 403 }),
}

const found = async (objects: readonly KubernetesObject[], isForbidden = (_path: string) => false, mesh = {}) => {
  const place = await granted(undefined, mesh)
  place.api.seed(objects)
  const { api } = place
  const handle: typeof api.handle = (request) => (isForbidden(request.path) ? FORBIDDEN : api.handle(request))
  return (await lintOf({ ...place, api: { ...api, handle } })).map(({ rule, message }) => [rule, message])
}

test('an account that exists is known, also where nothing runs as it just now, as of a CronJob between two runs', async () => {
  expect(await found([from({ principals: [REPORT] }), account('report')])).toEqual([])
})

test.each([
  ['a principal', from({ principals: [REPORT] })],
  ['a principal of any trust domain', from({ principals: ['*/ns/shop/sa/report'] })],
  ['a ServiceAccount', from({ serviceAccounts: ['report'] })],
  ['a condition', allow({ when: [{ key: 'source.principal', values: [REPORT] }] })],
  ['what is excluded', from({ notServiceAccounts: ['shop/report'] })],
])('an account that does not exist is told of %s', async (_, written) => {
  expect(await found([written, account('report', 'bank')])).toEqual([
    ['account-unknown', expect.stringMatching(/^nobody in shop runs as the ServiceAccount report of .*report, and/)],
  ])
})

test('without the right to list ServiceAccounts nothing is said of one that nothing runs as, but that it could not be read', async () => {
  expect(await found([from({ principals: [REPORT] })], (path) => /\/serviceaccounts/.test(path))).toEqual([
    ['partly-read', 'ServiceAccounts of shop may not be listed: findings that depend on them are missing'],
  ])
  const known = from({ principals: ['cluster.local/ns/shop/sa/web'] })
  expect(await found([known], (path) => /\/serviceaccounts/.test(path))).toEqual([])
})

const space = (name: string): KubernetesObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })

test.each([
  ['a source', from({ namespaces: ['nosuch', 'bank', 'shop', 'no*'] })],
  ['what is excluded', from({ namespaces: ['shop'], notNamespaces: ['nosuch'] })],
  ['a condition', allow({ when: [{ key: 'source.namespace', values: ['nosuch'] }] })],
])('a namespace that does not exist is told of %s', async (_, written) => {
  expect(await found([written, space('bank')])).toEqual([
    ['namespace-unknown', 'there is no namespace nosuch, and so nobody is in it'],
  ])
})

test('a namespace that no namespace can be called is told as well', async () => {
  expect(await found([from({ namespaces: ['No Such'] })])).toMatchObject([['namespace-unknown', expect.any(String)]])
})

test('without the right to read a namespace nothing is said of one, but that it could not be read', async () => {
  expect(await found([from({ namespaces: ['nosuch'] })], (path) => /\/namespaces\/nosuch$/.test(path))).toEqual([
    ['partly-read', 'Namespace nosuch may not be read: findings that depend on it are missing'],
  ])
})

const mesh = (config: string): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { mesh: config } },
  metadata: { name: 'istio', namespace: 'istio-system' },
})

const NEW = { trustDomain: 'new' }

test('an account of a trust domain that is not that of the mesh is not looked for in the mesh', async () => {
  const foreign = from({ principals: ['partner/ns/shop/sa/report'] })
  expect(await found([foreign])).toMatchObject([['trust-domain-unknown', expect.any(String)]])
  expect(await found([mesh('trustDomain: new\n'), foreign], undefined, NEW)).toMatchObject([
    ['trust-domain-unknown', expect.any(String)],
  ])
  const own = from({ principals: ['new/ns/shop/sa/report', 'old/ns/shop/sa/resport'] })
  expect(await found([mesh('trustDomain: new\ntrustDomainAliases: [old]\n'), own], undefined, NEW)).toMatchObject([
    ['account-unknown', expect.stringContaining('report of new/')],
    ['account-unknown', expect.stringContaining('resport of old/')],
  ])
})
