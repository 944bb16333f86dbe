import { expect, test } from 'vitest'
import { writeLabels } from '../../../src/platform/kubernetes/apply-labels.ts'
import { createKubernetes } from '../../../src/platform/kubernetes/client.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { createClient } from '../../embedded/client.ts'
import { fakeClock } from '../../helpers/clock.ts'

const PATH = '/api/v1/namespaces/default/services/db'
const LABELS = ['metadata', 'labels']

const chart = (labels: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'db', labels },
  spec: { selector: { app: 'db' }, ports: [{ port: 80 }] },
})

/** A Service that somebody else applied with `labels`, and what writes ours to it as it was seen then. */
const createService = (labels: Record<string, string>) => {
  const client = createClient()
  const applyChart = (more: Record<string, string>) =>
    client.call('PATCH', `${PATH}?fieldManager=chart`, chart(more), 'application/apply-patch+yaml')
  expect(applyChart(labels).status).toBe(201)
  const calls: string[] = []
  const kubernetes = createKubernetes({
    clock: fakeClock(),
    deadline: Number.POSITIVE_INFINITY,
    transport: async (request) => {
      calls.push(`${request.method} ${request.path}`)
      return client.api.handle(request)
    },
  })
  const live = (): KubernetesObject => client.get(PATH).object
  const seen = live()
  const write = (apply: Record<string, string>, object = seen) =>
    writeLabels(kubernetes, { object, path: LABELS }, { remove: {}, apply }, 'meshstep/db')
  return { applyChart, calls, live, write }
}

const managersOf = ({ metadata: { managedFields = [] } }: KubernetesObject): string[] =>
  managedFields.filter(({ operation }) => operation === 'Apply').map(({ manager }) => manager)

test('labels are applied to a Service that somebody else applied without any label', async () => {
  const { applyChart, live, write } = createService({})
  expect(await write({ a: 'b' })).toEqual({ written: 'Service default/db', conflicts: [] })
  expect(live().metadata.labels).toEqual({ a: 'b' })
  expect(applyChart({}).status).toBe(200)
  expect(live().metadata.labels).toEqual({ a: 'b' })
  expect(managersOf(live()).toSorted()).toEqual(['chart', 'meshstep/db'])
  await write({}, live())
  expect(live().metadata.labels).toBeUndefined()
})

test('a label that somebody else adds meanwhile is not taken', async () => {
  const { applyChart, live, write } = createService({})
  applyChart({ a: 'theirs' })
  await expect(write({ a: 'ours' })).rejects.toThrow(/409/)
  expect(live().metadata.labels).toEqual({ a: 'theirs' })
})

test('a label that somebody else applied is a conflict, and nothing is forced', async () => {
  const { calls, live, write } = createService({ a: 'theirs' })
  expect(await write({ a: 'ours', b: 'ours' })).toMatchObject({ conflicts: [{ key: 'a', manager: 'chart' }] })
  expect(live().metadata.labels).toEqual({ a: 'theirs', b: 'ours' })
  expect(calls.filter((call) => call.includes('force'))).toEqual([])
})
