import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApiError, isVersionConflict } from '../../src/platform/kubernetes/api-error.ts'
import { applyObject } from '../../src/platform/kubernetes/apply-objects.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { type Cluster, configMap, openCluster, service, workload } from './cluster.ts'

let cluster: Cluster
beforeAll(async () => {
  cluster = await openCluster()
})
afterAll(() => cluster.close())

const refusal = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'accepted',
    (error: unknown) => error,
  )

const reference = ({ metadata: { namespace, name } }: KubernetesObject) => ({
  kind: 'ConfigMap' as const,
  namespace,
  name,
})

describe('an object', () => {
  test('an object that does not exist is undefined, no error', async () => {
    expect(await cluster.kubernetes.find(reference(configMap(cluster.namespace)))).toBeUndefined()
  })

  test('an object that exists already is not created again: who tries has read something old', async () => {
    const object = configMap(cluster.namespace)
    await cluster.create(object)
    const error = await refusal(cluster.kubernetes.create({ ...object, data: { one: '2' } }, 'meshstep'))
    expect(error).toSatisfy(isVersionConflict)
    expect((await cluster.read(object)).data).toEqual({ one: '1' })
  })

  test('an object cannot be created in a namespace that does not exist', async () => {
    const error = await refusal(cluster.kubernetes.create(configMap('meshstep-contract-nowhere'), 'meshstep'))
    expect(error).toMatchObject({ name: 'ApiError', status: 404 })
    expect(error).not.toSatisfy(isVersionConflict)
  })
})

describe('replace', () => {
  test('replace with a version that is not the last one is refused', async () => {
    const old = await cluster.create(configMap(cluster.namespace))
    await cluster.kubernetes.replace({ ...old, data: { one: '2' } }, 'meshstep')
    expect(await refusal(cluster.kubernetes.replace({ ...old, data: { one: '3' } }, 'meshstep'))).toSatisfy(
      isVersionConflict,
    )
    expect((await cluster.read(old)).data).toEqual({ one: '2' })
  })

  test('of what is gone is refused, and does not bring it back', async () => {
    const old = await cluster.create(configMap(cluster.namespace))
    await cluster.erase(old)
    expect(await refusal(cluster.kubernetes.replace(old, 'meshstep'))).toSatisfy(isVersionConflict)
    expect(await cluster.kubernetes.find(reference(old))).toBeUndefined()
  })

  test('of a namesake is refused', async () => {
    const object = configMap(cluster.namespace)
    const old = await cluster.create(object)
    await cluster.erase(old)
    await cluster.create(object)
    expect(await refusal(cluster.kubernetes.replace({ ...old, data: { one: '2' } }, 'meshstep'))).toSatisfy(
      isVersionConflict,
    )
    expect((await cluster.read(old)).data).toEqual({ one: '1' })
  })

  test('replace answers with the next version', async () => {
    const old = await cluster.create(configMap(cluster.namespace))
    const next = await cluster.kubernetes.replace({ ...old, data: { one: '2' } }, 'meshstep')
    expect(next.data).toEqual({ one: '2' })
    expect(next.metadata.resourceVersion).not.toBe(old.metadata.resourceVersion)
  })
})

describe('JSON patch', () => {
  const KEY = 'istio.io/dataplane-mode'
  const path = '/metadata/labels/istio.io~1dataplane-mode'

  test('JSON patch is refused as a whole when a test in it fails', async () => {
    const object = await cluster.create(configMap(cluster.namespace, { [KEY]: 'ambient' }))
    const operations = [
      { op: 'remove' as const, path },
      { op: 'test' as const, path: '/data/one', value: '2' },
    ]
    expect(await refusal(cluster.kubernetes.patch(reference(object), operations, 'meshstep'))).toSatisfy(
      isVersionConflict,
    )
    expect((await cluster.read(object)).metadata.labels).toEqual({ [KEY]: 'ambient' })
  })

  test('JSON patch is refused when what it tests is not there', async () => {
    const object = await cluster.create(configMap(cluster.namespace, { other: '1' }))
    const operations = [{ op: 'test' as const, path, value: 'ambient' }]
    expect(await refusal(cluster.kubernetes.patch(reference(object), operations, 'meshstep'))).toSatisfy(
      isVersionConflict,
    )
  })

  test('JSON patch is refused when the object is not of the version that it tests for', async () => {
    const object = await cluster.create(configMap(cluster.namespace, { [KEY]: 'ambient' }))
    const operations = (version: string | undefined) => [
      { op: 'test' as const, path: '/metadata/resourceVersion', value: version },
      { op: 'test' as const, path, value: 'ambient' },
      { op: 'remove' as const, path },
    ]
    const next = await cluster.kubernetes.replace({ ...object, data: { one: '2' } }, 'meshstep')
    const old = operations(object.metadata.resourceVersion)
    expect(await refusal(cluster.kubernetes.patch(reference(object), old, 'meshstep'))).toSatisfy(isVersionConflict)
    expect((await cluster.read(object)).metadata.labels).toEqual({ [KEY]: 'ambient' })
    const current = operations(next.metadata.resourceVersion)
    await cluster.kubernetes.patch(reference(object), current, 'meshstep')
    expect((await cluster.read(object)).metadata.labels ?? {}).toEqual({})
  })

  test('of what is gone is refused', async () => {
    const error = await refusal(cluster.kubernetes.patch(reference(configMap(cluster.namespace)), [], 'meshstep'))
    expect(error).toSatisfy(isVersionConflict)
  })

  test('JSON patch removes a label whose key has a slash, while it has the value tested for', async () => {
    const object = await cluster.create(configMap(cluster.namespace, { [KEY]: 'ambient', other: '1' }))
    const operations = [
      { op: 'test' as const, path: '/metadata/uid', value: object.metadata.uid },
      { op: 'test' as const, path, value: 'ambient' },
      { op: 'remove' as const, path },
    ]
    await cluster.kubernetes.patch(reference(object), operations, 'meshstep')
    expect((await cluster.read(object)).metadata.labels).toEqual({ other: '1' })
  })
})

describe('remove', () => {
  test('remove spares an object that was written since it was seen', async () => {
    const old = await cluster.create(configMap(cluster.namespace))
    await cluster.kubernetes.replace({ ...old, data: { one: '2' } }, 'meshstep')
    expect(await refusal(cluster.kubernetes.remove(old))).toSatisfy(isVersionConflict)
    expect((await cluster.read(old)).data).toEqual({ one: '2' })
  })

  test('remove spares a namesake', async () => {
    const object = configMap(cluster.namespace)
    const old = await cluster.create(object)
    await cluster.erase(old)
    const namesake = await cluster.create(object)
    expect(await refusal(cluster.kubernetes.remove(old))).toSatisfy(isVersionConflict)
    expect((await cluster.read(old)).metadata.uid).toBe(namesake.metadata.uid)
  })

  test('remove takes what was seen away, and may be repeated', async () => {
    const object = await cluster.create(configMap(cluster.namespace))
    await cluster.kubernetes.remove(object)
    expect(await cluster.kubernetes.find(reference(object))).toBeUndefined()
    await expect(cluster.kubernetes.remove(object)).resolves.toBeUndefined()
  })
})

const policy = (namespace: string): KubernetesObject => ({
  apiVersion: 'security.istio.io/v1',
  kind: 'AuthorizationPolicy',
  metadata: { name: `policy-${crypto.randomUUID()}`, namespace },
  spec: { rules: [{ from: [{ source: { principals: ['cluster.local/ns/shop/sa/web'] } }] }] },
})

describe.each<[string, (namespace: string) => KubernetesObject]>([
  ['a ConfigMap', (namespace) => configMap(namespace)],
  ['a Service', (namespace) => service(namespace)],
  ['a StatefulSet', (namespace) => workload('StatefulSet', namespace)],
  ['a custom resource', policy],
])('apply of %s that was absent', (_, make) => {
  const apply = (desired: KubernetesObject) =>
    applyObject(cluster.kubernetes, { desired, live: undefined }, 'meshstep/web')
  const labelled = (object: KubernetesObject, team: string): KubernetesObject => ({
    ...object,
    metadata: { ...object.metadata, labels: { ...object.metadata.labels, team } },
  })

  test('apply of an object that was absent is refused where it has been made since, also by us, and leaves it as it is', async () => {
    const object = make(cluster.namespace)
    await apply(labelled(object, 'blue'))
    const made = await cluster.read(object)
    expect(await refusal(apply(labelled(object, 'red')))).toSatisfy(isVersionConflict)
    expect((await cluster.read(object)).metadata).toMatchObject({ uid: made.metadata.uid, labels: { team: 'blue' } })
  })

  test('apply of an object that was absent makes it, with a version of its own', async () => {
    const object = make(cluster.namespace)
    const { applied } = await apply(object)
    const { uid, resourceVersion } = (await cluster.read(object)).metadata
    expect(applied?.metadata.uid).toBe(uid)
    expect(Number(applied?.metadata.resourceVersion)).toBeGreaterThan(1)
    // a controller may have written the status of what was made
    expect(Number(applied?.metadata.resourceVersion)).toBeLessThanOrEqual(Number(resourceVersion))
  })
})

describe('list', () => {
  test('list with a selector that cannot be parsed is refused', async () => {
    const error = await refusal(cluster.kubernetes.list('ConfigMap', cluster.namespace, 'a=b,,'))
    expect(error).toBeInstanceOf(ApiError)
  })

  test('list tells the objects that carry the labels, with kind and apiVersion', async () => {
    const [one, other] = [configMap(cluster.namespace), configMap(cluster.namespace)]
    const labels = { 'meshstep.dev/application': one.metadata.name, 'app.kubernetes.io/managed-by': 'meshstep' }
    await cluster.create({ ...one, metadata: { ...one.metadata, labels } })
    await cluster.create({
      ...other,
      metadata: { ...other.metadata, labels: { ...labels, 'meshstep.dev/application': 'b' } },
    })
    const found = await cluster.kubernetes.list(
      'ConfigMap',
      cluster.namespace,
      `app.kubernetes.io/managed-by=meshstep,meshstep.dev/application=${one.metadata.name}`,
    )
    expect(found).toMatchObject([{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: one.metadata.name } }])
    expect(found).toHaveLength(1)
    const both = await cluster.kubernetes.list('ConfigMap', cluster.namespace, 'meshstep.dev/application')
    expect(both).toHaveLength(2)
  })

  test('list tells who manages which fields', async () => {
    const { metadata } = await cluster.create(workload('StatefulSet', cluster.namespace))
    const found = await cluster.kubernetes.list('StatefulSet', cluster.namespace)
    const object = found.find(({ metadata: { uid } }) => uid === metadata.uid)
    expect(object?.metadata.managedFields?.map(({ manager }) => manager)).toContain('juju')
  })
})
