import { beforeAll, describe, expect, test } from 'vitest'
import type { Request } from '../../src/embedded/api/api.ts'
import { relationsById } from '../helpers/relations.ts'
import { event, isWrite, MESH_LABELS, meshRelation, service, workload } from '../helpers/world.ts'
import { type Cluster, ensureBundle, post, serve, startCluster, until } from './helpers.ts'

beforeAll(ensureBundle)

/** More than the calls of a join: the last processes are killed after its answer. */
const MOST_CALLS = 25

/** The same event each time, as a broker redelivers it. */
const join = (application: string) => event('relation-changed', { application, ...meshRelation() }, { id: 'join' })

/** Never answers the call of this number, which the API server takes or not; resolves when it has come. */
const killPoint = (cluster: Cluster, number: number, isTaken: boolean): Promise<'reached'> => {
  const reached = Promise.withResolvers<'reached'>()
  let calls = 0
  cluster.intercept = (request: Request) => {
    calls += 1
    if (calls < number) return undefined
    if (calls === number && isTaken) cluster.api.handle(request)
    reached.resolve('reached')
    return new Promise<undefined>(() => undefined)
  }
  return reached.promise
}

/** The memory but for the times of its marks, which are as late as the event came. */
const memoryOf = (cluster: Cluster, application: string) => {
  const { labels, state = '{}' } = cluster.object('ConfigMap', `juju-service-mesh-${application}-labels`)?.data ?? {}
  return { labels, state: JSON.parse(state, (key, value) => (key === 'at' ? typeof value : value)) }
}

type Noted = { readonly peer?: { readonly sent?: string | null } }

/** Waits for what follows an answer: that it is noted what was sent. */
const untilNoted = (cluster: Cluster, application: string) =>
  until('a note', () => {
    const entries: Noted[] = Object.values(memoryOf(cluster, application).state.relations)
    return entries.some(({ peer }) => typeof peer?.sent === 'string')
  })

const seenOf = (cluster: Cluster, application: string) => ({
  labels: cluster.labels(application),
  memory: memoryOf(cluster, application),
  appliers: ['StatefulSet', 'Service'].map((kind) =>
    cluster.object(kind, application)?.metadata.managedFields?.map(({ manager }) => manager),
  ),
})

/** What an application of another name looks like. */
const renamed = (seen: unknown, from: string, to: string): unknown =>
  JSON.parse(JSON.stringify(seen).replaceAll(from, to))

describe('kill -9 at each call of a join, before the API server takes it or before its answer comes, by turns', () => {
  test('another process that gets the event of a killed one again finishes it, after which a repeat writes nothing', async () => {
    const names = ['whole', ...Array.from({ length: MOST_CALLS }, (_, number) => `cut-${number + 1}`)]
    const objects = names.flatMap((name) => [workload('StatefulSet', name), service(name)])
    const cluster = await startCluster(objects)
    const { environment } = cluster
    let server = await serve({ environment })
    expect((await post(server.url, join('whole'))).status).toBe(200)
    await untilNoted(cluster, 'whole')
    const whole = seenOf(cluster, 'whole')
    expect(whole.labels).toMatchObject({ template: MESH_LABELS, service: MESH_LABELS })

    let number = 1
    for (; number <= MOST_CALLS; number += 1) {
      const application = `cut-${number}`
      const reached = killPoint(cluster, number, number % 2 === 0)
      const answered = post(server.url, join(application)).then(
        ({ status }) => status,
        () => 'cut off' as const,
      )
      if ((await Promise.race([reached, answered])) !== 'reached') break
      await server.end('SIGKILL')
      // what comes last is done after the answer
      expect(['cut off', 200]).toContain(await answered)
      cluster.intercept = undefined

      server = await serve({ environment })
      expect((await post(server.url, join(application))).status).toBe(200)
      await untilNoted(cluster, application)
      expect(seenOf(cluster, application)).toEqual(renamed(whole, 'whole', application))
      cluster.calls.length = 0
      expect(await (await post(server.url, join(application))).json()).toMatchObject({
        status: 'unchanged',
        written: [],
      })
      expect(cluster.calls.filter(isWrite)).toEqual([])
    }
    // at least the memory is read and written, and workload and Service are
    expect(number).toBeGreaterThan(6)
    expect(number).toBeLessThan(MOST_CALLS)
  })
})

describe('two processes at once on one application', () => {
  test('two processes at once on one application with a relation each: all are remembered, and the label of the lowest id is there in the end', async () => {
    const cluster = await startCluster()
    const { environment } = cluster
    const servers = await Promise.all([serve({ environment }), serve({ environment })])
    const ids = [0, 1, 2, 3, 4, 5, 6, 7]
    const statuses = await Promise.all(
      ids.map(async (id) => {
        const data = meshRelation({ 'istio.io/use-waypoint': `way-${id}` }, id)
        return (await post(servers[id % 2]?.url ?? '', event('relation-changed', data))).status
      }),
    )
    expect(statuses).toEqual(ids.map(() => 200))
    const labels = { 'istio.io/use-waypoint': 'way-0' }
    expect(cluster.labels('web')).toMatchObject({ template: labels, service: labels })
    const { data } = cluster.object('ConfigMap', 'juju-service-mesh-web-labels') ?? {}
    expect(JSON.parse(data?.labels ?? '')).toEqual(labels)
    expect(Object.keys(relationsById(JSON.parse(data?.state ?? '')))).toEqual(ids.map(String))
  })

  test('where each has read the memory before the other wrote it', async () => {
    const cluster = await startCluster()
    const { environment } = cluster
    const servers = await Promise.all([serve({ environment }), serve({ environment })])
    const both = Promise.withResolvers<undefined>()
    let reads = 0
    cluster.intercept = ({ method, path }) => {
      if (method !== 'POST' || !path.includes('configmaps') || reads === 2) return undefined
      reads += 1
      if (reads === 2) both.resolve(undefined)
      return both.promise
    }
    const answers = await Promise.all(
      servers.map(async ({ url }, id) => {
        const label = id === 0 ? 'istio.io/use-waypoint' : 'istio.io/use-waypoint-namespace'
        const response = await post(url, event('relation-changed', meshRelation({ [label]: 'on' }, id)))
        return response.status
      }),
    )
    expect(answers).toEqual([200, 200])
    expect(reads).toBe(2)
    expect(cluster.labels('web').template).toMatchObject({
      'istio.io/use-waypoint': 'on',
      'istio.io/use-waypoint-namespace': 'on',
    })
  })
})
