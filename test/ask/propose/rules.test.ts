import { describe, expect, test } from 'vitest'
import type { Classified } from '../../../src/ask/traffic/classify.ts'
import { istioConfig } from '../../../src/embedded/demo/example.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { related, requires } from '../../helpers/beacon-world.ts'
import { event, service, workload } from '../../helpers/world.ts'
import * as planned from '../preview/planned.ts'
import { applyDocuments, enrol, explain, proposeIn } from './place.ts'

type Place = planned.Place

/** Applications in `shop`, which is on the mesh. */
const createPlace = (applications: readonly string[]): Place => {
  const place = planned.createPlace(applications)
  place.api.seed([istioConfig])
  enrol(place)
  return place
}

const flow = (of: Partial<Classified> = {}): Classified => ({
  ...{ from: 'shop/web', to: 'shop/db', protocol: 'http', requests: 12, refused: 0 },
  ...{ relations: [], access: 'open', class: 'used without a relation' },
  ...of,
})

/** What was said of `shop/db` and its clients. */
const listed = async (place: Place, ...flows: Classified[]) =>
  (await proposeIn(place, flows)).listed
    .filter(({ to, from }) => to === 'shop/db' || from !== undefined)
    .map(({ kind, sentence }) => `${kind}: ${sentence}`)

const configOf = (documents: readonly { document: KubernetesObject }[], application: string): unknown =>
  documents
    .filter(
      ({ document: { metadata, data } }) =>
        metadata.labels?.['meshstep.dev/kind'] === 'config' && data?.application === application,
    )
    .map(({ document }) => document.data?.config)
    .join()

const remotes = (documents: readonly { document: KubernetesObject }[]): string[] =>
  documents.flatMap(({ document: { data } }) =>
    data?.remote === undefined
      ? []
      : [`${data.application} ${/endpoint: ([-\w]+)/.exec(data.relation ?? '')?.[1]} ${data.remote}`],
  )

const SEEN = '(12 HTTP requests in the last 24h, none refused)'

describe('a client is not let in, but listed,', () => {
  test.each<[string, Partial<Classified>, string]>([
    ['that no proxy knows', { from: 'unknown' }, `unknown → shop/db: no proxy knows who it is ${SEEN}`],
    [
      'that was refused each time',
      { refused: 12 },
      'shop/web → shop/db: it was refused each time (12 HTTP requests in the last 24h, 12 refused (100 %))',
    ],
    [
      'that runs as another account than the application of its name',
      { accounts: ['shop/evil', 'shop/web'] },
      `shop/web → shop/db: some of it came as the ServiceAccount shop/evil, and not as shop/web ${SEEN}`,
    ],
    ['that is refused now', { access: 'none' }, `shop/web → shop/db: what is declared refuses it now ${SEEN}`],
    [
      'of another namespace where meshstep knows nothing of it',
      { from: 'other/mon' },
      `other/mon → shop/db: it is in another namespace, and meshstep knows no application of its name there ${SEEN}`,
    ],
  ])('a client is not let in, but listed, %s', async (_, of, sentence) => {
    const place = createPlace(['db', 'web'])
    expect(await listed(place, flow(of))).toEqual([`suspicious: ${sentence}`])
    expect(remotes((await proposeIn(place, [flow(of)])).documents).filter((one) => one.startsWith('db db'))).toEqual([])
  })

  test('a client is not let in, but listed, that is outside the mesh in another namespace', async () => {
    const place = createPlace(['db', 'web'])
    place.api.seed([{ ...workload('Deployment', 'mon'), metadata: { name: 'mon', namespace: 'other' } }], {
      manager: 'juju',
    })
    await place.happen(event('config-changed', { namespace: 'other', application: 'mon', config: {} }))
    expect(await listed(place, flow({ from: 'other/mon' }))).toEqual([
      `suspicious: other/mon → shop/db: it is outside the mesh, in another namespace ${SEEN}`,
    ])
  })

  test('a client is not let in, but listed, that touches many applications with few requests each', async () => {
    const targets = ['db', 'a', 'b', 'c', 'd']
    const place = createPlace([...targets, 'web'])
    const touching = (requests: number, names = targets) => names.map((name) => flow({ to: `shop/${name}`, requests }))
    const scan = await proposeIn(place, touching(10))
    expect(scan.listed.filter(({ kind }) => kind === 'suspicious').map(({ from, to }) => `${from} ${to}`)).toEqual(
      targets.toSorted().map((name) => `shop/web shop/${name}`),
    )
    for (const flows of [
      touching(11),
      touching(10, targets.slice(1)),
      [...touching(10).slice(1), flow({ requests: 11 })],
    ])
      expect((await proposeIn(place, flows)).listed).toEqual([])
  })
})

test('an application whose clients are all kept out is not said to have none', async () => {
  const commentsOf = async (...flows: Classified[]) =>
    (await proposeIn(createPlace(['db', 'web']), flows)).documents
      .filter(({ document: { data } }) => data?.config !== undefined && data.application === 'db')
      .map(({ comments }) => comments)
  expect(await commentsOf()).toEqual([['No client of shop/db was seen in the last 24h: nobody may reach it.']])
  expect(await commentsOf(flow({ refused: 12 }))).toEqual([
    ['The clients of shop/db that were seen in the last 24h are listed at the end: nobody may reach it.'],
  ])
})

describe('an application is left as it is, and listed,', () => {
  const running = (changes: { name?: string; account?: string; labels?: Record<string, string> }) => {
    const { name = 'db', account = name, labels = { 'app.kubernetes.io/name': name } } = changes
    const object = workload('StatefulSet', name)
    const template = {
      metadata: { labels },
      spec: { serviceAccountName: account, containers: [{ name: 'c', image: 'x:1' }] },
    }
    return { ...object, spec: { ...object.spec, selector: { matchLabels: labels }, template } }
  }
  const placeOf = (...objects: KubernetesObject[]): Place => {
    const place = createPlace([])
    place.api.seed(objects, { manager: 'juju' })
    return place
  }
  const WEB = running({ name: 'web' })

  test.each<[string, KubernetesObject[], Partial<Classified>, string]>([
    [
      'that is not on the mesh',
      [WEB, running({ labels: { 'app.kubernetes.io/name': 'db', 'istio.io/dataplane-mode': 'none' } })],
      {},
      'its pods are not all on the mesh, so no proxy counts all that they are sent',
    ],
    ['that does not run', [WEB], {}, 'it is neither a StatefulSet nor a Deployment'],
    [
      'whose pods no policy selects',
      [WEB, running({ labels: { app: 'db' } })],
      {},
      'its pods do not have the label app.kubernetes.io/name: db, by which policies select them',
    ],
    [
      'with a client that is no workload',
      [WEB, running({})],
      { from: 'shop/job' },
      'its client shop/job cannot be named: it is neither a StatefulSet nor a Deployment',
    ],
    [
      'with a client that only its account names',
      [WEB, running({})],
      { from: 'shop/sa/job' },
      'its client shop/sa/job cannot be named: it is neither a StatefulSet nor a Deployment',
    ],
    [
      'with a client that runs as the account of another',
      [running({ name: 'web', account: 'default' }), running({ account: 'default' })],
      {},
      'its client shop/web cannot be named: it runs as the ServiceAccount default, as db does',
    ],
    [
      'with a client that has a sidecar',
      [
        {
          ...WEB,
          spec: {
            ...WEB.spec,
            template: {
              ...WEB.spec.template,
              metadata: { labels: { 'app.kubernetes.io/name': 'web', 'sidecar.istio.io/inject': 'true' } },
            },
          },
        },
        running({}),
      ],
      {},
      'its client shop/web cannot be named: it has a sidecar, or may have one',
    ],
  ])('an application is left as it is, and listed, %s', async (_, objects, of, sentence) => {
    const place = placeOf(...objects)
    expect(await listed(place, flow(of))).toEqual([`left: shop/db: ${sentence}`])
    expect(configOf((await proposeIn(place, [flow(of)])).documents, 'db')).toBe('')
  })

  test('an application is left as it is, and listed, whose config deploys its workload', async () => {
    const place = createPlace(['web'])
    const podSpec = { containers: [{ name: 'db', image: 'db:1', ports: [{ containerPort: 80 }] }] }
    await place.happen(event('config-changed', { application: 'db', config: { workload: { podSpec } } }))
    expect(await listed(place, flow())).toEqual([
      'left: shop/db: its config deploys its workload: add the policies there, as no other document may take its place',
    ])
  })

  test('an application is left as it is, and listed, with a client that would be closed if it joined the mesh', async () => {
    const place = planned.createPlace(['web'])
    place.api.seed(
      [running({ labels: { 'app.kubernetes.io/name': 'db', 'istio.io/dataplane-mode': 'ambient' } }), service('db')],
      { manager: 'juju' },
    )
    await place.happen(
      event('config-changed', {
        application: 'web',
        config: { policies: [{ type: 'app', relation: 'use', endpoints: [] }] },
      }),
    )
    expect(await listed(place, flow())).toEqual([
      'left: shop/db: its client shop/web would have to join the mesh, and refuse its own clients there',
    ])
    expect((await proposeIn(place, [flow()])).documents).toEqual([])
  })

  test('an application is left as it is, and listed, whose declared client its policy could not know if it joined', async () => {
    const place = placeOf(WEB, running({ name: 'twin', account: 'web' }), running({}), service('db'))
    const policies = [{ type: 'app', relation: 'use', endpoints: [{ ports: [80] }] }]
    await place.happen(event('config-changed', { application: 'db', config: { policies } }))
    await place.happen(event('relation-changed', related(3, 'use', { application: 'web' }, { application: 'db' })))
    expect(await listed(place, flow())).toEqual([
      'left: shop/db: its client shop/web cannot be named: it runs as the ServiceAccount web, as twin does',
    ])
  })

  test('a client with an account of its own is named in the config of the beacon', async () => {
    const place = placeOf(running({ name: 'web', account: 'runner' }), running({}), service('db'))
    const { documents, listed: nobody } = await proposeIn(place, [flow()])
    expect(nobody.map(({ to }) => to)).toEqual([])
    expect(configOf(documents, 'beacon')).toBe('mesh: {}\nserviceAccounts:\n  shop/web: runner\n')
  })
})

describe('what is there is respected:', () => {
  const RELATED = [
    ['config-changed', { application: 'beacon', config: { mesh: {} } }],
    ['relation-changed', requires(1, { application: 'db' })],
    ['relation-changed', requires(2, { application: 'web' })],
    ['relation-changed', related(3, 'use', { application: 'web' }, { application: 'db' })],
  ] as const
  const withRelation = async (config?: object): Promise<Place> => {
    const place = createPlace(['db', 'web', 'api'])
    if (config) await place.happen(event('config-changed', { application: 'db', config }))
    for (const [type, data] of RELATED) await place.happen(event(type, data))
    return place
  }

  test('what is there is respected: the endpoint of a relation with the client is named by the policy', async () => {
    const { documents } = await proposeIn(await withRelation(), [flow()], { applications: ['db'] })
    expect(documents).toHaveLength(1)
    expect(configOf(documents, 'db')).toContain('relation: use\n')
  })

  test('what is there is respected: an endpoint that lets in somebody else is not named', async () => {
    const { documents } = await proposeIn(await withRelation(), [flow({ from: 'shop/api' })], { applications: ['db'] })
    expect(configOf(documents, 'db')).toContain('relation: db\n')
    expect(remotes(documents)).toContain('db db { application: api, data: {} }')
  })

  test('what is there is respected: nothing is proposed where policies account for all that was seen', async () => {
    const declared = { policies: [{ type: 'app', relation: 'use', endpoints: [] }] }
    const place = await withRelation(declared)
    expect(await proposeIn(place, [flow({ access: 'allowed' })], { applications: ['db'] })).toMatchObject({
      documents: [],
      listed: [],
    })
  })

  test('what is there is respected: a config keeps what it has, under the name of its document', async () => {
    const place = await withRelation({ settings: { level: 'info' }, enrolment: 'in-place' })
    const { documents } = await proposeIn(place, [flow()], { applications: ['db'] })
    const [{ comments, document } = { comments: [], document: undefined }] = documents
    expect(document?.metadata.name).toBe('config-db')
    expect(document?.data?.config).toMatch(/^enrolment: in-place\nsettings:\n {2}level: info\npolicies:\n/)
    expect(comments.at(-1)).toContain('events told')
  })

  test('what is there is respected: a config that a document has stays in that document', async () => {
    const place = await withRelation()
    const own = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'of-db', namespace: 'shop', labels: { 'meshstep.dev/kind': 'config' } },
    }
    const document = { ...own, data: { application: 'db', config: 'enrolment: in-place' } }
    await applyDocuments(place, { documents: [{ comments: [], document }] })
    const { documents } = await proposeIn(place, [flow()], { applications: ['db'] })
    expect(documents.map((one) => one.document.metadata.name)).toEqual(['of-db'])
    expect(documents[0]?.comments.at(-1)).toBe('It has the config of the ConfigMap of-db, and adds policies.')
  })

  test('what is there is respected: ids and names that are used are not used again', async () => {
    const place = await withRelation()
    const taken = ['relation-4', 'config-db'].map((name) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'shop' },
    }))
    place.api.seed(taken, { manager: 'somebody' })
    const { documents } = await proposeIn(place, [flow({ from: 'shop/api' })], { applications: ['db'] })
    expect(documents.map(({ document }) => document.metadata.name)).toEqual(['relation-4-2', 'config-db-2'])
    expect(documents[0]?.document.data?.relation).toContain('id: 4,')
  })

  test.each([
    ['the application', { policies: 'related' }, {}],
    ['its beacon', {}, { policies: 'related' }],
  ])(
    'what is there is respected: a relation is enough, where %s says that policies follow from relations',
    async (_, config, mesh) => {
      const place = await withRelation(config)
      await place.happen(event('config-changed', { application: 'beacon', config: { mesh } }))
      const flows = [flow(), flow({ from: 'shop/api' })]
      const { documents } = await proposeIn(place, flows, { applications: ['db'] })
      expect(remotes(documents)).toEqual(['db db { application: api, data: {} }'])
      expect(documents).toHaveLength(1)
      expect(await listed(place, flow({ ways: ['pod'] }))).toEqual([
        'left: shop/db: its client shop/web cannot be named: policies: related has no relation for the way that it goes, or may go',
      ])
    },
  )

  test('what is there is respected: what is declared takes no effect while it would refuse a client that runs as another account', async () => {
    const place = createPlace(['db'])
    place.api.seed(
      ['web', 'api'].map((name) => {
        const object = JSON.parse(JSON.stringify(workload('StatefulSet', name)).replaceAll('"web"', `"${name}"`))
        return JSON.parse(
          JSON.stringify(object).replace(`"serviceAccountName":"${name}"`, '"serviceAccountName":"runner"'),
        )
      }),
      { manager: 'juju' },
    )
    const policies = [{ type: 'app', relation: 'use', endpoints: [] }]
    await place.happen(event('config-changed', { application: 'db', config: { policies } }))
    await place.happen(event('relation-changed', related(3, 'use', { application: 'web' }, { application: 'db' })))
    expect(await listed(place, flow())).toEqual([
      'left: shop/db: its client shop/web cannot be named: it runs as the ServiceAccount runner, as api does',
    ])
  })

  test('what is there is respected: a client that is declared and comes another way gets what it lacks', async () => {
    const place = createPlace(['db', 'web'])
    await place.happen(
      event('config-changed', {
        application: 'db',
        config: { policies: [{ type: 'app', relation: 'use', endpoints: [{ paths: ['/a'] }] }] },
      }),
    )
    await place.happen(event('relation-changed', related(3, 'use', { application: 'web' }, { application: 'db' })))
    const { documents } = await proposeIn(place, [flow({ ways: ['service', 'pod'] })], { applications: ['db'] })
    expect(configOf(documents, 'db')).toMatch(/- \/a\n {2}- type: unit\n {4}relation: db\n$/)
  })
})

describe('what is proposed takes effect:', () => {
  const OTHER = { 'app.kubernetes.io/name': 'mon', 'istio.io/dataplane-mode': 'ambient' }
  const mon = (): KubernetesObject[] => {
    const object = JSON.parse(JSON.stringify(workload('Deployment', 'mon')).replaceAll('"web"', '"mon"'))
    const template = { ...(object.spec?.template as object), metadata: { labels: OTHER } }
    return [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } },
      { ...object, metadata: { name: 'mon', namespace: 'other' }, spec: { ...object.spec, template } },
    ]
  }
  const asked = { to: 'shop/db', port: 80, via: 'service' } as const

  test('what is proposed takes effect: a client of another namespace names itself there', async () => {
    const place = createPlace(['db', 'web'])
    place.api.seed(mon(), { manager: 'juju' })
    await place.happen(event('config-changed', { namespace: 'other', application: 'mon', config: {} }))
    const proposed = await proposeIn(place, [flow({ from: 'other/mon' })])
    expect([proposed.listed, remotes(proposed.documents)]).toEqual([
      [],
      [
        'db db { application: mon, namespace: other, data: {} }',
        'mon require-cmr-mesh { application: db, namespace: shop, data: {} }',
        'db provide-cmr-mesh { application: mon, namespace: other, data: {} }',
        'db service-mesh { application: beacon, data: {} }',
        'web service-mesh { application: beacon, data: {} }',
      ],
    ])
    await applyDocuments(place, proposed)
    expect(await explain(place, { from: 'other/mon', ...asked })).toBe('allowed')
    expect(await explain(place, { from: 'shop/web', ...asked })).toBe('denied')
    expect(await proposeIn(place, [flow({ from: 'other/mon', access: 'allowed' })])).toMatchObject({ documents: [] })
  })

  test('what is proposed takes effect: a beacon of another namespace is told of who joins', async () => {
    const place = createPlace(['db', 'web'])
    place.api.seed(mon(), { manager: 'juju' })
    const beacon = { namespace: 'other', application: 'beacon' }
    await place.happen(event('config-changed', { ...beacon, config: { mesh: {} } }))
    await place.happen(event('relation-changed', requires(1, { application: 'web' }, beacon)))
    const told = { ...requires(1, { application: 'web' }), ...beacon }
    const relation = { id: 1, endpoint: 'mesh', interface: 'service_mesh', role: 'provides' }
    const remote = { application: 'web', namespace: 'shop', data: {} }
    await place.happen(event('relation-changed', { ...told, relation, remote }))
    const proposed = await proposeIn(place, [flow()])
    expect(remotes(proposed.documents)).toEqual([
      'db db { application: web, data: {} }',
      'db service-mesh { application: beacon, namespace: other, data: {} }',
      'beacon mesh { application: db, namespace: shop, data: {} }',
    ])
    await applyDocuments(place, proposed)
    expect(await explain(place, { from: 'shop/web', ...asked })).toBe('allowed')
    expect(await explain(place, { from: 'shop/db', ...asked })).toBe('denied')
  })

  test('what is proposed takes effect: a Gateway, which passes the waypoint by, is let in at the pods', async () => {
    const place = createPlace(['db'])
    const labels = { 'app.kubernetes.io/name': 'way', 'gateway.networking.k8s.io/gateway-name': 'way' }
    const proxy = workload('Deployment', 'way')
    const spec = { serviceAccountName: 'way', containers: [{ name: 'c', image: 'x:1' }] }
    place.api.seed(
      [
        {
          ...proxy,
          spec: { ...proxy.spec, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
        },
      ],
      { manager: 'istio' },
    )
    const { documents, listed: nobody } = await proposeIn(place, [flow({ from: 'shop/way' })])
    expect([nobody, remotes(documents)]).toEqual([
      [],
      ['db db-pods { application: way, data: {} }', 'db service-mesh { application: beacon, data: {} }'],
    ])
    expect(configOf(documents, 'db')).toMatch(
      /relation: db\n(.*\n)+ {2}- type: unit\n {4}relation: db-pods\n {4}ports:\n {6}- 80\n$/,
    )
  })

  test('what is proposed takes effect: dry runs refuse nobody', async () => {
    const place = createPlace(['db', 'web'])
    await place.happen(event('config-changed', { application: 'beacon', config: { mesh: {} } }))
    const proposed = await proposeIn(place, [flow()], { isAudit: true })
    expect(configOf(proposed.documents, 'db')).toMatch(/^enforcement: audit\npolicies:\n/)
    await applyDocuments(place, proposed)
    expect(await explain(place, { from: 'shop/db', ...asked })).toBe('allowed')
  })
})
