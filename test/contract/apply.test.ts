import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fieldConflicts, isVersionConflict } from '../../src/platform/kubernetes/api-error.ts'
import { diffLabels, writeLabels } from '../../src/platform/kubernetes/apply-labels.ts'
import {
  type FieldPath,
  fieldManagersAt,
  listAppliers,
  stringsAt,
  withStringsAt,
} from '../../src/platform/kubernetes/field-managers.ts'
import type { WantedLabels } from '../../src/platform/kubernetes/label-difference.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { fieldManager } from '../../src/platform/kubernetes/ownership-labels.ts'
import { FENCE, touch } from '../../src/platform/kubernetes/touch.ts'
import { until } from '../process/helpers.ts'
import { type Cluster, CREATOR, openCluster, pod, service, workload } from './cluster.ts'

const ownedKeys = (object: KubernetesObject, manager: string, path: FieldPath): string[] => [
  ...fieldManagersAt(object, path, manager).own,
]

const otherHolders = (object: KubernetesObject, manager: string, path: FieldPath, key: string): readonly string[] =>
  fieldManagersAt(object, path, manager).others.get(key) ?? []

const OURS = fieldManager('web')
const MODE = 'istio.io/dataplane-mode'
const WAYPOINT = 'istio.io/use-waypoint'
const OWN = ['metadata', 'labels']
const TEMPLATE = ['spec', 'template', 'metadata', 'labels']

let cluster: Cluster
beforeAll(async () => {
  cluster = await openCluster()
})
afterAll(() => cluster.close())

type Make = (namespace: string, labels?: Record<string, string>) => KubernetesObject

const places: { place: string; make: Make; path: string[]; invalidField: string }[] = [
  {
    place: 'the template of a StatefulSet',
    make: (namespace, labels) => workload('StatefulSet', namespace, labels),
    path: TEMPLATE,
    invalidField: 'spec.template.labels',
  },
  {
    place: 'the template of a Deployment',
    make: (namespace, labels) => workload('Deployment', namespace, labels),
    path: TEMPLATE,
    invalidField: 'spec.template.labels',
  },
  { place: 'a Service', make: service, path: OWN, invalidField: 'metadata.labels' },
  { place: 'a pod', make: pod, path: OWN, invalidField: 'metadata.labels' },
]

describe.each(places)('labels on $place', ({ make, path, invalidField }) => {
  const create = (labels?: Record<string, string>) => cluster.create(make(cluster.namespace, labels))
  /** Brings the labels of the object, as it was seen, to what is wanted. */
  const write = (object: KubernetesObject, wanted: WantedLabels) =>
    writeLabels(cluster.kubernetes, { object, path }, diffLabels({ object, path }, wanted, OURS), OURS)
  /** Applies to the object as it was seen. */
  const applySeen = (object: KubernetesObject, labels: Record<string, string>) =>
    cluster.kubernetes.apply(withStringsAt(object, path, labels), OURS)
  /** Applies to the object as it is now; a controller may write its status in between. */
  const apply = (object: KubernetesObject, labels: Record<string, string>) =>
    settled(object, (current) => applySeen(current, labels))
  const settled = <T>(object: KubernetesObject, write: (current: KubernetesObject) => Promise<T>): Promise<T> =>
    until('nobody writes in between', async () =>
      write(await cluster.read(object)).catch((error: unknown) => {
        if (!isVersionConflict(error)) throw error
        return undefined
      }),
    )
  const refusalOf = (promise: Promise<unknown>): Promise<unknown> =>
    promise.then(
      () => 'accepted',
      (error: unknown) => error,
    )
  const refusal = (object: KubernetesObject, labels: Record<string, string>) => refusalOf(apply(object, labels))
  /** All but the one that the object was created with. */
  const labelsOf = async (object: KubernetesObject): Promise<Record<string, string>> => {
    const { app: _, ...labels } = stringsAt(await cluster.read(object), path)
    return labels
  }
  const mergeLabels = (object: KubernetesObject, labels: Record<string, string | null>, manager: string) => {
    const { metadata, ...others } = path.reduceRight<unknown>((value, name) => ({ [name]: value }), labels) as Record<
      string,
      unknown
    >
    return cluster.merge(object, metadata === undefined ? others : { metadata }, manager)
  }

  test('a key that another manager holds with another value is refused with its name and the manager’s', async () => {
    const object = await create({ [MODE]: 'none', team: 'blue' })
    const error = await refusal(object, { [MODE]: 'ambient', [WAYPOINT]: 'w', team: 'red' })
    expect(fieldConflicts(error).toSorted((a, b) => a.field.localeCompare(b.field))).toEqual([
      { field: `.${path.join('.')}.${MODE}`, manager: CREATOR },
      { field: `.${path.join('.')}.team`, manager: CREATOR },
    ])
    expect(error).not.toSatisfy(isVersionConflict)
    expect(await labelsOf(object)).toEqual({ [MODE]: 'none', team: 'blue' })
  })

  test('a conflict that came after the look is seen at the next one, and leaves the other labels to be applied', async () => {
    const object = await create()
    await mergeLabels(object, { [MODE]: 'none' }, 'kubectl-label')
    const wanted = { labels: { [MODE]: 'ambient', [WAYPOINT]: 'w' }, unknown: [], inherited: {} }
    const reconcile = (seen: KubernetesObject) => write(seen, wanted)
    expect(await refusalOf(reconcile(object))).toSatisfy(isVersionConflict)
    expect(await labelsOf(object)).toEqual({ [MODE]: 'none' })
    await settled(object, reconcile)
    const { conflicts } = diffLabels({ object: await cluster.read(object), path }, wanted, OURS)
    expect(conflicts).toMatchObject([{ key: MODE, manager: 'kubectl-label', wanted: 'ambient' }])
    expect(await labelsOf(object)).toEqual({ [MODE]: 'none', [WAYPOINT]: 'w' })
  })

  test('a label that is not valid is refused with its field', async () => {
    const error = await refusal(await create(), { team: 'not valid' })
    expect(error).toMatchObject({
      name: 'ApiError',
      status: 422,
      causes: expect.arrayContaining([expect.objectContaining({ field: invalidField })]),
    })
    expect(error).not.toSatisfy(isVersionConflict)
  })

  test('an object that is gone is not made again', async () => {
    const object = await create()
    await cluster.erase(object)
    expect(await refusalOf(applySeen(object, { [MODE]: 'ambient' }))).toSatisfy(isVersionConflict)
    await expect(cluster.read(object)).rejects.toThrow('is not there')
  })

  test('a namesake is left alone', async () => {
    const description = make(cluster.namespace)
    const object = await cluster.create(description)
    await cluster.erase(object)
    const namesake = await cluster.create(description)
    expect(await refusalOf(applySeen(object, { [MODE]: 'ambient' }))).toSatisfy(isVersionConflict)
    // whichever of the two is wrong: the version that is there does not make up for the uid
    const { resourceVersion } = namesake.metadata
    const mixed = { ...object, metadata: { ...object.metadata, resourceVersion } }
    expect(await refusalOf(applySeen(mixed as KubernetesObject, { [MODE]: 'ambient' }))).toSatisfy(isVersionConflict)
    expect(await labelsOf(object)).toEqual({})
  })

  test('they are added, under our name', async () => {
    const object = await create({ team: 'blue' })
    await apply(object, { [MODE]: 'ambient', [WAYPOINT]: 'w' })
    expect(await labelsOf(object)).toEqual({ team: 'blue', [MODE]: 'ambient', [WAYPOINT]: 'w' })
    expect(ownedKeys(await cluster.read(object), OURS, path).toSorted()).toEqual([MODE, WAYPOINT])
  })

  test('adding them again is no write', async () => {
    const object = await create()
    await apply(object, { [MODE]: 'ambient' })
    // a controller may write its status in between, once
    await until('the version stays', async () => {
      const { resourceVersion } = (await cluster.read(object)).metadata
      return (await apply(object, { [MODE]: 'ambient' })).metadata.resourceVersion === resourceVersion
    })
  })

  test('applying less removes what is left out, and nothing of anybody else’s', async () => {
    const object = await create({ team: 'blue' })
    await apply(object, { [MODE]: 'ambient', [WAYPOINT]: 'w' })
    await apply(object, { [WAYPOINT]: 'w' })
    expect(await labelsOf(object)).toEqual({ team: 'blue', [WAYPOINT]: 'w' })
  })

  test('applying nothing removes all of ours, and our name with them', async () => {
    const object = await create({ team: 'blue' })
    await apply(object, { [MODE]: 'ambient', [WAYPOINT]: 'w' })
    await apply(object, {})
    expect(await labelsOf(object)).toEqual({ team: 'blue' })
    expect(listAppliers(await cluster.read(object))).toEqual([])
  })

  test('the value that another manager wants too is shared, and outlives us', async () => {
    const object = await create({ [MODE]: 'ambient' })
    const shared = await apply(object, { [MODE]: 'ambient' })
    expect([ownedKeys(shared, OURS, path), otherHolders(shared, OURS, path, MODE)]).toEqual([[MODE], [CREATOR]])
    await apply(object, {})
    expect(await labelsOf(object)).toEqual({ [MODE]: 'ambient' })
  })

  test('a label that somebody overwrites is theirs from then on', async () => {
    const object = await create()
    await apply(object, { [MODE]: 'ambient', [WAYPOINT]: 'w' })
    await mergeLabels(object, { [MODE]: 'none' }, 'kubectl-label')
    const taken = await cluster.read(object)
    expect([ownedKeys(taken, OURS, path), otherHolders(taken, OURS, path, MODE)]).toEqual([
      [WAYPOINT],
      ['kubectl-label'],
    ])
    expect(fieldConflicts(await refusal(object, { [MODE]: 'ambient', [WAYPOINT]: 'w' }))).toEqual([
      { field: `.${path.join('.')}.${MODE}`, manager: 'kubectl-label' },
    ])
    await apply(object, {})
    expect(await labelsOf(object)).toEqual({ [MODE]: 'none' })
  })

  test('a label that somebody removed comes back when it is applied again', async () => {
    const object = await create()
    await apply(object, { [MODE]: 'ambient' })
    await mergeLabels(object, { [MODE]: null }, 'kubectl-label')
    expect(ownedKeys(await cluster.read(object), OURS, path)).toEqual([])
    await apply(object, { [MODE]: 'ambient' })
    expect(await labelsOf(object)).toEqual({ [MODE]: 'ambient' })
  })

  test('an object that has changed since it was seen is refused, whether the apply changes anything or not', async () => {
    const object = await create()
    await apply(object, { [MODE]: 'ambient' })
    const seen = await cluster.read(object)
    await mergeLabels(object, { other: '1' }, 'kubectl-label')
    const tries: Record<string, string>[] = [{ [MODE]: 'ambient' }, { [MODE]: 'ambient', [WAYPOINT]: 'w' }, {}]
    for (const labels of tries) expect(await refusalOf(applySeen(seen, labels))).toSatisfy(isVersionConflict)
    expect(await labelsOf(object)).toEqual({ [MODE]: 'ambient', other: '1' })
  })

  test('a conflict at an old version writes nothing, whichever of the two is told', async () => {
    const object = await create({ team: 'blue' })
    await mergeLabels(object, { other: '1' }, 'kubectl-label')
    const error = await refusalOf(applySeen(object, { team: 'red', [MODE]: 'ambient' }))
    expect(error).toMatchObject({ name: 'ApiError', status: 409 })
    expect(await labelsOf(object)).toEqual({ team: 'blue', other: '1' })
  })

  test('a removal is refused when the object has changed since it was seen', async () => {
    const object = await create()
    await apply(object, { [MODE]: 'ambient', [WAYPOINT]: 'w' })
    const seen = await cluster.read(object)
    await mergeLabels(object, { other: '1' }, 'kubectl-label')
    const wanted = { labels: {}, unknown: [], inherited: { [MODE]: 'ambient' } }
    const remove = (current: KubernetesObject) => write(current, wanted)
    expect(await refusalOf(remove(seen))).toSatisfy(isVersionConflict)
    expect(await labelsOf(object)).toEqual({ [MODE]: 'ambient', [WAYPOINT]: 'w', other: '1' })
    await settled(object, remove)
    expect(await labelsOf(object)).toEqual({ other: '1' })
  })

  describe.each([
    ['labels of ours', { [MODE]: 'ambient', [WAYPOINT]: 'w' }],
    ['none', {}],
  ])('with %s, a fence', (_, labels: Record<string, string>) => {
    const fence = async (current: KubernetesObject) => {
      await touch(cluster.kubernetes, current, 'fence-1')
      return current
    }
    const managers = ({ metadata }: KubernetesObject) =>
      (metadata.managedFields ?? [])
        .filter(({ subresource }) => subresource === undefined)
        .map(({ manager, operation, fieldsV1 }) => ({ manager, operation, fieldsV1 }))

    test('a fence changes the version and nothing else', async () => {
      const object = await create({ team: 'blue' })
      await apply(object, labels)
      const before = await settled(object, fence)
      const after = await cluster.read(object)
      expect(after.metadata.resourceVersion).not.toBe(before.metadata.resourceVersion)
      expect(after.metadata.annotations?.[FENCE]).toBeUndefined()
      // a controller that writes between the two halves of a first try leaves what that one held to the next
      expect(managers(after)).toEqual(managers(before).filter(({ manager }) => manager !== 'meshstep-fence'))
      expect(JSON.stringify(after)).not.toContain(FENCE)
      expect(after.spec).toEqual(before.spec)
      expect(after.metadata.labels).toEqual(before.metadata.labels)
      expect(after.metadata.generation).toBe(before.metadata.generation)
    })

    test('a fence keeps out what was sent before', async () => {
      const object = await create({ team: 'blue' })
      await apply(object, labels)
      const seen = await settled(object, fence)
      expect(await refusalOf(applySeen(seen, { late: '1' }))).toSatisfy(isVersionConflict)
      expect(await refusalOf(applySeen(seen, labels))).toSatisfy(isVersionConflict)
      expect(await refusalOf(cluster.kubernetes.remove(seen))).toSatisfy(isVersionConflict)
      expect(await labelsOf(object)).toEqual({ team: 'blue', ...labels })
    })
  })
})
