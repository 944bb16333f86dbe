import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defined } from '../../src/platform/base/own-value.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { buildCombination } from '../knative/builds.ts'
import { until } from '../process/helpers.ts'
import { admissionIn } from './admission.ts'
import { type Cluster, noCluster, openCluster } from './cluster.ts'
import { bound, configMaps, type Rule, update } from './rbac.ts'

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
    ...writers.flatMap(({ rules, subject }, index) =>
      bound(cluster.namespace, `writer-${index}`, [configMaps, ...rules], subject),
    ),
    ...buildCombination(['authentication'], cluster.namespace).filter(({ kind }) => kind.startsWith('Validating')),
  ])
  await until('documents are guarded', async () =>
    (await attempt('nobody', undefined, config('details', '{}'))) === 'done' ? undefined : true,
  )
})
afterAll(() => cluster?.close())

type Version = {
  name?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  data?: Record<string, string>
}

const AUTHOR = 'meshstep.dev/author'
const GROUPS = 'meshstep.dev/author-groups'

/** A document in the name of a user, with groups perhaps. */
const by = (author: string, version: Version, groups?: string): Version => ({
  ...version,
  annotations: { [AUTHOR]: author, ...(groups !== undefined && { [GROUPS]: groups }) },
})

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

const configMap = ({ name, labels, annotations, data }: Version): KubernetesObject => {
  serial += 1
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: name ?? `document-${serial}`, namespace: cluster.namespace, ...defined({ labels, annotations }) },
    ...(data && { data }),
  }
}

/** A document is made by its author, all else by an administrator. */
const authorOf = ({ annotations }: Version) => {
  const author = annotations?.[AUTHOR]
  return author === undefined ? cluster.kubernetes : cluster.as(author)
}

/** `done`, or why the API server refuses the write: a creation, a change or a deletion. */
const attempt = async (user: string, before: Version | undefined, after: Version | undefined): Promise<string> => {
  const account = /^account (.*)$/.exec(user)?.[1]
  const writer = cluster.as(account === undefined ? user : `system:serviceaccount:${cluster.namespace}:${account}`)
  const existing = before && (await authorOf(before).create(configMap(before)))
  const wanted = after && configMap(after)
  const write = async () => {
    if (!existing) return wanted && (await writer.create(wanted))
    if (!wanted) return await writer.remove(existing)
    const { labels = {}, annotations = {} } = wanted.metadata
    return await writer.replace(
      { ...existing, metadata: { ...existing.metadata, labels, annotations }, data: wanted.data ?? {} },
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

/** Says whose end is told once they are gone from a model. */
const ends = (...applications: string[]): Version => ({
  name: 'meshstep-juju',
  data: { applications: JSON.stringify(applications) },
})

const MAY_NOT = 'may not update applications.meshstep.dev'

const plain: Version = { data: { application: 'details', config: '{ mesh: {} }' } }
const NO_AUTHOR = 'expected the annotation meshstep.dev/author'
const own = by('details', config('details', '{}'))
const theirs = by('both', config('productpage', '{}'))

/** Who writes what, as it was and as it becomes, and what the API server says. */
const rows: [who: string, what: string, before: Version | undefined, after: Version | undefined, outcome: string][] = [
  ['nobody', 'a ConfigMap that is none of ours', undefined, plain, 'done'],
  ['nobody', 'a config', undefined, by('nobody', config('details', '{}')), `${MAY_NOT} `],
  ['nobody', 'a config that goes', own, undefined, `${MAY_NOT} `],
  ['nobody', 'a label that makes a document', plain, by('nobody', config('details', '{}')), `${MAY_NOT} `],
  ['nobody', 'a label that ends a document', own, plain, `${MAY_NOT} `],
  ['details', 'its config', undefined, own, 'done'],
  ['details', 'its config, quoted', undefined, by('details', config(' "details"\n', '{}')), 'done'],
  ['details', 'its config, anew', own, by('details', config('details', 'enrolment: in-place')), 'done'],
  ['details', 'its config that goes', own, undefined, 'done'],
  ['details', 'another’s config', undefined, by('details', config('productpage', '{}')), `${MAY_NOT} `],
  ['details', 'another’s config that goes', theirs, undefined, `${MAY_NOT} `],
  ['details', 'another’s config as its own', theirs, own, `${MAY_NOT} `],
  ['details', 'its config as another’s', own, by('details', config('productpage', '{}')), `${MAY_NOT} `],
  ...[
    '!!str details',
    'details # or not',
    '&a details',
    '|\n details',
    'details\nproductpage',
    'details"',
    '"details\'',
    '',
  ].map((name): (typeof rows)[number] => [
    'details',
    `a config of ${JSON.stringify(name)}`,
    undefined,
    by('details', config(name, '{}')),
    `${MAY_NOT} `,
  ]),
  ['details', 'a config of nobody', undefined, by('details', { labels: { 'meshstep.dev/kind': 'config' } }), MAY_NOT],
  ['details', 'a config without author', undefined, config('details', '{}'), NO_AUTHOR],
  ['details', 'a config in the name of another', undefined, by('effects', config('details', '{}')), NO_AUTHOR],
  ['details', 'a config of another, anew', by('effects', config('details', 'mesh: {}')), own, 'done'],
  [
    'details',
    'a config of another, anew in their name',
    by('effects', config('details', '{}')),
    by('effects', config('details', 'mesh: {}')),
    NO_AUTHOR,
  ],
  ['details', 'its config, in the name of another by now', own, by('effects', config('details', '{}')), NO_AUTHOR],
  ['details', 'its config, with more groups by now', own, by('details', config('details', '{}'), 'x'), 'author-groups'],
  [
    'details',
    'a relation as a config, in the name of another',
    by('effects', relation('details', '{}')),
    by('effects', { ...relation('details', '{}'), labels: { 'meshstep.dev/kind': 'config' } }),
    NO_AUTHOR,
  ],
  [
    'details',
    'a label beside, of one of another',
    by('effects', config('details', '{}')),
    by('effects', { ...config('details', '{}'), labels: { 'meshstep.dev/kind': 'config', team: 'blue' } }),
    'done',
  ],
  ['details', 'groups of its own', undefined, by('details', config('details', '{}'), 'system:authenticated'), 'done'],
  ['details', 'no groups', undefined, by('details', config('details', '{}'), ''), 'done'],
  [
    'details',
    'the group of masters',
    undefined,
    by('details', config('details', '{}'), 'system:masters'),
    'author-groups',
  ],
  [
    'details',
    'the group of masters beside its own',
    undefined,
    by('details', config('details', '{}'), 'system:authenticated,system:masters'),
    'author-groups',
  ],
  [
    'details',
    'a group of its own twice',
    undefined,
    by('details', config('details', '{}'), 'system:authenticated,system:authenticated'),
    'at most 64 groups of details, each once',
  ],
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
  ['details', 'the list of ends', undefined, ends('productpage'), 'may not write'],
  ['details', 'one more into the list of ends', ends('details'), ends('details', 'productpage'), 'may not write'],
  ['everything', 'the list of ends', undefined, ends('productpage'), 'done'],
  ['account meshstep', 'a memory', undefined, memory('details'), 'done'],
  ['account meshstep', 'a memory that goes', memory('details'), undefined, 'done'],
  ['account meshstep', 'a document', undefined, config('details', '{}'), NO_AUTHOR],
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

describe.skipIf(noCluster)(`who writes ConfigMaps ${noCluster ?? ''}`, () => {
  test.each(rows)('%s writes %s', async (who, _, before, after, outcome) => {
    expect(await attempt(who, before, after)).toContain(outcome)
  })

  test('a text is of no concern to it, however long', async () => {
    for (const text of ['!!binary bWVzaA==: {}', 'mesh: {}', 'x'.repeat(900_000)])
      expect(await attempt('details', undefined, by('details', config('details', text)))).toBe('done')
  })

  test('the API server writes the author down, and the groups, where it is told to', async () => {
    await cluster.install(admissionIn('authors.yaml', cluster.namespace))
    await until('authors are written down', async () => {
      const one = await cluster
        .as('details')
        .create(configMap(config('details', '{}')))
        .catch(() => undefined)
      if (!one) return undefined
      await cluster.erase(one)
      return true
    })
    const written = async (user: string, before: Version | undefined, after: Version) => {
      const existing = before && (await cluster.create(configMap(before)))
      const wanted = configMap(after)
      const one = existing
        ? await cluster.as(user).replace({ ...existing, data: wanted.data ?? {} }, 'test')
        : await cluster.as(user).create(wanted)
      await cluster.erase(one)
      return one.metadata.annotations
    }
    const ofDetails = { [AUTHOR]: 'details', [GROUPS]: 'system:authenticated' }
    expect(await written('details', undefined, config('details', '{}'))).toEqual(ofDetails)
    expect(await written('details', undefined, by('effects', config('details', '{}'), 'x'))).toEqual(ofDetails)
    expect(await written('details', config('details', '{}'), config('details', 'mesh: {}'))).toEqual(ofDetails)
  })

  test('a namespace with documents and memories can be deleted', async () => {
    await cluster.as('effects').create(configMap(by('effects', config('details', 'mesh: {}'))))
    await cluster.create(configMap(memory('other')))
    const reference = { kind: 'Namespace' as const, name: cluster.namespace }
    const namespace = await cluster.kubernetes.find(reference)
    if (namespace) await cluster.kubernetes.remove(namespace)
    await until('the namespace is gone', async () => (await cluster.kubernetes.find(reference)) === undefined)
  })
})
