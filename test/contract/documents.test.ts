import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { KubernetesObject } from '../../src/kubernetes/objects.ts'
import { buildCombination } from '../knative/builds.ts'
import { KubeObject } from '../knative/kinds.ts'
import { until } from '../process/helpers.ts'
import { type Cluster, noCluster, openCluster } from './cluster.ts'

type Rule = { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] }

const update = (resources: string[], resourceNames?: string[]): Rule => ({
  apiGroups: ['meshstep.dev'],
  resources,
  verbs: ['update'],
  ...(resourceNames && { resourceNames }),
})

const effects = ['workload', 'policies', 'mesh', 'root'] as const

/** Those who write, each of whom may write all ConfigMaps, and what else. */
const users: Record<string, Rule[]> = {
  nobody: [],
  details: [update(['applications'], ['details'])],
  both: [update(['applications'], ['details', 'productpage'])],
  everything: [update(['applications'])],
  workload: [update(['applications', 'applications/workload'], ['details'])],
  policies: [update(['applications', 'applications/policies'], ['details'])],
  mesh: [update(['applications', 'applications/mesh'], ['details'])],
  root: [update(['applications', 'applications/mesh', 'applications/root'], ['details'])],
  effects: [update(['applications', ...effects.map((effect) => `applications/${effect}`)])],
}

let cluster: Cluster
let serial = 0

const made = (kind: string, name: string, fields: Record<string, unknown>): KubeObject =>
  KubeObject.parse({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind,
    metadata: { name, namespace: cluster.namespace },
    ...fields,
  })

const bound = (name: string, rules: Rule[], subject: Record<string, string>): KubeObject[] => [
  made('Role', name, { rules }),
  made('RoleBinding', name, {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [subject],
  }),
]

const configMaps: Rule = { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] }

beforeAll(async () => {
  if (noCluster) return
  cluster = await openCluster()
  const accounts = ['details', 'productpage'].map((name) => ({ kind: 'ServiceAccount', name }))
  const people = Object.entries(users).map(([name, rules]) => ({ rules, subject: { kind: 'User', name } }))
  const writers = [
    ...people,
    ...accounts.map((subject) => ({ rules: [], subject: { ...subject, namespace: cluster.namespace } })),
  ]
  await cluster.install([
    ...writers.flatMap(({ rules, subject }, index) => bound(`writer-${index}`, [configMaps, ...rules], subject)),
    ...buildCombination(['authentication'], cluster.namespace).filter(({ kind }) => kind.startsWith('Validating')),
  ])
  await until('documents are guarded', async () =>
    (await attempt('nobody', undefined, config('details', '{}'))) === 'done' ? undefined : true,
  )
})
afterAll(() => cluster?.close())

type Version = { name?: string; labels?: Record<string, string>; data?: Record<string, string> }

const config = (application: string, text: string): Version => ({
  labels: { 'meshstep.dev/kind': 'config' },
  data: { application, config: text },
})

const relation = (application: string, remote: string): Version => ({
  labels: { 'meshstep.dev/kind': 'relation' },
  data: { application, relation: '{ id: 1, endpoint: a, interface: b, role: requires }', remote },
})

const memory = (application: string): Version => ({
  name: `juju-service-mesh-${application}-labels`,
  labels: { 'app.kubernetes.io/managed-by': 'meshstep', 'meshstep.dev/application': application },
  data: { state: '{}', labels: '{}' },
})

const configMap = ({ name, labels, data }: Version): KubernetesObject => {
  serial += 1
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: name ?? `document-${serial}`, namespace: cluster.namespace, ...(labels && { labels }) },
    ...(data && { data }),
  }
}

/** `done`, or why the API server refuses the write: a creation, a change or a deletion. */
const attempt = async (user: string, before: Version | undefined, after: Version | undefined): Promise<string> => {
  const account = /^account (.*)$/.exec(user)?.[1]
  const writer = cluster.as(account === undefined ? user : `system:serviceaccount:${cluster.namespace}:${account}`)
  const existing = before && (await cluster.create(configMap(before)))
  const wanted = after && configMap(after)
  const write = async () => {
    if (!existing) return wanted && (await writer.create(wanted))
    if (!wanted) return await writer.remove(existing)
    const { labels = {} } = wanted.metadata
    return await writer.replace(
      { ...existing, metadata: { ...existing.metadata, labels }, data: wanted.data ?? {} },
      'test',
    )
  }
  const outcome = await write().then(
    () => 'done',
    (error: Error) => error.message,
  )
  for (const object of [existing, wanted]) {
    const left = object && (await cluster.kubernetes.find({ ...object.metadata, kind: 'ConfigMap' }))
    if (left) await cluster.erase(left)
  }
  return outcome
}

const MAY_NOT = 'may not update applications.meshstep.dev'

const beacon = '{ application: beacon, data: {} }'
const plain: Version = { data: { application: 'details', config: '{ mesh: {} }' } }

/** Who writes what, as it was and as it becomes, and what the API server says. */
const rows: [who: string, what: string, before: Version | undefined, after: Version | undefined, outcome: string][] = [
  ['nobody', 'a ConfigMap that is none of ours', undefined, plain, 'done'],
  ['nobody', 'a config', undefined, config('details', '{}'), `${MAY_NOT} `],
  ['nobody', 'a config that goes', config('details', '{}'), undefined, `${MAY_NOT} `],
  ['nobody', 'a label that makes a document', plain, config('details', '{}'), `${MAY_NOT} `],
  ['nobody', 'a label that ends a document', config('details', '{}'), plain, `${MAY_NOT} `],
  ['details', 'its config', undefined, config('details', '{}'), 'done'],
  ['details', 'its config, quoted', undefined, config(' "details"\n', '{}'), 'done'],
  ['details', 'its config, quoted once', undefined, config("'details'", '{}'), 'done'],
  ['details', 'its config, anew', config('details', '{}'), config('details', 'enrolment: in-place'), 'done'],
  ['details', 'its config that goes', config('details', '{}'), undefined, 'done'],
  ['details', 'another’s config', undefined, config('productpage', '{}'), `${MAY_NOT} `],
  ['details', 'another’s config as its own', config('productpage', '{}'), config('details', '{}'), `${MAY_NOT} `],
  ['details', 'its config as another’s', config('details', '{}'), config('productpage', '{}'), `${MAY_NOT} `],
  ...['!!str details', 'details # or not', '&a details', '|\n details', 'details\nproductpage', ''].map(
    (name): (typeof rows)[number] => [
      'details',
      `a config of ${JSON.stringify(name)}`,
      undefined,
      config(name, '{}'),
      `${MAY_NOT} `,
    ],
  ),
  ['details', 'a config of nobody', undefined, { labels: { 'meshstep.dev/kind': 'config' } }, `${MAY_NOT} `],
  ['everything', 'a config with a name that is not plain', undefined, config('details # or not', '{}'), '/workload'],
  ['effects', 'a config with a name that is not plain', undefined, config('details # or not', '{}'), 'done'],
  ['details', 'a relation with another', undefined, relation('details', beacon), 'the other side of the relation'],
  ['both', 'a relation with another', undefined, relation('details', '{ application: productpage, data: {} }'), 'done'],
  ['both', 'a relation, in JSON', undefined, relation('details', '{"application":"productpage","data":{}}'), 'done'],
  ['both', 'a relation, in lines', undefined, relation('details', 'application: productpage\ndata: {}\n'), 'done'],
  ['both', 'a relation that goes', relation('details', '{ application: productpage, data: {} }'), undefined, 'done'],
  ['both', 'a relation with a third', undefined, relation('details', beacon), 'the other side of the relation'],
  ['both', 'a relation that was a third’s', relation('details', beacon), undefined, 'the other side of the relation'],
  ['everything', 'a relation with any', undefined, relation('details', beacon), 'done'],
  [
    'details',
    'a relation with an application elsewhere',
    undefined,
    relation('details', '{ application: ledger, namespace: bank, data: {} }'),
    'done',
  ],
  [
    'details',
    'one elsewhere, in lines',
    undefined,
    relation('details', 'application: ledger\nnamespace: bank\n'),
    'done',
  ],
  ...[
    '{ application: beacon, data: { namespace: bank } }',
    '{ application: beacon, data: { a: b }, x: { namespace: bank } }',
    '{ application: beacon # , namespace: bank\n, data: {} }',
    '{ data: { application: details }, application: beacon }',
    '{ "data": { "a": "application: details," }, "\\u0061pplication": "beacon" }',
    '{ application: details, application: beacon }',
    'data: |\n  application: details\n"appl\\\nication": beacon',
    '? application\n: beacon\n',
    `{ application: details, data: { a: ${'x'.repeat(65_536)} } }`,
    '',
  ].map((remote): (typeof rows)[number] => [
    'details',
    `a relation of ${JSON.stringify(remote).slice(0, 60)}`,
    undefined,
    relation('details', remote),
    'the other side of the relation',
  ]),
  ['nobody', 'a memory', undefined, memory('details'), 'may not write the memory of'],
  ['nobody', 'a memory that goes', memory('details'), undefined, 'may not write the memory of'],
  [
    'nobody',
    'a memory by its name alone',
    undefined,
    { ...memory('details'), labels: {} },
    'may not write the memory of',
  ],
  [
    'nobody',
    'a memory by its label alone',
    undefined,
    { ...memory('details'), name: 'x' },
    'may not write the memory of',
  ],
  [
    'both',
    'a memory of two',
    undefined,
    { ...memory('details'), name: memory('productpage').name ?? '' },
    'may not write',
  ],
  ['details', 'its memory', memory('details'), { ...memory('details'), data: {} }, 'may not write the memory of'],
  ['everything', 'a memory', undefined, memory('details'), 'may not update applications.meshstep.dev/'],
  ['effects', 'a memory', undefined, memory('details'), 'done'],
  ['details', 'its memory that goes', memory('details'), undefined, 'done'],
  ['details', 'another’s memory', memory('productpage'), undefined, 'may not write the memory of'],
  ['account meshstep', 'a memory', undefined, memory('details'), 'done'],
  ['account meshstep', 'a memory that goes', memory('details'), undefined, 'done'],
  ['account meshstep', 'a document', undefined, config('details', '{}'), MAY_NOT],
  [
    'account details',
    'the charm library’s memory',
    undefined,
    { name: memory('details').name ?? '', data: { labels: '{}' } },
    'done',
  ],
  [
    'account details',
    'a memory of ours',
    memory('details'),
    { ...memory('details'), data: {} },
    'may not write the memory',
  ],
  [
    'account details',
    'another’s library’s memory',
    undefined,
    { name: memory('productpage').name ?? '' },
    'may not write',
  ],
]

/** A text of a config, and whose permission it needs, beyond `update` of the application; none is nothing more. */
const texts: [text: string, effect?: 'workload' | 'policies' | 'mesh' | 'root'][] = [
  ['enrolment: in-place\nlabels: { team: blue }\n'],
  ['policies:\n  - { type: app, relation: details, endpoints: [{ ports: [9080], methods: [GET], paths: [/a] }] }\n'],
  ['policies: [{ type: app, relation: service-mesh, endpoints: [], service: details }]\nservice: null'],
  ['services: { details: { name: details, port: 80 } }'],
  ['workload: null'],
  ['workload: { kind: Deployment, name: details }\nservice: "details"'],
  ['{"workload":{"kind":"StatefulSet","name":"details"},"service":"details"}'],
  ['{"workload":null,"service":null}'],
  ['workload: { kind: Deployment, name: productpage }', 'workload'],
  ['workload: { kind: Deployment, name: details-db }', 'workload'],
  ['{ workload: null, workload: { kind: Deployment, name: productpage } }', 'workload'],
  ['workload: { kind: Deployment, name: details, name: productpage }', 'workload'],
  ['workload:\n  kind: Deployment\n  name: productpage', 'workload'],
  ['workload: { podSpec: { containers: [{ name: x, image: y }] } }', 'workload'],
  ['? workload # of mine\n: { podSpec: { serviceAccountName: meshstep } }', 'workload'],
  ['service: productpage', 'workload'],
  ['"service":\n  productpage', 'workload'],
  ['{service: details,service: productpage}', 'workload'],
  ['policies: [{ type: app, relation: a, endpoints: [], service: productpage }]', 'workload'],
  ['rawPolicies: []', 'policies'],
  ['"meshPolicies": []', 'policies'],
  ['mesh: {}', 'mesh'],
  ['{"mesh":{"modelOnMesh":true}}', 'mesh'],
  ['{mesh: {}}', 'mesh'],
  ['mesh: { hardened: true }', 'root'],
  ['mesh: { rootNamespace: istio-config }', 'root'],
]

describe.skipIf(noCluster)(`who writes ConfigMaps ${noCluster ?? ''}`, () => {
  test.each(rows)('%s writes %s', async (who, _, before, after, outcome) => {
    expect(await attempt(who, before, after)).toContain(outcome)
  })

  test.each(texts)('a config of %j needs %s', async (text, effect) => {
    const document = config('details', text)
    const outcome = effect === undefined ? 'done' : `${MAY_NOT}/${effect} `
    expect(await attempt('details', undefined, document)).toContain(outcome)
    // nor is it taken away by who may not ask for it
    expect(await attempt('details', document, undefined)).toContain(outcome)
    for (const other of effects.filter((name) => effect !== undefined && name !== effect && name !== 'root'))
      expect(await attempt(other, undefined, document), other).toContain(outcome)
    expect(await attempt(effect ?? 'details', undefined, document)).toBe('done')
    expect(await attempt('effects', undefined, document)).toBe('done')
  })

  test.each([
    ['an escape that could spell a key', '{ "\\u006desh": {} }'],
    ['an escape over two lines', '"me\\\nsh": {}'],
    ['more than can be looked at', `labels: { a: ${'x'.repeat(65_536)} }`],
  ])('a config with %s needs every permission', async (_, text) => {
    const document = config('details', text)
    expect(await attempt('details', undefined, document)).toContain(MAY_NOT)
    for (const user of effects) expect(await attempt(user, undefined, document), user).toContain(MAY_NOT)
    expect(await attempt('effects', undefined, document)).toBe('done')
  })

  test('the largest document is looked at within the budget of CEL', async () => {
    const document = config('details', `workload: { podSpec: ${'[service: mesh, '.repeat(4000)} }`)
    expect(await attempt('effects', undefined, document)).toBe('done')
    expect(await attempt('effects', document, config('details', 'x'.repeat(900_000)))).toBe('done')
  })

  test('a namespace with documents and memories can be deleted', async () => {
    await cluster.create(configMap(config('details', 'mesh: {}')))
    await cluster.create(configMap(memory('other')))
    const reference = { kind: 'Namespace' as const, name: cluster.namespace }
    const namespace = await cluster.kubernetes.find(reference)
    if (namespace) await cluster.kubernetes.remove(namespace)
    await until('the namespace is gone', async () => (await cluster.kubernetes.find(reference)) === undefined)
  })
})
