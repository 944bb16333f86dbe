import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listAppliers } from '../../src/platform/kubernetes/field-managers.ts'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { relationsById } from '../helpers/relations.ts'
import { meshRelation } from '../helpers/world.ts'
import { type Cluster, CREATOR, openCluster, service, workload } from './cluster.ts'

const LABELS = { 'istio.io/dataplane-mode': 'ambient', 'istio.io/use-waypoint': 'beacon' }

// where Istio runs, the Service waits for its waypoint
const [CHANGED, UNCHANGED] = [/^(changed|waiting)$/, /^(unchanged|waiting)$/]

let cluster: Cluster
beforeAll(async () => {
  cluster = await openCluster()
})
afterAll(() => cluster.close())

/** An application of a new name, with the label `team: blue` of its creator. */
const createApplication = async (kind: 'StatefulSet' | 'Deployment') => {
  const object = workload(kind, cluster.namespace, { team: 'blue' })
  const application = object.metadata.name
  await cluster.create(object)
  await cluster.create(service(cluster.namespace, { team: 'blue' }, application))
  return application
}

const labelsOf = async (kind: 'StatefulSet' | 'Deployment', application: string) => {
  const reference = { namespace: cluster.namespace, name: application }
  const found = await cluster.kubernetes.find({ kind, ...reference })
  const template = found?.spec?.template as KubernetesObject | undefined
  const other = await cluster.kubernetes.find({ kind: 'Service', ...reference })
  return {
    template: template?.metadata.labels,
    service: other?.metadata.labels,
    appliers: [found, other].flatMap((object) => (object ? listAppliers(object) : [])),
  }
}

const memoryOf = (application: string) =>
  cluster.kubernetes.find({
    kind: 'ConfigMap',
    namespace: cluster.namespace,
    name: `juju-service-mesh-${application}-labels`,
  })

describe.each(['StatefulSet', 'Deployment'] as const)('an application that is a %s', (kind) => {
  test('an application keeps the label that its creator holds, and is told of the conflict', async () => {
    const application = await createApplication(kind)
    await cluster.send('relation-changed', { application, ...meshRelation(LABELS) })
    const handled = await cluster.send('config-changed', { application, config: { labels: { team: 'red' } } })
    const conflict = { key: 'team', manager: CREATOR, value: 'blue', wanted: 'red' }
    const name = `${cluster.namespace}/${application}`
    expect(handled).toMatchObject({
      status: 'conflict',
      conflicts: [
        { object: `${kind} ${name}`, ...conflict },
        { object: `Service ${name}`, ...conflict },
      ],
    })
    const own = { app: application, team: 'blue' }
    expect(await labelsOf(kind, application)).toMatchObject({
      template: { ...own, ...LABELS },
      service: { ...own, ...LABELS },
    })
    expect(JSON.parse((await memoryOf(application))?.data?.labels ?? '')).toEqual(LABELS)
  })

  test('an application joins, stays as it is when told again, follows its relation, and leaves the objects as they were', async () => {
    const application = await createApplication(kind)
    const own = { app: application, team: 'blue' }
    const before = { template: own, service: own, appliers: [] }
    expect(await labelsOf(kind, application)).toEqual(before)

    const joined = await cluster.send('relation-changed', { application, ...meshRelation(LABELS) })
    expect(joined).toMatchObject({ status: expect.stringMatching(CHANGED), conflicts: [] })
    const labels = { ...own, ...LABELS }
    const manager = `meshstep/${application}`
    expect(await labelsOf(kind, application)).toEqual({
      template: labels,
      service: labels,
      appliers: [manager, manager],
    })

    const again = await cluster.send('relation-changed', { application, ...meshRelation(LABELS) })
    // the memory knows the event, and nothing else has changed
    const memory = `ConfigMap ${cluster.namespace}/juju-service-mesh-${application}-labels`
    expect(again).toMatchObject({ status: expect.stringMatching(UNCHANGED), written: [memory] })
    expect((await cluster.send('resync', { application })).written).toEqual([])

    const changed = await cluster.send('relation-changed', {
      application,
      ...meshRelation({ 'istio.io/use-waypoint': 'on' }),
    })
    expect(changed.status).toMatch(CHANGED)
    expect((await labelsOf(kind, application)).template).toEqual({ ...own, 'istio.io/use-waypoint': 'on' })

    const left = await cluster.send('relation-broken', { application, relation: { id: 7 } })
    expect(left).toMatchObject({ status: 'changed', conflicts: [] })
    expect(await labelsOf(kind, application)).toEqual(before)
    // but for the memory that the relation has ended
    const state = JSON.parse((await memoryOf(application))?.data?.state ?? '')
    expect(relationsById(state)).toMatchObject({ 7: { status: 'ended' } })
    expect((await cluster.send('resync', { application })).written).toEqual([])
  })

  test('an application takes ten relations that change at once, without losing one', async () => {
    const application = await createApplication(kind)
    const ids = Array.from({ length: 10 }, (_, id) => id)
    const handled = await Promise.all(
      ids.map((id) =>
        cluster.send('relation-changed', {
          application,
          ...meshRelation({ 'istio.io/use-waypoint': `way-${id}` }, id),
        }),
      ),
    )
    expect(handled.map(({ status }) => status)).not.toContain('conflict')
    const wanted = { 'istio.io/use-waypoint': 'way-0' }
    expect((await labelsOf(kind, application)).template).toEqual({ app: application, team: 'blue', ...wanted })
    const { labels = '', state = '' } = (await memoryOf(application))?.data ?? {}
    expect(JSON.parse(labels)).toEqual(wanted)
    expect(Object.keys(relationsById(JSON.parse(state)))).toEqual(ids.map(String))
  })
})
