import { describe, expect, test } from 'vitest'
import {
  type Document,
  findDocuments,
  isAbout,
  listDocuments,
  readDocument,
  rememberedDocuments,
} from '../../../../src/core/relations/told/documents.ts'
import { createEmbeddedApi } from '../../../../src/embedded/api/api.ts'
import { features } from '../../../../src/features.ts'
import { createKubernetes, type Kubernetes } from '../../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../../src/platform/kubernetes/objects.ts'
import { fakeClock } from '../../../helpers/clock.ts'
import { entryOf, stateOf } from '../../../helpers/states.ts'
import { config, relation } from '../../../helpers/tenants.ts'
import { NAMESPACE, SUBJECT } from '../../../helpers/world.ts'

const SCHEMA = features.configDocument

const read = (object: KubernetesObject): Document | undefined => readDocument(object, SCHEMA)

const CONFIG = config('{ labels: { a: b } }', { name: 'config', author: 'me' }, 'web')
const RELATION = relation('{ application: db, namespace: shop, data: {} }', { name: 'relation' }, 'web')

describe('a document', () => {
  test('a document declares a config or a relation, by its author', () => {
    expect(read(CONFIG)).toEqual({
      ...{ name: 'config', application: 'web', author: { username: 'me', groups: [] } },
      config: { labels: { a: 'b' } },
    })
    expect(read(RELATION)).toMatchObject({
      ...{ name: 'relation', application: 'web' },
      announced: { id: 7, document: 'relation', remote: { application: 'db', data: {} } },
    })
    expect(read(RELATION)).not.toHaveProperty('announced.remote.namespace')
    expect(read({ ...CONFIG, metadata: { ...CONFIG.metadata, labels: {} } })).toBeUndefined()
  })

  test('a document that cannot be read names its application as far as that is readable, and the problem', () => {
    expect(read(config('{ labels: 7 }', { name: 'config' }, 'web'))).toEqual({
      ...{ name: 'config', application: 'web', problem: expect.stringMatching(/^ConfigMap config: config\.labels: /) },
    })
    expect(read(config('{', { name: 'config' }, 'web'))).toMatchObject({
      application: 'web',
      problem: expect.any(String),
    })
    const nobody = read(config('{}', { name: 'config' }, '{'))
    expect(nobody).toEqual({ name: 'config', problem: expect.any(String) })
    expect(read(config('{}', { name: 'config' }, 'A B'))).toEqual({
      name: 'config',
      problem: expect.stringMatching(/^ConfigMap config: application: /),
    })
  })

  test('a document is about the application that it names, or the other side of its relation', () => {
    const about = (document: Document | undefined, application: string) =>
      document !== undefined && isAbout({ namespace: NAMESPACE, application }, document)
    expect([about(read(CONFIG), 'web'), about(read(CONFIG), 'db')]).toEqual([true, false])
    expect([about(read(RELATION), 'web'), about(read(RELATION), 'db'), about(read(RELATION), 'api')]).toEqual([
      true,
      true,
      false,
    ])
  })

  test('the documents that an application remembers are those of its config and its relations', () => {
    const state = stateOf([entryOf({ document: 'one' }), entryOf({ id: 2 })], { document: 'two' })
    expect(rememberedDocuments(state)).toEqual(new Set(['two', 'one']))
    expect(rememberedDocuments(stateOf([]))).toEqual(new Set())
  })
})

describe('the documents of a namespace', () => {
  const connect = (...objects: KubernetesObject[]): { kubernetes: Kubernetes; kept: number[]; turns: number[] } => {
    const turns: number[] = []
    const clock = { ...fakeClock(), yieldTurn: async () => void turns.push(1) }
    const api = createEmbeddedApi({ now: () => new Date(clock.now()) })
    api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }, ...objects])
    const client = createKubernetes({
      transport: async (request) => api.handle(request),
      clock,
      deadline: clock.now() + 9_000,
    })
    const kept: number[] = []
    return { kubernetes: { ...client, keep: (size) => void kept.push(size) }, kept, turns }
  }
  const sized = (object: KubernetesObject) =>
    [...Object.values(object.data ?? {}), ...Object.values(object.metadata.annotations ?? {})].join('').length

  test('the documents of a namespace are all listed, or those that are wanted, and count with their size', async () => {
    const other: KubernetesObject = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'none', namespace: NAMESPACE },
    }
    const broken = config('{', { name: 'broken' }, 'web')
    const world = connect(CONFIG, RELATION, broken, other)
    const all = await listDocuments(world.kubernetes, NAMESPACE, SCHEMA)
    expect(all.map(({ name }) => name).toSorted()).toEqual(['broken', 'config', 'relation'])
    const problem = all.flatMap((one) => ('problem' in one ? one.problem.length + one.name.length : []))
    expect(world.kept.toSorted()).toEqual([sized(CONFIG), sized(RELATION), ...problem].toSorted())
    expect(world.turns).toHaveLength(3)
    world.kept.length = 0
    const some = await listDocuments(world.kubernetes, NAMESPACE, SCHEMA, ({ name }) => name === 'config')
    expect([some.map(({ name }) => name), world.kept]).toEqual([['config'], [sized(CONFIG)]])
  })

  test('the documents of a namespace are found by name, as far as they are some', async () => {
    const other: KubernetesObject = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'none', namespace: NAMESPACE },
    }
    const { kubernetes, kept } = connect(CONFIG, other)
    const found = await findDocuments(kubernetes, SUBJECT, ['config', 'none', 'absent'], SCHEMA)
    expect([found.map(({ name }) => name), kept]).toEqual([['config'], [sized(CONFIG)]])
  })
})
