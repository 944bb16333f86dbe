import { afterEach, describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { until } from '../process/helpers.ts'
import { type Cluster, noCluster, openCluster } from './cluster.ts'
import { deployed, explain, noDebug, noIstiodThere, type ZtunnelView, ztunnelAllows, ztunnelView } from './istio.ts'
import { isServing, SLOW } from './shop.ts'
import { waypointAllows, waypointView } from './waypoint-view.ts'

let cluster: Cluster | undefined
let restore: (() => Promise<void>) | undefined
afterEach(async () => {
  await restore?.()
  restore = undefined
  await cluster?.close()
})

/** `db` and `web` in a namespace on the mesh. */
const opened = async (): Promise<Cluster> => {
  const shop = await openCluster()
  cluster = shop
  const home = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: shop.namespace } }
  await shop.merge(home, { metadata: { labels: { 'istio.io/dataplane-mode': 'ambient' } } }, 'test')
  for (const name of ['db', 'web']) for (const object of deployed(shop.namespace, name)) await shop.make(object)
  return shop
}

const policy = (
  { namespace }: Cluster,
  spec: Record<string, unknown>,
  kind = 'AuthorizationPolicy',
): KubernetesObject => ({
  ...{ apiVersion: 'security.istio.io/v1', kind },
  ...{ metadata: { name: 'odd', namespace }, spec },
})

/** The answer to a request of `web` to `db`, once istiod has taken what it depends on. */
const answer = (shop: Cluster, more: Record<string, string>): Promise<{ allowed: boolean }> =>
  until('an explanation is certain', async () => {
    const query = { from: `${shop.namespace}/web`, to: `${shop.namespace}/db`, port: '9113', ...more }
    const { allowed, decided } = await explain(shop, query)
    return decided && { allowed }
  })

const DB = { selector: { matchLabels: { 'app.kubernetes.io/name': 'db' } } }
const deny = (attachment: object, ...rules: object[]) => ({ ...attachment, action: 'DENY', rules })
const paths = { operation: { paths: ['/admin*'] } }

/** Policies of pods that are not what they seem, and whether a client gets through. */
const rows: [string, Record<string, unknown>, boolean][] = [
  ['a DENY of paths', deny(DB, { to: [paths] }), true],
  ['a DENY of paths of somebody', deny(DB, { from: [{ source: { namespaces: ['*'] } }], to: [paths] }), true],
  [
    'a DENY of paths and a port in one operation',
    deny(DB, { to: [{ operation: { ...paths.operation, ports: ['9113'] } }] }),
    false,
  ],
  [
    'a DENY of paths beside one of a port',
    deny(DB, { to: [paths] }, { to: [{ operation: { ports: ['9113'] } }] }),
    false,
  ],
  ['a DENY of paths or of a port', deny(DB, { to: [paths, { operation: { ports: ['9113'] } }] }), false],
  ['a DENY of a header', deny(DB, { when: [{ key: 'request.headers[x-team]', values: ['a'] }] }), true],
  ['an ALLOW of paths', { ...DB, action: 'ALLOW', rules: [{ to: [paths] }] }, false],
  ['a DENY of everything for a selector of nothing', deny({ selector: {} }, {}), true],
  ['an ALLOW of nobody for a selector of nothing', { selector: {}, action: 'ALLOW' }, true],
  ['a DENY of everything for a selector of no labels', deny({ selector: { matchLabels: {} } }, {}), false],
]

describe('an explanation of a policy of pods', () => {
  test.each(rows)('an explanation of a policy of pods says what it does, of %s', async (_, spec, isLetIn) => {
    const shop = await opened()
    await shop.make(policy(shop, spec))
    expect(await answer(shop, { via: 'pod' })).toEqual({ allowed: isLetIn })
  })
})

/** What ztunnels are told, once that has all of a policy. */
const told = async ({ namespace }: Cluster): Promise<ZtunnelView> =>
  await until('istiod knows the pods and the policy', async () => {
    const view = await ztunnelView()
    const pods = view.workloads?.filter((one) => one.namespace === namespace && one.workloadName === 'db') ?? []
    const isKnown = view.policies?.some((one) => one.namespace === namespace && one.name === 'odd')
    return pods.length > 0 && isKnown && view
  })

describe.skipIf(noDebug)(`a real istiod ${noDebug ?? ''}`, () => {
  test.each(rows)(
    'a real istiod tells ztunnels what an explanation says, of %s',
    async (_, spec, isLetIn) => {
      const shop = await opened()
      await shop.make(policy(shop, spec))
      const { namespace } = shop
      const client = { namespace, serviceAccount: 'web', port: 9113 }
      expect(ztunnelAllows(await told(shop), { namespace, application: 'db' }, client)).toBe(isLetIn)
    },
    SLOW,
  )

  test.each([
    ['closes the pods of the namespace', 'an own', true],
    ['closes those of no other', 'the root', false],
  ])(
    'a PeerAuthentication of a selector of nothing %s, in %s namespace',
    async (_, where, isClosed) => {
      const shop = await opened()
      const strict = policy(shop, { selector: {}, mtls: { mode: 'STRICT' } }, 'PeerAuthentication')
      const { namespace = '' } = where === 'the root' ? meshConfig : shop
      const made = await shop.make({ ...strict, metadata: { name: `odd-${shop.namespace}`, namespace } })
      restore = () => shop.drop({ ...made, apiVersion: 'security.istio.io/v1', kind: 'PeerAuthentication' })
      const outside = { to: `${shop.namespace}/db`, port: '9113', address: '203.0.113.1', via: 'pod' }
      const isAttached = ({ policies, workloads }: ZtunnelView) =>
        policies?.some(({ name }) => name === STATIC) &&
        workloads
          ?.filter((one) => one.namespace === shop.namespace && one.workloadName === 'db')
          .map(({ authorizationPolicies = [] }) => authorizationPolicies.some((name) => name.endsWith(`/${STATIC}`)))
      const attached = await until('istiod knows the pods and the policy', async () => {
        const found = isAttached(await ztunnelView())
        return found && found.length > 0 && found
      })
      expect(attached).toEqual(attached.map(() => isClosed))
      expect(await explain(shop, outside)).toMatchObject({ allowed: !isClosed, decided: true })
    },
    SLOW,
  )
})

/** The name of the policy that istiod attaches to pods which take no plaintext. */
const STATIC = 'istio_converted_static_strict'

const WAYPOINT: Pick<KubernetesObject, 'apiVersion' | 'kind' | 'spec'> = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  spec: { gatewayClassName: 'istio-waypoint', listeners: [{ name: 'mesh', port: 15_008, protocol: 'HBONE' }] },
}

/** The Service `db` behind a waypoint. */
const behindWaypoint = async (shop: Cluster): Promise<void> => {
  const { namespace } = shop
  const labels = { 'istio.io/waypoint-for': 'service' }
  const gateway = await shop.make({ ...WAYPOINT, metadata: { name: 'w', namespace, labels } })
  if (noCluster) await shop.report(gateway, { addresses: [{ type: 'IPAddress', value: '10.9.9.9' }] })
  await until('the waypoint serves', () => isServing(shop), 30_000)
  const exposed = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'db', namespace } }
  await shop.merge(exposed, { metadata: { labels: { 'istio.io/use-waypoint': 'w' } } }, 'test')
}

/** Where the config of an istiod without a revision is. */
const meshConfig = { namespace: 'istio-system', name: 'istio' }

/** Gives the trust domain of the mesh another name, until the test ends. */
const renamed = async (shop: Cluster): Promise<void> => {
  const { namespace = '', name = '' } = meshConfig
  const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace } }
  if (noCluster) {
    await shop.make({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    await shop.make({ ...config, data: { mesh: '' } })
  }
  const before = await shop.read(config)
  const mesh = String((before.data as { mesh?: string }).mesh ?? '')
  if (mesh.includes('trustDomainAliases')) throw new Error('the mesh of this cluster has aliases of its own')
  await shop.merge(
    config,
    { data: { mesh: `${mesh.trimEnd()}\ntrustDomainAliases: [old.example]\n`.trimStart() } },
    'test',
  )
  restore = () => shop.merge(config, { data: { mesh } }, 'test')
}

const from = (source: object) => ({ from: [{ source }] })
const source = (...trustDomains: string[]) => from({ trustDomains })
const OF_SERVICE = { targetRefs: [{ group: '', kind: 'Service', name: 'db' }] }

/** Policies of a waypoint that say a trust domain, and whether a client of cluster.local gets through, which has the alias old.example. */
const byDomain: [string, Record<string, unknown>, boolean][] = [
  ['an ALLOW of the trust domain', { ...OF_SERVICE, action: 'ALLOW', rules: [source('cluster.local')] }, true],
  ['an ALLOW of the alias', { ...OF_SERVICE, action: 'ALLOW', rules: [source('old.example')] }, true],
  ['an ALLOW of another one', { ...OF_SERVICE, action: 'ALLOW', rules: [source('else.example')] }, false],
  ['a DENY of the alias', deny(OF_SERVICE, source('old.example')), false],
  ['a DENY of all but the alias', deny(OF_SERVICE, from({ notTrustDomains: ['old.example'] })), true],
  ['a DENY of all but another one', deny(OF_SERVICE, from({ notTrustDomains: ['else.example'] })), false],
  [
    'a DENY of the alias by a condition',
    deny(OF_SERVICE, { when: [{ key: 'source.trustDomain', values: ['old.example'] }] }),
    false,
  ],
  [
    'a DENY of a principal of the alias',
    deny(OF_SERVICE, from({ principals: ['old.example/ns/NAMESPACE/sa/web'] })),
    false,
  ],
]

const within = (spec: Record<string, unknown>, { namespace }: Cluster): Record<string, unknown> =>
  JSON.parse(JSON.stringify(spec).replaceAll('NAMESPACE', namespace))

const REQUEST = { method: 'GET', path: '/a' }

describe.skipIf(noIstiodThere)(`an explanation of a policy of a waypoint ${noIstiodThere ?? ''}`, () => {
  test.each(byDomain)(
    'an explanation of a policy of a waypoint knows the aliases of a trust domain, of %s',
    async (_, spec, isLetIn) => {
      const shop = await opened()
      await renamed(shop)
      await behindWaypoint(shop)
      await shop.make(policy(shop, within(spec, shop)))
      expect(await answer(shop, REQUEST)).toEqual({ allowed: isLetIn })
    },
    SLOW,
  )
})

describe.skipIf(noDebug)(`the waypoint of a real istiod ${noDebug ?? ''}`, () => {
  test.each(byDomain)(
    'the waypoint of a real istiod decides as an explanation does, of %s',
    async (_, spec, isLetIn) => {
      const shop = await opened()
      await renamed(shop)
      await behindWaypoint(shop)
      await shop.make(policy(shop, within(spec, shop)))
      const { namespace } = shop
      const request = { port: 9113, client: `spiffe://cluster.local/ns/${namespace}/sa/web`, ...REQUEST }
      // a change of the mesh is pushed some time after it
      await until(
        `the waypoint lets ${isLetIn ? 'it' : 'nothing'} through`,
        async () => {
          const view = await waypointView(shop)
          const isTold = JSON.stringify(view).includes('envoy.filters.http.rbac')
          return isTold && waypointAllows(view, `db.${namespace}.svc.cluster.local`, request) === isLetIn
        },
        30_000,
      )
    },
    SLOW,
  )
})
