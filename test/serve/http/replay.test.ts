import { describe, expect, test } from 'vitest'
import { knativeRequests } from '../../helpers/recorded.ts'
import { createWorld, type World, workload } from '../../helpers/world.ts'

const { requests, rollingUpdate } = knativeRequests()

const sendRecorded = async (world: World, name: string) => {
  const response = await world.app.request('/', { method: 'POST', ...requests[name] })
  return {
    status: response.status,
    body: (await response.json()) as { status?: string; application?: string; messages?: string[] },
  }
}

const inNamespace = (namespace: string, name: string, kind: 'StatefulSet' | 'Deployment' = 'StatefulSet') => {
  const object = workload(kind, name)
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec: { ports: [{ port: 80 }] } }
  return [{ ...object, metadata: { ...object.metadata, namespace } }, service]
}

describe('what Knative’s ApiServerSource really sends', () => {
  test.each([
    ['pod-add', 'web', 'unchanged'],
    ['lease-add', 'web', 'saved'],
    ['lease-update', 'web', 'saved'],
    ['pod-update-ready', undefined, 'unchanged'],
    ['pod-delete', 'web', 'unchanged'],
    ['pod-add-reference', undefined, 'unchanged'],
  ])('%s is taken', async (name, application, status) => {
    const world = createWorld(inNamespace('cap-resource', 'web'))
    const answer = await sendRecorded(world, name)
    expect(answer).toMatchObject({ status: 200, body: { status, ...(application && { application }) } })
  })

  test('a Pod in mode Reference is looked up', async () => {
    const world = createWorld(inNamespace('cap-reference', 'web'))
    expect((await sendRecorded(world, 'pod-add-reference')).body.application).toBe('web')
  })

  test('a Lease makes the leader known, once', async () => {
    const world = createWorld(inNamespace('cap-resource', 'web'))
    await sendRecorded(world, 'lease-add')
    world.calls.length = 0
    await sendRecorded(world, 'lease-update')
    expect(world.calls.filter((call) => !call.startsWith('GET'))).toEqual([])
    const memory = world.api.objects().find(({ metadata }) => metadata.name === 'juju-service-mesh-web-labels')
    expect(JSON.parse(memory?.data?.state ?? '{}').leader).toMatchObject({ unit: 'web/0', epoch: 0 })
  })

  test('a rolling update with a relation document in it: each event is taken, and the end is as before', async () => {
    const world = createWorld([...inNamespace('cos', 'tempo'), ...inNamespace('cos', 'sse-consumer', 'Deployment')])
    const labels = () =>
      world.api
        .objects()
        .filter(({ kind, metadata }) => metadata.name === 'tempo' && kind !== 'ConfigMap')
        .map(({ kind, metadata, spec }) => [
          kind,
          metadata.labels,
          (spec?.template as { metadata: unknown } | undefined)?.metadata,
        ])
    const before = labels()
    const seen: unknown[] = []
    for (const { headers, data } of rollingUpdate) {
      const isDocument = data.kind === 'ConfigMap'
      const path = `/api/v1/namespaces/cos/configmaps/${data.metadata.name}`
      if (isDocument) world.api.handle({ method: 'DELETE', path, headers: {} })
      if (isDocument && !headers['ce-type']?.endsWith('.delete'))
        world.api.seed([{ apiVersion: 'v1', ...data }], { manager: 'kubectl' })
      const response = await world.app.request('/', { method: 'POST', headers, body: JSON.stringify(data) })
      expect([response.status, await response.text()]).toEqual([200, expect.anything()])
      if (isDocument) seen.push(labels())
    }
    expect(seen[0]).toEqual([
      ['Service', { 'istio.io/dataplane-mode': 'ambient' }, undefined],
      [
        'StatefulSet',
        expect.anything(),
        { labels: expect.objectContaining({ 'istio.io/dataplane-mode': 'ambient', team: 'blue' }) },
      ],
    ])
    expect(seen[1]).toEqual(before)
    expect(labels()).toEqual(before)
  })
})
