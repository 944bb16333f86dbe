import { describe, expect, test } from 'vitest'
import { type Crossed, identityRelations } from '../../../src/cli/juju/identities.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { type Followed, followed } from './followed.ts'
import { app, createStandIn, emptyModel, type StandInModel } from './stand-in.ts'

const ALIAS = 'remote-38811d7f76ad47ac84be46b165e53828'

/** `db` is on the mesh, and the model `far` consumes its offer. */
const shop = (): StandInModel => ({
  ...emptyModel('01'),
  applications: { beacon: app('istio-beacon-k8s'), db: app('postgresql-k8s') },
  relations: [
    {
      id: 1,
      interface: 'service_mesh',
      provider: { application: 'beacon', endpoint: 'beacon' },
      requirer: { application: 'db', endpoint: 'service-mesh' },
    },
  ],
  offers: { database: { application: 'db', endpoint: 'database', interface: 'postgresql_client', role: 'provider' } },
  crossRelations: [{ id: 3, application: 'db', endpoint: 'database', alias: ALIAS, other: 'database', from: 'fa' }],
})

const far = (): StandInModel => ({
  ...emptyModel('fa'),
  applications: { orders: app('orders') },
  saas: {
    db: {
      ...{ url: 'admin/shop.database', application: '', endpoint: 'database', interface: 'postgresql_client' },
      role: 'provider',
    },
  },
  crossRelations: [{ id: 9, application: 'orders', endpoint: 'database', alias: 'db', other: 'database' }],
})

/** The names of clients that policies of `db` let in. */
const clientsOf = ({ world }: Followed): string[] => {
  const policies = world.api.objects().filter(({ kind }: KubernetesObject) => kind === 'AuthorizationPolicy')
  const identities = JSON.stringify(policies).matchAll(/ns\/([-a-z]+)\/sa\/([-a-z]+)/g)
  return [...new Set([...identities].map(([, namespace, name]) => `${namespace}/${name}`))]
    .filter((name) => name.endsWith('/orders'))
    .toSorted()
}

const namesOf = (one: Followed): string[] => one.documents().map(({ metadata }) => metadata.name)

describe.each(['3.6.4', '4.0.8'])(
  'a client of another model whose charm publishes no name, with Juju %s',
  (version) => {
    const follow = async () => {
      const juju = createStandIn({ shop: shop(), far: far() }, { version })
      const one = followed(juju, ['beacon', 'db'])
      await one.world.send('config-changed', { application: 'beacon', config: { mesh: { policies: 'related' } } })
      expect(await one.round()).toMatchObject({ unknown: [], failures: [] })
      return { juju, one }
    }

    test('is let in by the name that Juju knows, and the application waits for nothing', async () => {
      const { one } = await follow()
      expect(clientsOf(one)).toEqual(['far/orders'])
      expect(namesOf(one).toSorted()).toEqual(['juju-identity-3', 'juju-relation-1', 'juju-relation-3'])
      expect((await one.world.send('resync', { application: 'db' })).messages).toEqual([])
      expect((await one.round()).writes).toEqual([])
    })

    test('stays let in while its model cannot be read', async () => {
      const { juju, one } = await follow()
      delete juju.models.far
      const { unknown, writes } = await one.round()
      expect([unknown.length, writes, clientsOf(one)]).toEqual([1, [], ['far/orders']])
    })

    test('is let in no more when its relation ends', async () => {
      const { juju, one } = await follow()
      juju.models.shop = { ...shop(), crossRelations: [] }
      await one.round()
      expect([namesOf(one), clientsOf(one)]).toEqual([['juju-relation-1'], []])
    })
  },
)

describe('a relation that names a client of another model', () => {
  const crossed = (of: Partial<Crossed> = {}): Crossed => ({
    ...{ id: 3, application: 'db', role: 'provides', interface: 'sql', data: {} },
    identity: { namespace: 'far', application: 'orders' },
    ...of,
  })
  const naming = (data: Record<string, unknown>) => crossed({ id: 4, interface: 'cross_model_mesh', data })

  test.each<[string, readonly Crossed[], readonly number[]]>([
    ['is not made for a provider', [crossed({ role: 'requires' })], []],
    ['is not made for a relation of the mesh', [crossed({ interface: 'service_mesh' })], []],
    ['is not made where the client names itself', [crossed(), naming({ cmr_data: '{}' })], []],
    ['is made where the client would name itself, and Juju does not show it', [crossed(), naming({})], [1_000_000_003]],
    ['is made once for two relations', [crossed(), crossed({ id: 5 })], [1_000_000_003]],
    [
      'is made for each of two clients',
      [crossed(), crossed({ id: 5, identity: { namespace: 'bank', application: 'orders' } })],
      [1_000_000_003, 1_000_000_005],
    ],
  ])('a relation that names a client of another model %s', (_, all, ids) => {
    expect(identityRelations(all).map(({ relation }) => relation.id)).toEqual(ids)
  })
})
