import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fieldConflicts, isStale } from '../../src/kubernetes/api-error.ts'
import { reconcileLabels } from '../../src/kubernetes/apply-labels.ts'
import type { KubernetesObject } from '../../src/kubernetes/objects.ts'
import { appliers, type FieldPath, holdersAt, stringsAt, withStringsAt } from '../../src/kubernetes/ownership.ts'
import { fieldManager } from '../../src/owner.ts'
import { until } from '../process/helpers.ts'
import { type Cluster, CREATOR, openCluster, pod, service, workload } from './cluster.ts'

const ownedKeys = (object: KubernetesObject, manager: string, path: FieldPath): string[] => [
  ...holdersAt(object, path, manager).own,
]

const otherHolders = (object: KubernetesObject, manager: string, path: FieldPath, key: string): readonly string[] =>
  holdersAt(object, path, manager).others.get(key) ?? []

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
  const apply = (object: KubernetesObject, labels: Record<string, string>) =>
    cluster.kubernetes.apply(withStringsAt(object, path, labels), OURS)
  const refusal = (object: KubernetesObject, labels: Record<string, string>): Promise<unknown> =>
    apply(object, labels).then(
      () => 'accepted',
      (error: unknown) => error,
    )
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
    expect(error).not.toSatisfy(isStale)
    expect(await labelsOf(object)).toEqual({ [MODE]: 'none', team: 'blue' })
  })

  test('a conflict that only the API server sees leaves the other labels to be applied', async () => {
    const object = await create()
    await mergeLabels(object, { [MODE]: 'none' }, 'kubectl-label')
    const wanted = { labels: { [MODE]: 'ambient', [WAYPOINT]: 'w' }, unknown: [], inherited: {} }
    const { conflicts } = await reconcileLabels(cluster.kubernetes, { object, path }, wanted, OURS)
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
    expect(error).not.toSatisfy(isStale)
  })

  test('an object that is gone is not made again', async () => {
    const object = await create()
    await cluster.erase(object)
    expect(await refusal(object, { [MODE]: 'ambient' })).toSatisfy(isStale)
    await expect(cluster.read(object)).rejects.toThrow('is not there')
  })

  test('a namesake is left alone', async () => {
    const description = make(cluster.namespace)
    const object = await cluster.create(description)
    await cluster.erase(object)
    await cluster.create(description)
    expect(await refusal(object, { [MODE]: 'ambient' })).toSatisfy(isStale)
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
    expect(appliers(await cluster.read(object))).toEqual([])
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
})
