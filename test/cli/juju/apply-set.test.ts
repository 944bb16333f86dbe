import { describe, expect, test } from 'vitest'
import { applySetId, MANAGER, PARENT } from '../../../src/cli/juju/apply-set.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { FORBIDDEN, NAMESPACE } from '../../helpers/world.ts'
import { type Followed, followed } from './followed.ts'
import { app, appOf, createStandIn, emptyModel, type StandInModel, statusWith } from './stand-in.ts'

const bookinfo = (): StandInModel => ({
  ...emptyModel('b00'),
  applications: { details: app('details'), productpage: app('productpage'), reviews: app('reviews') },
  relations: [
    {
      id: 1,
      provider: { application: 'details', endpoint: 'website', data: { password: 'secret' } },
      requirer: { application: 'productpage', endpoint: 'backend' },
      interface: 'http',
    },
    {
      id: 2,
      provider: { application: 'reviews', endpoint: 'website' },
      requirer: { application: 'productpage', endpoint: 'backend' },
      interface: 'http',
    },
  ],
})

const start = (version = '3.6.4') => {
  const model = bookinfo()
  const juju = createStandIn({ [NAMESPACE]: model }, { version })
  return { model, juju, one: followed(juju, ['details', 'productpage', 'reviews']) }
}

const PART_OF = 'applyset.kubernetes.io/part-of'

const configMap = (name: string, more: Partial<KubernetesObject['metadata']> = {}): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: NAMESPACE, ...more },
  data: { note: 'mine' },
})

const make = (one: Followed, object: KubernetesObject): void =>
  one.world.api.seed([object], { manager: 'kubectl-create' })

const remoteOf = (one: Followed, id: number): unknown =>
  JSON.parse(String(one.world.object('ConfigMap', `juju-relation-${id}`)?.data?.remote))

const nameOf = ({ metadata }: KubernetesObject): string => metadata.name

describe('the set of documents', () => {
  test('its id is the hash of its parent, in the form of KEP-3659', () => {
    // printf '%s' 'meshstep-juju.shop.ConfigMap.' | openssl dgst -sha256 -binary | openssl base64 | tr '+/' '-_' | tr -d '='
    expect(applySetId('shop')).toBe('applyset-ylTPyAKLPMxyGp6p2bzW4g98KEaLvrwqu-JXWgLMyFM-v1')
  })

  test('its parent has the labels and annotations of KEP-3659, and its members name it', async () => {
    const { one } = start()
    await one.round()
    expect(one.world.object('ConfigMap', PARENT)?.metadata).toMatchObject({
      labels: { 'applyset.kubernetes.io/id': applySetId(NAMESPACE) },
      annotations: {
        'applyset.kubernetes.io/tooling': expect.stringMatching(/^meshstep\/v\d+\.\d+\.\d+/),
        'applyset.kubernetes.io/contains-group-kinds': 'ConfigMap',
      },
    })
    expect(one.documents().map(({ metadata }) => metadata.labels?.[PART_OF])).toEqual([
      applySetId(NAMESPACE),
      applySetId(NAMESPACE),
    ])
    expect(one.documents().map(({ metadata }) => metadata.managedFields?.map(({ manager }) => manager))).toEqual([
      [MANAGER],
      [MANAGER],
    ])
  })

  test('a document of somebody else with the same name is a conflict, and nothing of it is overwritten', async () => {
    const { one } = start()
    make(one, configMap('juju-relation-1'))
    const { failures, writes } = await one.round()
    expect(failures).toEqual([
      `ConfigMap shop/juju-relation-1 belongs to kubectl-create, and is left as it is: delete it, or hand it over with kubectl label configmap -n shop juju-relation-1 ${PART_OF}=${applySetId(NAMESPACE)}`,
    ])
    expect(writes).toContainEqual({ document: 'ConfigMap shop/juju-relation-2', change: 'created' })
    expect(one.world.object('ConfigMap', 'juju-relation-1')?.data).toEqual({ note: 'mine' })
  })

  test('a document that the API server refuses does not keep the others from being written, nor from being pruned', async () => {
    const { model, one } = start()
    await one.round()
    one.intercept = ({ method, path }) =>
      method !== 'GET' && path.includes('juju-relation-1?') ? FORBIDDEN : undefined
    const [first] = model.relations
    if (first) first.interface = 'other'
    model.relations.pop()
    const { failures, writes } = await one.round()
    expect(failures).toEqual([expect.stringContaining('APPLY ConfigMap shop/juju-relation-1: 403')])
    expect(writes).toContainEqual({ document: 'ConfigMap shop/juju-relation-2', change: 'removed' })
  })

  test('a document that is handed over by the label of the set is taken', async () => {
    const { one } = start()
    make(one, configMap('juju-relation-1', { labels: { [PART_OF]: applySetId(NAMESPACE) } }))
    expect((await one.round()).failures).toEqual([])
    expect(one.world.object('ConfigMap', 'juju-relation-1')?.data?.application).toBe('details')
  })

  test('a parent of somebody else is left as it is, and nothing is written', async () => {
    const { one } = start()
    make(one, configMap(PARENT))
    await expect(one.round()).rejects.toThrow(`ConfigMap shop/${PARENT} belongs to`)
    expect(one.documents()).toEqual([])
  })

  test('another model of the same name changes nothing, until somebody deletes the parent', async () => {
    const { model, juju, one } = start()
    await one.round()
    juju.models[NAMESPACE] = { ...emptyModel('b01') }
    await expect(one.round()).rejects.toThrow(
      'the documents of namespace shop follow the model b00, and mk8scloud:admin/shop is another one, b01: nothing is changed',
    )
    expect(one.documents().map(nameOf)).toEqual(['juju-relation-1', 'juju-relation-2'])
    juju.models[NAMESPACE] = model
    expect((await one.round()).writes).toEqual([])
    juju.models[NAMESPACE] = { ...emptyModel('b01') }
    await one.kubernetes.remove(configMap(PARENT))
    const { ended } = await one.round()
    expect([one.documents(), ended]).toEqual([[], ['details', 'reviews']])
  })

  test('a document that lost the label of the set is a member still: it is mended, and pruned', async () => {
    const { model, one } = start()
    await one.round()
    const loosen = (id: number) =>
      one.world.api.handle({
        ...{ method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' } },
        path: `/api/v1/namespaces/${NAMESPACE}/configmaps/juju-relation-${id}`,
        body: JSON.stringify({ metadata: { labels: { [PART_OF]: null } } }),
      })
    loosen(1)
    expect((await one.round()).writes).toEqual([{ document: 'ConfigMap shop/juju-relation-1', change: 'changed' }])
    loosen(2)
    model.relations.pop()
    expect((await one.round()).writes).toEqual([{ document: 'ConfigMap shop/juju-relation-2', change: 'removed' }])
  })

  test('what others made is not pruned, not even a copy with the label of the set', async () => {
    const { model, one } = start()
    await one.round()
    make(one, configMap('theirs'))
    make(one, configMap('copy', { labels: { [PART_OF]: applySetId(NAMESPACE), 'meshstep.dev/kind': 'relation' } }))
    model.relations = []
    await one.round()
    expect(one.documents().map(nameOf)).toEqual(['copy'])
    expect(one.world.object('ConfigMap', 'theirs')?.data).toEqual({ note: 'mine' })
  })

  test('a document that somebody has changed is as the model says again, and one that was deleted is there again', async () => {
    const { one } = start()
    await one.round()
    const path = `/api/v1/namespaces/${NAMESPACE}/configmaps/juju-relation-`
    one.world.api.handle({
      ...{ method: 'PATCH', path: `${path}1`, headers: { 'content-type': 'application/merge-patch+json' } },
      body: JSON.stringify({ data: { application: 'reviews' } }),
    })
    one.world.api.handle({ method: 'DELETE', path: `${path}2`, headers: {} })
    const { writes } = await one.round()
    expect(writes).toEqual([
      { document: 'ConfigMap shop/juju-relation-1', change: 'changed' },
      { document: 'ConfigMap shop/juju-relation-2', change: 'created' },
    ])
    expect(one.world.object('ConfigMap', 'juju-relation-1')?.data?.application).toBe('details')
  })

  test('a model without a namespace in the cluster says so', async () => {
    const juju = createStandIn({ elsewhere: bookinfo() })
    const one = followed(juju, [], { name: 'elsewhere' })
    await expect(one.round()).rejects.toThrow('there is no namespace elsewhere in this cluster')
  })

  test('a model of machines is refused, and nothing is pruned', async () => {
    const { model, one } = start()
    await one.round()
    model.type = 'iaas'
    await expect(one.round()).rejects.toThrow('its applications run on machines')
    expect(one.documents()).toHaveLength(2)
  })
})

describe.each(['3.6.4', '4.0.5', '4.0.8'])('the data of a peer, with Juju %s', (version) => {
  test('the data of a peer are in a document where meshstep reads them, without addresses', async () => {
    const { model, one } = start(version)
    appOf(model, 'reviews').units = [0, 1]
    model.relations.push({
      id: 3,
      provider: { application: 'details', endpoint: 'tracing', data: { of: 'details' } },
      requirer: {
        ...{ application: 'reviews', endpoint: 'tracing', data: { of: 'reviews' } },
        units: { 'reviews/0': { host: 'zero' }, 'reviews/1': { host: 'one' } },
      },
      interface: 'tracing',
    })
    await one.round()
    expect(remoteOf(one, 3)).toEqual({
      ...{ application: 'reviews', endpoint: 'tracing', data: { of: 'reviews' } },
      units: { 'reviews/0': { host: 'zero' }, 'reviews/1': { host: 'one' } },
    })
  })

  test('the data of a peer of another interface stay in Juju', async () => {
    const { one } = start(version)
    await one.round()
    expect(remoteOf(one, 1)).toEqual({ application: 'productpage', endpoint: 'backend', data: {} })
    expect(JSON.stringify(one.documents())).not.toContain('secret')
  })

  test('the data of a peer stay as they are while no unit shows them', async () => {
    const { model, one } = start(version)
    model.relations.push({
      id: 3,
      provider: { application: 'details', endpoint: 'tracing' },
      requirer: { application: 'reviews', endpoint: 'tracing', data: { of: 'reviews' } },
      interface: 'tracing',
    })
    await one.round()
    appOf(model, 'details').units = []
    expect((await one.round()).writes).toEqual([])
    expect(remoteOf(one, 3)).toMatchObject({ data: { of: 'reviews' } })
  })
})

describe('a model that changes while it is read', () => {
  test('a unit that goes meanwhile is left out the next time, at once', async () => {
    const { model, juju, one } = start()
    await one.round()
    const gone = { code: 1, stdout: '', stderr: 'ERROR unit "reviews/0" not found\n' }
    Object.defineProperty(juju.instead, 'show-unit', {
      configurable: true,
      get: () => {
        delete juju.instead['show-unit']
        appOf(model, 'reviews').units = [1]
        return gone
      },
    })
    expect(await one.round()).toMatchObject({ failures: [], writes: [] })
  })

  test('units that Juju leaves out of its answer are an error', async () => {
    const { juju, one } = start()
    juju.instead['show-unit'] = { code: 0, stdout: '{"details/0":{}}', stderr: '' }
    await expect(one.round()).rejects.toThrow('juju show-unit: productpage/0, reviews/0 are not in its answer')
  })

  test('a relation that no unit has joined keeps no document of another endpoint', async () => {
    const { model, one } = start()
    await one.round()
    for (const name of ['details', 'reviews']) appOf(model, name).units = []
    model.relations = [
      {
        id: 9,
        provider: { application: 'details', endpoint: 'other' },
        requirer: { application: 'reviews', endpoint: 'other' },
        interface: 'http',
      },
    ]
    await one.round()
    expect(one.documents()).toEqual([])
  })

  test('a relation that no unit has joined keeps no document of another relation of its endpoint', async () => {
    const { model, one } = start()
    await one.round()
    for (const name of ['productpage', 'reviews']) appOf(model, name).units = []
    model.relations = model.relations.filter(({ id }) => id === 2)
    await one.round()
    expect(one.documents().map(nameOf)).toEqual(['juju-relation-2'])
  })

  test('the model of a controller is in a namespace that is named after it', async () => {
    const juju = createStandIn({ controller: bookinfo() })
    const one = followed(juju, [], { name: 'controller' })
    await expect(one.round()).rejects.toThrow('there is no namespace controller-mk8scloud in this cluster')
  })
})

describe('the end of an application', () => {
  test('an end that cannot be told is told by the next round', async () => {
    const { model, one } = start()
    await one.round()
    delete model.applications.reviews
    model.relations.pop()
    one.refuse = () => 'http://localhost:8080 does not answer'
    const failed = await one.round()
    expect(failed.ended).toEqual([])
    expect(failed.failures).toEqual([
      'shop/reviews is gone from the model, and its end is not told: http://localhost:8080 does not answer',
    ])
    expect(one.documents().map(nameOf)).toEqual(['juju-relation-1'])
    one.refuse = () => undefined
    expect((await one.round()).ended).toEqual(['reviews'])
    expect((await one.round()).ended).toEqual([])
  })

  test('an end that was told is not told again because another one could not be', async () => {
    const { model, one } = start()
    await one.round()
    model.applications = { productpage: appOf(model, 'productpage') }
    model.relations = []
    one.refuse = (application) => (application === 'details' ? 'away' : undefined)
    expect((await one.round()).ended).toEqual(['reviews'])
    one.refuse = () => undefined
    expect((await one.round()).ended).toEqual(['details'])
  })

  test('an application that Juju cannot read has not ended', async () => {
    const { model, juju, one } = start()
    await one.round()
    const status = { 'status-error': 'not found' }
    juju.instead.status = statusWith(NAMESPACE, { details: status, productpage: {}, reviews: {} })
    juju.instead['show-unit'] = undefined
    model.relations = []
    const { ended, unknown } = await one.round()
    expect(ended).toEqual([])
    expect(unknown).toEqual(['shop/details: Juju says not found'])
    expect(one.documents().map(nameOf)).toEqual(['juju-relation-1'])
  })

  test('the relations of an application that Juju cannot read stand, and are taken for none to another model', async () => {
    const { juju, one } = start()
    await one.round()
    juju.instead.status = statusWith(NAMESPACE, {
      details: { 'status-error': 'not found' },
      productpage: { units: { 'productpage/0': { leader: true } } },
      reviews: { units: { 'reviews/0': { leader: true } } },
    })
    const { unknown, writes } = await one.round()
    expect([unknown, writes]).toEqual([['shop/details: Juju says not found'], []])
  })

  test('names in the parent that no application can have are dropped', async () => {
    const { one } = start()
    await one.round()
    one.world.api.handle({
      ...{ method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' } },
      path: `/api/v1/namespaces/${NAMESPACE}/configmaps/${PARENT}`,
      body: JSON.stringify({ data: { applications: '["details","productpage","reviews","../x",7]' } }),
    })
    one.refuse = (application) => `${application} is no application`
    expect((await one.round()).failures).toEqual([])
    expect(JSON.parse(String(one.world.object('ConfigMap', PARENT)?.data?.applications))).not.toContain('../x')
  })

  test('the end takes the config that events gave, so that nothing of it is left', async () => {
    const { model, one } = start()
    await one.world.send('config-changed', { application: 'reviews', config: { labels: { tier: 'gold' } } })
    await one.round()
    expect(one.world.labels('reviews').template.tier).toBe('gold')
    delete model.applications.reviews
    model.relations.pop()
    await one.round()
    expect(one.world.labels('reviews').template.tier).toBeUndefined()
    expect(one.world.memory('reviews')?.state.config).toBeUndefined()
  })
})

describe('two runs at once', () => {
  const HISTORIES: readonly (readonly [string, (model: StandInModel) => void])[] = [
    ['when nothing is written yet', () => undefined],
    [
      'when a relation is of another application, and one is gone',
      (model) => {
        const [first] = model.relations
        model.relations = first ? [{ ...first, provider: { ...first.provider, application: 'reviews' } }] : []
      },
    ],
    [
      'when an application is gone',
      (model) => {
        delete model.applications.reviews
        model.relations.pop()
      },
    ],
  ]

  /** A run before whose write of that number another one is begun and ended. Undefined if it has fewer writes. */
  const raced = async (change: (model: StandInModel) => void, isFirst: boolean, write: number) => {
    const { model, one } = start()
    if (!isFirst) await one.round()
    change(model)
    const others: unknown[] = []
    let left = write
    one.intercept = async ({ method }) => {
      if (method !== 'GET' && left-- === 0) {
        one.intercept = undefined
        others.push(...(await one.round()).failures)
      }
      return undefined
    }
    const { failures } = await one.round()
    return {
      isReached: left < 0,
      failures: [...others, ...failures],
      documents: one.documents().map(({ data }) => data),
    }
  }

  test.each(HISTORIES)('two runs at once end as one does, and blame nobody, %s', async (name, change) => {
    const isFirst = name === 'when nothing is written yet'
    const alone = await raced(change, isFirst, Number.POSITIVE_INFINITY)
    for (let write = 0; ; write += 1) {
      const { isReached, ...both } = await raced(change, isFirst, write)
      if (!isReached) return expect(write).toBeGreaterThan(1)
      expect(both).toEqual({ failures: [], documents: alone.documents })
    }
  })

  test('a run that always loses says who else may write', async () => {
    const { one } = start()
    await one.round()
    one.intercept = async ({ method, path }) =>
      method === 'PATCH' && path.includes('relation')
        ? {
            status: 409,
            headers: {},
            body: JSON.stringify({ kind: 'Status', message: 'the object has been modified' }),
          }
        : undefined
    one.world.api.handle({
      ...{ method: 'PATCH', path: `/api/v1/namespaces/${NAMESPACE}/configmaps/juju-relation-1` },
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ data: { remote: '{}' } }),
    })
    expect((await one.round()).failures).toEqual([expect.stringMatching(/Others keep writing it; it is tried again$/)])
  })
})
