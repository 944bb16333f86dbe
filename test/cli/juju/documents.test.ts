import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { deriveDocuments, READ_INTERFACES } from '../../../src/cli/juju/documents.ts'
import { readModels } from '../../../src/cli/juju/parse-output.ts'

type Json = Record<string, unknown>

/** What `juju status --format json` prints of an application on Kubernetes. */
const application = (name: string, relations: Json = {}, more: Json = {}): Json => ({
  charm: name,
  base: { name: 'ubuntu', channel: '22.04' },
  'charm-origin': 'local',
  'charm-name': name,
  'charm-rev': 0,
  scale: 1,
  'provider-id': '0f1e2d3c-0000-4000-8000-000000000000',
  address: '10.152.183.20',
  exposed: false,
  'application-status': { current: 'active', since: '22 Nov 2026 10:00:00Z' },
  relations,
  units: { [`${name}/0`]: { 'juju-status': { current: 'idle' }, leader: true, address: '10.1.0.7' } },
  'endpoint-bindings': { '': 'alpha' },
  ...more,
})

const related = (name: string, kind: string): Json => ({
  'related-application': name,
  interface: kind,
  scope: 'global',
})

const status = (name: string, applications: Json, more: Json = {}): Json => ({
  model: { name, type: 'caas', controller: 'microk8s', cloud: 'microk8s', version: '3.6.4', sla: 'unsupported' },
  machines: {},
  applications,
  storage: {},
  controller: { timestamp: '10:00:00Z' },
  ...more,
})

type Info = { id: number; endpoint: string; other?: string; data?: Json; units?: string[]; isCrossModel?: boolean }

/** What `juju show-unit --format json` prints. */
const unit = (name: string, ...relations: Info[]): Json => ({
  [name]: {
    'opened-ports': [],
    charm: `local:${name}`,
    leader: true,
    life: 'alive',
    'relation-info': relations.map(({ id, endpoint, other = endpoint, data = {}, units = [], isCrossModel }) => ({
      'relation-id': id,
      endpoint,
      ...(isCrossModel && { 'cross-model': true }),
      'related-endpoint': other,
      'application-data': data,
      'local-unit': { 'in-scope': true, data: { 'ingress-address': '10.1.0.7' } },
      'related-units': Object.fromEntries(
        units.map((one) => [one, { 'in-scope': true, data: { 'ingress-address': '10.1.0.8', port: '80' } }]),
      ),
    })),
    'provider-id': name.replace('/', '-'),
    address: '10.1.0.7',
  },
})

const TABLE = `Model     Controller  Cloud/Region  Version
bookinfo  microk8s    microk8s      3.6.4

App      Status
details  active

Integration provider  Requirer                  Interface     Type     Message
beacon:mesh           details:service-mesh      service_mesh  regular
details:website       productpage:backend       http          regular
details:peers         details:peers             details       peer
`

const modelsIn = (parts: readonly (Json | string)[]) =>
  readModels(
    parts.map((part, index) => ({
      path: `${index}`,
      text: typeof part === 'string' ? part : JSON.stringify(part),
    })),
  )

const run = (parts: readonly (Json | string)[], withPeers = false) => {
  const models = modelsIn(parts)
  const derived = models.map((model) => deriveDocuments(model, models, { withPeers }))
  return {
    documents: derived
      .flatMap(({ documents }) => documents)
      .map(({ metadata: { name, namespace }, data }) => ({
        ...{ name, namespace, application: data.application },
        relation: JSON.parse(String(data.relation)),
        remote: JSON.parse(String(data.remote)),
      })),
    notes: derived.flatMap(({ notes }) => notes),
    unknown: derived.flatMap(({ unknown }) => unknown),
  }
}

const BOOKINFO = status('bookinfo', {
  beacon: application('beacon', { mesh: [related('details', 'service_mesh')] }),
  details: application('details', {
    'service-mesh': [related('beacon', 'service_mesh')],
    website: [related('productpage', 'http')],
    peers: [related('details', 'details')],
  }),
  productpage: application('productpage', { backend: [related('details', 'http')] }),
})

const DETAILS = unit(
  'details/0',
  { id: 0, endpoint: 'peers', data: { password: 'x' }, units: ['details/1'] },
  { id: 1, endpoint: 'service-mesh', other: 'mesh', data: { labels: '{"a":"b"}' }, units: ['beacon/0'] },
  { id: 3, endpoint: 'website', other: 'backend', data: { password: 'hunter2' }, units: ['productpage/0'] },
)

/** A relation whose jobs the provider tells, and the output of the provider alone. */
const SCRAPED = [
  status('bookinfo', {
    db: application('db', { metrics: [related('prometheus', 'prometheus_scrape')] }),
    prometheus: application('prometheus', { scrape: [related('db', 'prometheus_scrape')] }),
  }),
  TABLE.replace(/beacon:mesh .*/, 'db:metrics  prometheus:scrape  prometheus_scrape  regular'),
  unit('db/0', { id: 4, endpoint: 'metrics', other: 'scrape', units: ['prometheus/0'] }),
]

const refusal = (...parts: (Json | string)[]): string => {
  try {
    run(parts)
  } catch (error) {
    return (error as Error).message
  }
  return 'nothing was refused'
}

describe('what Juju prints', () => {
  test.each([
    ['nothing', '', '0: expected what juju status and juju show-unit print with --format json'],
    ['a table alone', TABLE, 'no output of juju status --format json was given'],
    ['a list', '[]', '0: expected what juju status and juju show-unit print with --format json'],
    ['half of it', '{"model": {', '0: expected what juju'],
    ['a status of another form', '{"applications": []}', 'applications: '],
  ])('what Juju prints is refused when it is %s', (_, text, message) => {
    expect(refusal(text)).toContain(message)
  })

  test('what Juju prints is read as YAML, in files of their own or behind each other, with tables between', () => {
    const json = run([BOOKINFO, TABLE, DETAILS])
    expect(run([stringify(BOOKINFO), TABLE, stringify(DETAILS)])).toEqual(json)
    expect(run([`${stringify(BOOKINFO)}${TABLE}${stringify(DETAILS)}`])).toEqual(json)
    expect(run([`---\n${stringify({ ...BOOKINFO, ...DETAILS })}`, TABLE])).toEqual(json)
    expect(refusal(`${TABLE}model:\n  a: b: c\n`)).toMatch(/^0:12:\d+: /)
  })

  test('what Juju prints is read as one value, pretty or not, or as values and tables in one stream', () => {
    const stream = `${JSON.stringify(BOOKINFO)}\n${TABLE}\n${JSON.stringify(DETAILS)}\n`
    const apart = run([BOOKINFO, TABLE, JSON.stringify(DETAILS, null, 2)])
    expect(run([stream])).toEqual(apart)
    expect(run([DETAILS, TABLE, BOOKINFO])).toEqual(apart)
    expect(apart.documents).toHaveLength(2)
  })
})

describe('relation documents out of Juju', () => {
  test('relation documents out of Juju have endpoint, interface, role and databag, told to a consumer or to who provides', () => {
    const { documents, unknown, notes } = run([BOOKINFO, TABLE, DETAILS])
    expect(documents).toEqual([
      {
        name: 'juju-relation-1',
        namespace: 'bookinfo',
        application: 'details',
        relation: { id: 1, endpoint: 'service-mesh', interface: 'service_mesh', role: 'requires' },
        remote: {
          application: 'beacon',
          endpoint: 'mesh',
          data: { labels: '{"a":"b"}' },
          units: { 'beacon/0': { port: '80' } },
        },
      },
      {
        name: 'juju-relation-3',
        namespace: 'bookinfo',
        application: 'details',
        relation: { id: 3, endpoint: 'website', interface: 'http', role: 'provides' },
        remote: { application: 'productpage', endpoint: 'backend', data: {} },
      },
    ])
    expect(unknown).toEqual([])
    expect(notes).toEqual([
      'bookinfo: relation 0 of details:peers: it is a peer relation, and is left out without --peers',
    ])
  })

  test('relation documents out of Juju tell who scrapes what to scrape, and nothing else of that databag', () => {
    const data = { scrape_jobs: '[]', alert_rules: '{}', password: 'hunter2' }
    const { documents } = run([
      ...SCRAPED,
      unit('prometheus/0', { id: 4, endpoint: 'scrape', other: 'metrics', data, units: ['db/0'] }),
    ])
    expect(documents).toMatchObject([
      {
        application: 'prometheus',
        relation: { endpoint: 'scrape', role: 'requires' },
        remote: { application: 'db', data: { scrape_jobs: '[]' } },
      },
    ])
    expect(JSON.stringify(documents)).not.toMatch(/hunter2|alert_rules/)
  })

  test('relation documents out of Juju say nothing of a scrape relation whose requirer no output knows: its jobs would be lost', () => {
    const { documents, unknown } = run(SCRAPED)
    expect({ documents, unknown }).toEqual({
      documents: [],
      unknown: [expect.stringContaining('add juju show-unit --format json prometheus/0')],
    })
  })

  test('relation documents out of Juju name who applies them, where that is said', () => {
    const models = modelsIn([BOOKINFO, TABLE, DETAILS])
    const authors = (author?: string) =>
      models.flatMap((model) =>
        deriveDocuments(model, models, { withPeers: false, author }).documents.map(
          ({ metadata }) => metadata.annotations,
        ),
      )
    expect(authors('jane')).toEqual([{ 'meshstep.dev/author': 'jane' }, { 'meshstep.dev/author': 'jane' }])
    expect(authors()).toEqual([undefined, undefined])
  })

  test('relation documents out of Juju are the same whichever units were asked, of the same side', () => {
    const page = unit('productpage/0', { id: 3, endpoint: 'backend', other: 'website', units: ['details/0'] })
    const beacon = unit('beacon/0', { id: 1, endpoint: 'mesh', other: 'service-mesh', units: ['details/0'] })
    const all = run([BOOKINFO, TABLE, DETAILS]).documents
    expect(run([BOOKINFO, TABLE, beacon, page, DETAILS]).documents).toEqual(all)
    expect(run([BOOKINFO, TABLE, page]).documents).toEqual(all.slice(1))
  })

  test('relation documents out of Juju need a unit that sees what meshstep reads', () => {
    const beacon = unit('beacon/0', { id: 1, endpoint: 'mesh', other: 'service-mesh', units: ['details/0'] })
    const { documents, unknown } = run([BOOKINFO, TABLE, beacon])
    expect(documents).toEqual([])
    expect(unknown).toContain(
      'bookinfo: relation 1 of beacon:mesh and details: the data of beacon are missing: add juju show-unit --format json details/0',
    )
  })

  test('relation documents out of Juju have no databag of a peer', () => {
    const { documents } = run([BOOKINFO, TABLE, DETAILS], true)
    expect(documents[0]).toMatchObject({
      relation: { id: 0, endpoint: 'peers', interface: 'details', role: 'peers' },
      remote: { application: 'details', endpoint: 'peers', data: {} },
    })
  })

  test('relation documents out of Juju need to know who provides', () => {
    const { documents, unknown } = run([BOOKINFO, DETAILS])
    expect(documents).toEqual([])
    expect(unknown).toEqual([
      'bookinfo: relation 1 of details:service-mesh and beacon: its provider is missing: add what juju status --relations prints',
      'bookinfo: relation 3 of details:website and productpage: its provider is missing: add what juju status --relations prints',
    ])
  })

  test('relation documents out of Juju need an id, which a unit knows', () => {
    const { documents, unknown } = run([BOOKINFO, TABLE])
    expect(documents).toEqual([])
    expect(unknown).toEqual([
      'bookinfo: the id of the relation of beacon:mesh and details is missing: add juju show-unit --format json beacon/0',
      'bookinfo: the id of the relation of details:website and productpage is missing: add juju show-unit --format json details/0',
    ])
  })

  test('relation documents out of Juju are made of the names that Juju 2 prints, with the table', () => {
    const old = status('bookinfo', {
      details: application('details', { website: ['productpage'] }),
      productpage: application('productpage', { backend: ['details'] }),
    })
    const asked = unit('details/0', { id: 3, endpoint: 'website', other: 'backend' })
    expect(run([old, asked]).unknown).toEqual([
      'bookinfo: relation 3 of details:website and productpage: its interface and its provider are missing: add what juju status --relations prints',
    ])
    expect(run([old, TABLE.replace('Integration', 'Relation'), asked]).documents).toHaveLength(1)
  })

  test('relation documents out of Juju know the other side without its units, where there is one alone', () => {
    const two = status('bookinfo', {
      details: application('details', { website: [related('productpage', 'http'), related('reviews', 'http')] }),
      productpage: application('productpage', { backend: [related('details', 'http')] }),
      reviews: application('reviews', { backend: [related('details', 'http')] }),
    })
    const asked = unit('details/0', { id: 3, endpoint: 'website', other: 'backend' })
    expect(run([BOOKINFO, TABLE, asked]).documents.map(({ remote }) => remote.application)).toEqual(['productpage'])
    expect(run([two, asked]).unknown).toContainEqual(expect.stringContaining('may be one of several applications'))
    const page = unit('productpage/0', { id: 3, endpoint: 'backend', other: 'website' })
    expect(run([two, TABLE, asked, page]).documents.map(({ remote }) => remote.application)).toEqual(['productpage'])
  })

  test.each([
    ['goes', { life: 'dying' }, 'bookinfo/details: is dying, and is left out'],
    ['is a subordinate', { 'subordinate-to': ['productpage'] }, 'which Kubernetes has none of'],
  ])('relation documents out of Juju are not made of an application that %s', (_, more, note) => {
    const model = status('bookinfo', {
      details: application('details', { website: [related('productpage', 'http')] }, more),
      productpage: application('productpage', { backend: [related('details', 'http')] }),
    })
    const page = unit('productpage/0', { id: 3, endpoint: 'backend', other: 'website', units: ['details/0'] })
    const { documents, notes, unknown } = run([model, page])
    expect([documents, unknown]).toEqual([[], []])
    expect(notes.join()).toContain(note)
  })

  test('relation documents out of Juju are not made of machines, nor of what Juju could not read itself', () => {
    const machines = { ...BOOKINFO, model: { name: 'lxd', type: 'iaas' } }
    expect(run([machines, DETAILS])).toMatchObject({
      documents: [],
      unknown: [],
      notes: [expect.stringContaining('machines')],
    })
    const failed = status('bookinfo', { details: { 'status-error': 'not found' } })
    expect(run([failed]).unknown).toEqual(['bookinfo/details: Juju says not found'])
  })
})

describe('a relation across models', () => {
  const FAR = status(
    'istio',
    { gateway: application('gateway', { mesh: [related('remote-0123456789abcdef0123456789abcdef', 'service_mesh')] }) },
    {
      offers: {
        hub: {
          application: 'gateway',
          charm: 'ch:gateway',
          'total-connected-count': 1,
          endpoints: { mesh: { interface: 'service_mesh', role: 'provider' } },
        },
      },
    },
  )
  const HERE = status(
    'bookinfo',
    { details: application('details', { 'service-mesh': [related('far', 'service_mesh')] }) },
    {
      'application-endpoints': {
        far: {
          url: 'microk8s:admin/istio.hub',
          endpoints: { mesh: { interface: 'service_mesh', role: 'provider' } },
          relations: { mesh: ['details'] },
        },
      },
    },
  )
  const CONSUMER = unit('details/0', {
    id: 1,
    endpoint: 'service-mesh',
    other: 'mesh',
    units: ['far/0'],
    isCrossModel: true,
  })
  const OFFERED = unit('gateway/0', {
    ...{ id: 8, endpoint: 'mesh', other: 'service-mesh', isCrossModel: true },
    units: ['remote-0123456789abcdef0123456789abcdef/0'],
  })

  test('a relation across models has a document in each model, with real names and the role of the offer', () => {
    const { documents, unknown } = run([FAR, OFFERED, HERE, CONSUMER])
    expect(unknown).toEqual([])
    expect(documents).toMatchObject([
      {
        namespace: 'istio',
        application: 'gateway',
        relation: { id: 8, role: 'provides', interface: 'service_mesh' },
        remote: { namespace: 'bookinfo', application: 'details', endpoint: 'service-mesh' },
      },
      {
        namespace: 'bookinfo',
        application: 'details',
        relation: { id: 1, role: 'requires', interface: 'service_mesh' },
        remote: { namespace: 'istio', application: 'gateway', endpoint: 'mesh' },
      },
    ])
  })

  test('a relation across models is not told apart from another one of the same offer', () => {
    const two = unit(
      'gateway/0',
      ...[8, 9].map((id) => ({
        ...{ id, endpoint: 'mesh', other: 'service-mesh', isCrossModel: true },
        units: [`remote-0123456789abcdef0123456789abcde${id}/0`],
      })),
    )
    const { documents, unknown } = run([FAR, two, HERE])
    expect(documents).toEqual([])
    expect(unknown.filter((one) => one.includes('the consumer of the offer is missing'))).toHaveLength(2)
  })

  test('a relation across models needs the status of the other model', () => {
    expect(run([HERE, CONSUMER]).unknown).toEqual([
      'bookinfo: relation 1 of details:service-mesh and far: the application behind microk8s:admin/istio.hub is missing: add juju status --format json of its model, or say --remote far=NAMESPACE/APPLICATION',
    ])
    expect(run([FAR, OFFERED]).unknown).toEqual([expect.stringContaining('the consumer of the offer is missing')])
  })
})

test('a charm and an import tell the databags of the same interfaces', () => {
  const module = readFileSync('examples/juju/meshstep.py', 'utf8')
  const [, list = ''] = /READ_INTERFACES = frozenset\(\s*\[(.*?)\]/s.exec(module) ?? []
  expect([...list.matchAll(/"([^"]+)"/g)].map(([, name]) => name)).toEqual([...READ_INTERFACES])
})
