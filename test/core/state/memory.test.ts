import { describe, expect, test } from 'vitest'
import {
  type Content,
  createIn,
  createMemories,
  FULL_BYTES,
  findMemory,
  hasRoom,
  isInherited,
  type Memory,
  measureContent,
  memoryName,
  readPublicState,
  savedAt,
} from '../../../src/core/state/memory.ts'
import { isEmptyState, isRemoved, VERSION, withPreviousTargets, wordOf } from '../../../src/core/state/state.ts'
import { createEmbeddedApi } from '../../../src/embedded/api/api.ts'
import { features } from '../../../src/features.ts'
import { createMemo } from '../../../src/platform/base/memo.ts'
import { createKubernetes } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject, ManagedFields } from '../../../src/platform/kubernetes/objects.ts'
import { fakeClock } from '../../helpers/clock.ts'
import { entryOf, stateOf } from '../../helpers/states.ts'
import { NAMESPACE, SUBJECT } from '../../helpers/world.ts'

const NAME = memoryName('web')
const SINCE = '2026-01-01T00:00:00.000Z'

const memories = createMemories(features.parts)

const configMap = (data: Record<string, string> | undefined, managedFields?: ManagedFields[]): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', ...(data && { data }) },
  metadata: { name: NAME, namespace: NAMESPACE, ...(managedFields && { managedFields }) },
})

const createCluster = (...objects: KubernetesObject[]) => {
  const clock = fakeClock()
  const api = createEmbeddedApi({ now: () => new Date(clock.now()) })
  api.seed([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }, ...objects])
  const kubernetes = createKubernetes({
    transport: async (request) => api.handle(request),
    clock,
    deadline: clock.now() + 9_000,
  })
  return { api, kubernetes }
}

const load = async (
  data: Record<string, string> | undefined,
  managedFields?: ManagedFields[],
): Promise<Memory | string> =>
  await memories
    .load(createCluster(configMap(data, managedFields)).kubernetes, SUBJECT)
    .catch((error: Error) => error.message)

describe('the memory of an application', () => {
  test('the memory of an application is empty where there is no ConfigMap, or the charm library has only made it', async () => {
    expect(await memories.load(createCluster().kubernetes, SUBJECT)).toEqual({
      state: stateOf([]),
      labels: {},
      stored: undefined,
    })
    expect(await load({})).toMatchObject({ state: stateOf([]), labels: {}, stored: {} })
    expect(await load(undefined)).toMatchObject({ state: stateOf([]), labels: {} })
  })

  test('the memory of an application is that of the charm library where there is no state', async () => {
    const memory = await load({ labels: '{"a":"b"}' })
    expect(memory).toMatchObject({ state: { ...stateOf([]), libraryLabels: { a: 'b' } }, labels: { a: 'b' } })
    expect(typeof memory !== 'string' && isInherited(memory)).toBe(true)
    const own = await load({ labels: '{}', state: JSON.stringify(stateOf([])) })
    expect(typeof own !== 'string' && isInherited(own)).toBe(false)
    expect(isInherited({ state: stateOf([]), labels: {}, stored: undefined })).toBe(false)
  })

  test.each<[string, Record<string, string>, string]>([
    ['is a ConfigMap of somebody else', { a: 'b', c: 'd' }, `ConfigMap shop/${NAME} is no memory: it is written by `],
    [
      'has a state that is no JSON',
      { labels: '{}', state: '{' },
      `ConfigMap shop/${NAME}: data.state is not a state that meshstep wrote, version ${VERSION}: `,
    ],
    [
      'has labels that are no texts',
      { labels: '{"a":1}', state: '{}' },
      `ConfigMap shop/${NAME}: data.labels is not a JSON object of strings: `,
    ],
    [
      'has no labels',
      { state: JSON.stringify(stateOf([])) },
      `data.labels is not a JSON object of strings: the key is missing`,
    ],
    [
      'is of another version',
      { labels: '{}', state: '{"version":3}' },
      `data.state has version 3, as another meshstep wrote it, and this one reads version ${VERSION}.`,
    ],
  ])('the memory of an application stays as it is where it %s', async (_, data, message) => {
    const refusal = await load(data)
    expect(refusal).toContain(message)
    expect(refusal).toContain('It was left as it is and nothing was changed')
  })

  test('the memory of an application that is a ConfigMap of somebody else names its keys, five of them', async () => {
    const data = Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((key) => [key, '']))
    expect(await load(data)).toContain('and has a, b, c, d, e in place of labels and state')
    const stored = configMap(data)
    expect(String(memories.read({ ...stored, data: { ...data, state: '{' } }, createMemo()))).toContain('data.labels')
  })

  test('the memory of an application leaves unknown parts of a newer program out', async () => {
    const state = { ...stateOf([entryOf()]), other: 1 }
    const [entry] = Object.entries(state.relations)
    const written = { ...state, relations: { [entry?.[0] ?? '']: { ...entry?.[1], other: { a: 1 } } } }
    expect(await load({ labels: '{}', state: JSON.stringify(written) })).toMatchObject({ state: stateOf([entryOf()]) })
  })

  test('the memory of an application is read by others as far as they see it', () => {
    const read = (data: Record<string, string>) => readPublicState(configMap(data), createMemo())
    const state = stateOf([entryOf()], { config: {}, awaiting: 'labels-applied' })
    expect(read({ labels: '{}', state: JSON.stringify(state) })).toEqual({
      ...{ labels: {}, state: { version: VERSION, relations: state.relations, awaiting: 'labels-applied' } },
    })
    expect(read({ labels: '{}' })).toBeUndefined()
    expect(read({ labels: '{}', state: '{' })).toBeInstanceOf(Error)
    expect(memories.read(configMap({ labels: '{}' }), createMemo())).toBeUndefined()
  })
})

describe('a memory that is saved', () => {
  const content = (changes: Partial<Content> = {}): Content => ({ state: stateOf([entryOf()]), labels: {}, ...changes })
  const nothing = content({ state: stateOf([]) })

  test('a memory that is saved is created, replaced, and deleted once it is empty', async () => {
    const { api, kubernetes } = createCluster()
    const stored = () => api.objects().find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === NAME)
    const first = await memories.save(kubernetes, SUBJECT, await memories.load(kubernetes, SUBJECT), content())
    expect(JSON.parse(stored()?.data?.state ?? '')).toEqual(content().state)
    expect((await findMemory(kubernetes, SUBJECT))?.metadata.resourceVersion).toBe(
      first.stored?.metadata.resourceVersion,
    )
    const second = await memories.save(kubernetes, SUBJECT, first, content({ labels: { a: 'b' } }))
    expect(stored()?.data?.labels).toBe('{"a": "b"}')
    const third = await memories.save(kubernetes, SUBJECT, second, nothing)
    expect([stored(), third.stored, (await findMemory(kubernetes, SUBJECT))?.metadata.resourceVersion]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  test('a memory that is saved keeps the other data and labels of its ConfigMap', async () => {
    const object = configMap({ labels: '{}', state: JSON.stringify(stateOf([])), note: 'mine' })
    const { api, kubernetes } = createCluster({ ...object, metadata: { ...object.metadata, labels: { team: 'a' } } })
    await memories.save(kubernetes, SUBJECT, await memories.load(kubernetes, SUBJECT), content())
    const stored = api.objects().find(({ metadata }) => metadata.name === NAME)
    expect([stored?.data?.note, stored?.metadata.labels]).toEqual([
      'mine',
      { team: 'a', 'app.kubernetes.io/managed-by': 'meshstep', 'meshstep.dev/application': 'web' },
    ])
  })

  test('a memory that is saved already is not written again', () => {
    const memory = (one: Content, data?: Record<string, string>): Memory => ({
      ...one,
      stored: configMap(data ?? { labels: '{}', state: '{}' }),
    })
    expect(memories.isStored(memory(content()), content())).toBe(true)
    expect(memories.isStored(memory(content()), content({ labels: { a: 'b' } }))).toBe(false)
    expect(memories.isStored(memory(content()), content({ state: stateOf([entryOf({ id: 2 })]) }))).toBe(false)
    expect(memories.isStored(memory(nothing), nothing)).toBe(false)
    expect(memories.isStored({ ...nothing, stored: undefined }, nothing)).toBe(true)
    expect(memories.isStored({ ...nothing, stored: undefined }, content())).toBe(false)
    expect(memories.isStored({ ...nothing, stored: undefined }, { ...nothing, labels: { a: 'b' } })).toBe(false)
    expect(memories.isStored(memory(content(), { labels: '{}' }), content())).toBe(false)
  })

  test('a memory that is saved has the time of its last write', () => {
    const at = (...times: (string | undefined)[]) =>
      savedAt({
        ...content(),
        stored: configMap(
          {},
          times.map((time) => ({ manager: 'a', operation: 'Update', time }) as ManagedFields),
        ),
      })
    expect(at('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', undefined, 'no')).toBe(Date.parse('2026-01-02T00:00:00Z'))
    expect(at(undefined)).toBeUndefined()
    expect(at()).toBeUndefined()
    expect(savedAt({ ...content(), stored: undefined })).toBeUndefined()
    expect(savedAt({ ...content(), stored: configMap({}) })).toBeUndefined()
  })

  test('a memory that is saved is refused where it does not fit into a ConfigMap', async () => {
    const { kubernetes } = createCluster()
    const huge = content({ state: stateOf([], { settings: { a: 'x'.repeat(1024 * 1024) } }) })
    await expect(memories.save(kubernetes, SUBJECT, await memories.load(kubernetes, SUBJECT), huge)).rejects.toThrow(
      `the memory of web would have ${measureContent(huge)} bytes, at most ${FULL_BYTES} fit into a ConfigMap`,
    )
  })

  test('a memory has room for what is not larger than before, and for all up to the limit', () => {
    const sized = (bytes: number): Content => {
      const fill = (length: number) => content({ state: stateOf([], { settings: { a: 'x'.repeat(length) } }) })
      return fill(bytes - measureContent(fill(0)))
    }
    expect(hasRoom(sized(FULL_BYTES), sized(1_000))).toBe(true)
    expect(hasRoom(sized(FULL_BYTES + 1), sized(1_000))).toBe(false)
    expect(hasRoom(sized(FULL_BYTES + 1), sized(FULL_BYTES + 1))).toBe(true)
    expect(hasRoom(sized(FULL_BYTES + 2), sized(FULL_BYTES + 1))).toBe(false)
  })
})

describe('an object that is created', () => {
  const object: KubernetesObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'other' } }
  const answering = (status: number, body: object) => {
    const clock = fakeClock()
    return createKubernetes({
      ...{ clock, deadline: clock.now() + 1_000 },
      transport: async () => ({
        status,
        headers: {},
        body: JSON.stringify({ kind: 'Status', code: status, message: 'no', ...body }),
      }),
    })
  }

  test('an object that is created needs its namespace', async () => {
    await expect(createIn(createCluster().kubernetes, object, 'a')).rejects.toThrow(
      'Namespace other does not exist: create it, then send the event again',
    )
    const causes = [{ reason: 'NamespaceTerminating', message: '', field: '' }]
    const ending = answering(403, { reason: 'Forbidden', details: { causes } })
    await expect(createIn(ending, object, 'a')).rejects.toThrow(
      'Namespace other is being deleted with all that is in it',
    )
    await expect(createIn(answering(403, { reason: 'Forbidden' }), object, 'a')).rejects.toThrow('no')
  })
})

describe('a state', () => {
  test('a state is empty where nothing in it is worth a ConfigMap', () => {
    const isEmpty = (changes: Parameters<typeof stateOf>[1]) => isEmptyState(features.parts, stateOf([], changes))
    expect(isEmpty({})).toBe(true)
    expect(isEmpty({ awaiting: 'labels-applied', writeToken: 'a', tombstones: {} })).toBe(true)
    expect(isEmpty({ settings: {} })).toBe(true)
    expect(isEmpty({ removed: SINCE })).toBe(false)
    expect(isEmpty({ settings: { a: 'b' } })).toBe(false)
    expect(isEmptyState(features.parts, stateOf([entryOf()]))).toBe(false)
  })

  test('a state of an application that was removed has the relations of documents, and those that were told since', () => {
    const removed = { removed: SINCE, marks: { application: { at: 5 } } }
    expect(wordOf({}, entryOf())).toBe('established')
    expect(wordOf({}, entryOf({ waitsForId: true }))).toBe('waiting')
    expect(wordOf({}, entryOf({ waitsForId: true, status: 'ended' }))).toBe('over')
    expect(wordOf({}, entryOf({ status: 'ended' }))).toBe('over')
    expect(wordOf(removed, entryOf({ position: { at: 5 } }))).toBe('over')
    expect(wordOf(removed, entryOf({ position: { at: 6 } }))).toBe('established')
    expect(wordOf(removed, entryOf({ position: { at: 6 }, told: undefined }))).toBe('established')
    expect(wordOf(removed, entryOf({ document: 'one' }))).toBe('established')
    expect(wordOf({ removed: SINCE }, entryOf({ position: { at: 0 } }))).toBe('established')
    expect(isRemoved(stateOf([], removed))).toBe(true)
    expect(isRemoved(stateOf([entryOf({ position: { at: 6 } })], removed))).toBe(false)
    expect(isRemoved(stateOf([]))).toBe(false)
  })

  test('a state has a hundred previous targets, each once, and none that is current', () => {
    const target = (name: string, since = SINCE) => ({ kind: 'Service' as const, name, since })
    const kept = (...args: [Parameters<typeof withPreviousTargets>[1], Parameters<typeof withPreviousTargets>[2]?]) =>
      withPreviousTargets(stateOf([], { previousTargets: [target('old')] }), ...args).previousTargets
    expect(kept([target('a'), target('b'), target('a', 'later')])).toEqual([target('a'), target('b')])
    expect(kept([target('a'), target('b')], [{ kind: 'Service', name: 'a' }])).toEqual([target('b')])
    expect(kept([])).toBeUndefined()
    const many = Array.from({ length: 101 }, (_, index) => target(`a${index}`))
    expect(kept(many)).toEqual(many.slice(1))
  })
})
