import { describe, expect, test } from 'vitest'
import type { Operation, Rule } from '../../../src/mesh/istio/authorization-policy.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { application } from '../../helpers/mesh.ts'
import { custom, pods, service } from '../../mesh/istio/bookinfo.ts'
import { codeOf, ISTIO, lines, namespace, ON_MESH, onMesh, planned } from './compared.ts'

/** The waypoint of `shop`, which sees HTTP. */
const gateway: KubernetesObject = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name: 'w', namespace: 'shop', labels: { 'istio.io/waypoint-for': 'service' } },
  spec: { gatewayClassName: 'istio-waypoint', listeners: [{ name: 'mesh', port: 15_008, protocol: 'HBONE' }] },
  status: { addresses: [{ type: 'IPAddress', value: '10.9.9.9' }] },
}

const api = application('api', {
  labels: { ...ON_MESH, 'istio.io/use-waypoint': 'w' },
  serviceSpec: { ports: [{ port: 80, appProtocol: 'http' }] },
})

const allowing = (operation: Operation) =>
  custom('allowed', { ...service('api'), action: 'ALLOW', rules: [{ to: [{ operation }] }] })

const denying = (...rules: Rule[]) => custom('denied', { ...service('api'), action: 'DENY', rules })

/** The plan that denies what is allowed. */
const denied = (allowed: Operation, ...rules: Rule[]) =>
  planned([ISTIO, namespace('shop'), ...api, ...onMesh('web'), gateway, allowing(allowed)], {
    after: [denying(...rules)],
  })

const AUTHORITY = 'request.headers[:authority]'

describe('hosts in upper and lower case are told apart where a condition does, and no operation does', () => {
  test.each([
    ['a host', 'Shop.Example', 'shop.example', 'shop.example'],
    ['a host in upper case', 'shop.example', 'SHOP.EXAMPLE', 'SHOP.EXAMPLE'],
    ['a beginning', 'shop.example', 'Sh*', 'Shop.example'],
    ['an end', 'shop.example', '*.EXAMPLE', 'shop.EXAMPLE'],
    ['a beginning of those with an end', '*.example', 'Sh*', 'Sh*.example'],
  ])('%s', async (_, host, value, told) => {
    const plan = await denied({ hosts: [host] }, { when: [{ key: AUTHORITY, values: [value] }] })
    expect(lines(plan)).toContain(`- web → api ${told}:80`)
    expect(codeOf(plan)).toBe(2)
  })

  test('what is written otherwise than a condition says', async () => {
    const plan = await denied({ hosts: ['shop.example'] }, { when: [{ key: AUTHORITY, notValues: ['shop.example'] }] })
    expect(lines(plan)).toContain('- web → api SHOP.EXAMPLE:80')
    expect(codeOf(plan)).toBe(2)
  })

  test('a host that operations name twice, in either case, is one', async () => {
    const plan = await denied({}, { to: [{ operation: { hosts: ['Shop.example', 'shop.EXAMPLE'] } }] })
    expect(lines(plan).filter((line) => line.startsWith('- web'))).toEqual(['- web → api Shop.example:80'])
  })
})

test('what is not known of a path that no policy names is said without an example of one', async () => {
  const asked = custom('asked', { ...service('api'), action: 'CUSTOM', provider: { name: 'oidc' }, rules: [{}] })
  const principals = ['cluster.local/ns/shop/sa/w']
  const behind = custom('behind', { ...pods('api'), rules: [{ from: [{ source: { principals } }] }] })
  const before = [ISTIO, namespace('shop'), ...api, ...onMesh('web'), gateway, asked, behind]
  const after = [denying({ to: [{ operation: { paths: ['/admin'] } }] })]
  const { incomplete } = await planned(before, { after })
  expect(incomplete.join()).toContain('send GET for any other path to the Service shop/api')
})

describe('a plan asks about what policies do not name, whatever they name', () => {
  test.each<[string, Operation]>([
    ['hosts', { notHosts: ['*.invalid', '*.test'] }],
    ['paths', { notPaths: ['/.*', '/~*'] }],
    ['paths of templates', { notPaths: ['/{*}', '/{*}/{*}', '/{*}/{*}/{*}'] }],
    ['methods', { notMethods: ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT'] }],
  ])('of %s', async (_, operation) => {
    const plan = await denied({}, { to: [{ operation }] })
    expect(lines(plan).filter((line) => line.startsWith('- web'))).not.toEqual([])
    expect(codeOf(plan)).toBe(2)
  })
})

test('a plan is incomplete where policies name more paths that cross than are told apart', async () => {
  const templates = Array.from({ length: 24 }, (_, index) => `{**}/part-${index}/{**}`)
  const both = allowing({ paths: templates })
  const fewer = allowing({ paths: [...templates, '{**}/part-0/{**}/x'] })
  const plan = await planned([ISTIO, namespace('shop'), ...api, ...onMesh('web'), gateway, both], {
    before: [both],
    after: [fewer],
  })
  expect(plan.incomplete).toEqual([
    expect.stringMatching(/^whether access to shop\/api changes is not known: policies distinguish more requests/),
  ])
  expect(codeOf(plan)).toBe(3)
})
