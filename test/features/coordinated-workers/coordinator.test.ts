import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Relation } from '../../../src/core/state/relation.ts'
import { emptyState } from '../../../src/core/state/state.ts'
import { readCoordinator } from '../../../src/features/coordinated-workers/databag.ts'
import { desiredLabels } from '../../../src/features/service-mesh/desired-labels.ts'
import { pythonJson } from '../../../src/platform/base/python-json.ts'
import { TOLD } from '../../helpers/relations.ts'
import {
  byId,
  configWith,
  coordination,
  inNamespace,
  provider,
  READER,
  status,
  unitData,
  WRITER,
  workers,
} from './samples.ts'

const ON_MESH = { 'istio.io/use-waypoint': 'waypoint', 'istio.io/dataplane-mode': 'ambient' }
const MESH = { labels: ON_MESH, elsewhere: ON_MESH }
const OFF_MESH = { 'app.kubernetes.io/part-of': 'tempo' }
const INCONSISTENT = '[consistency] Cluster inconsistent. Missing roles: write.'

const told = ({ databags }: ReturnType<typeof coordination>, id: number) => {
  const read = readCoordinator(databags[id]?.data ?? {}, 'data')
  return 'value' in read ? read.value : read
}

describe('while a role is missing', () => {
  test('a worker that had no config yet gets none, but hears of the relation by its labels', () => {
    const result = coordination([READER])
    expect(status([READER])).toEqual({ status: 'blocked', message: INCONSISTENT })
    expect(result.databags).toEqual({ 4: { data: { worker_labels: pythonJson(OFF_MESH) }, partial: true } })
    expect(result.messages).toEqual(['relation 4 (cluster): gets a config once no role is missing'])
  })

  test('one that had a config before keeps it, and labels stay in step', () => {
    const configured = new Set(['4'])
    const before = coordination([READER, WRITER], { mesh: MESH })
    const readers = [READER, workers(6, 'other', 'read')]
    const now = coordination(readers, { mesh: MESH, configured })
    expect(status(readers).message).toBe(INCONSISTENT)
    expect(now.databags[4]).toEqual(before.databags[4])
    expect(Object.keys(now.databags[6]?.data ?? {})).toEqual(['worker_labels'])
    expect(told(coordination([READER], { configured }), 4)).toMatchObject({
      worker_config: 'target: all\n',
      worker_labels: OFF_MESH,
    })
  })

  test('a worker that left has no access', () => {
    const { meshPolicies } = coordination([READER], { mesh: MESH })
    expect(meshPolicies.map(({ policy }) => policy.source_app_name)).toEqual(['tempo', 'reader', 'reader'])
    expect(coordination([], { mesh: MESH }).meshPolicies).toHaveLength(1)
  })

  test('tracing is asked for', () => {
    expect(coordination([provider(9, 'charm-tracing', {})]).databags).toEqual({
      9: { data: { receivers: '["otlp_http"]' } },
    })
  })

  test('a role is missing because nobody works', () => {
    expect(status([])).toEqual({ status: 'blocked', message: '[consistency] Missing any worker relation.' })
    expect(coordination([])).toEqual({ meshPolicies: [], databags: {}, unserved: [], messages: [] })
  })
})

describe('a relation whose data are not complete', () => {
  const bad = { ...unitData('reader/0'), address: 5 }

  test('one bad unit blocks nobody', () => {
    const mixed = workers(4, 'reader', 'read', { 'reader/0': bad, 'reader/1': unitData('reader/1') })
    const result = coordination([mixed, WRITER])
    expect(result.databags).toEqual(coordination([READER, WRITER]).databags)
    expect(result.unserved).toEqual([expect.stringContaining('relation 4 (cluster): reader/0.address: expected')])
    expect(status([mixed, WRITER]).status).toBe('active')
  })

  test.each([
    ['no role, no config yet', undefined, [], 'gets a config once it announces a role'],
    ['a role of another cluster', 'backend', [], 'gets a config once it announces a role'],
    ['a role that cannot be read', 5, [4], 'its role is unknown; the published data stays in effect'],
  ])('%s', (_, role, configured, why) => {
    const silent = workers(4, 'silent', role)
    const result = coordination([silent, workers(5, 'both', 'all')], { configured: new Set(configured.map(String)) })
    const labels = { data: { worker_labels: pythonJson(OFF_MESH) }, partial: true }
    expect(result.databags[4]).toEqual(configured.length > 0 ? undefined : labels)
    expect(result.databags[5]?.data).toHaveProperty('worker_config')
    expect(result.messages.at(-1)).toBe(`relation 4 (cluster): ${why}`)
  })
})

describe('on a mesh', () => {
  test('telemetry must be routed', () => {
    const config = configWith({ telemetryProxy: undefined })
    const mandatory = expect.stringMatching(/^coordinator\.telemetryProxy: .* on a mesh routing is mandatory/)
    expect(coordination([READER, WRITER], { mesh: MESH, config }).messages).toEqual([mandatory])
    expect(coordination([READER, WRITER], { mesh: MESH }).messages).toEqual([])
    expect(coordination([READER, WRITER], { config }).messages).toEqual([])
  })

  test('a worker that the policies do not cover is named', () => {
    const relations = [inNamespace('other', READER), WRITER]
    expect(coordination(relations, { mesh: MESH }).messages).toEqual([expect.stringContaining('reader is in other')])
    expect(coordination(relations).messages).toEqual([])
  })

  test('without a mesh there are no policies inside a cluster', () => {
    const [on, off] = [coordination([READER, WRITER], { mesh: MESH }), coordination([READER, WRITER])]
    expect(on.meshPolicies).toHaveLength(5)
    expect(off.meshPolicies).toEqual([])
  })

  test('the label of the cluster is its own', () => {
    const labels = { z: 'z', 'app.kubernetes.io/part-of': 'beacon' }
    expect(
      coordination([READER, WRITER], { mesh: { labels, elsewhere: labels } }).databags[4]?.data.worker_labels,
    ).toBe('{"app.kubernetes.io/part-of": "tempo", "z": "z"}')
  })
})

describe('what workers are told', () => {
  const endpoints = {
    loki_endpoints: { 'loki/0': 'http://tempo:3300/proxy/loki/loki-0/push' },
    remote_write_endpoints: [{ url: 'http://p' }],
    charm_tracing_receivers: {},
    workload_tracing_receivers: { zipkin: 'http://t' },
  }
  const config = configWith({
    tls: { caCert: 'CA', serverCert: 'CERT', privkeySecretId: 'secret:1' },
    s3TlsCaChain: 'S3',
    workerPorts: { read: [9095, 7946], write: [9095], all: [1] },
  })

  test('all of it, and the ports of their roles', () => {
    const all = [READER, WRITER, workers(6, 'every', 'all')]
    const result = coordination(all, { config, endpoints, mesh: MESH })
    expect(status(all, config)).toEqual({ status: 'active', message: '' })
    const common = {
      worker_config: 'target: all\n',
      ...endpoints,
      ca_cert: 'CA',
      server_cert: 'CERT',
      privkey_secret_id: 'secret:1',
      s3_tls_ca_chain: 'S3',
      worker_labels: { ...OFF_MESH, ...MESH.labels },
    }
    expect(told(result, 4)).toEqual({ ...common, worker_ports: [7946, 9095] })
    expect(told(result, 5)).toEqual({ ...common, worker_ports: [9095] })
    expect(told(result, 6)).toEqual({ ...common, worker_ports: [1, 7946, 9095] })
  })

  test.each([
    ['text, as it is', 'a: [\n', '"a: [\\n"'],
    ['an object, as JSON, which is YAML', { a: { b: [1] } }, '"{\\"a\\":{\\"b\\":[1]}}"'],
    ['nothing: labels alone', undefined, '""'],
  ])('the config: %s', (_, workerConfig, expected) => {
    const { databags } = coordination([READER, WRITER], { config: configWith({ workerConfig, tls: true }) })
    expect(databags[4]?.data).toEqual({
      worker_config: expected,
      worker_labels: '{"app.kubernetes.io/part-of": "tempo"}',
    })
  })

  test('they hold the labels they are told', () => {
    const remote = {
      application: 'tempo',
      data: coordination([READER, WRITER], { mesh: MESH }).databags[4]?.data ?? {},
    }
    const relation: Relation = { id: 2, endpoint: 'cluster', interface: 'cluster', role: 'requires', ...TOLD, remote }
    expect(
      desiredLabels({ namespace: 'shop', application: 'web' }, { ...emptyState(), relations: byId(relation) }),
    ).toEqual({
      labels: { ...OFF_MESH, ...MESH.labels },
      required: true,
      unknown: [],
      messages: [],
    })
  })
})

test('in which order anything came does not matter', () => {
  const permutations = <T>(items: readonly T[]) => {
    const all = fc.shuffledSubarray([...items], { minLength: items.length })
    return fc.tuple(all, all)
  }
  const worker = fc.record({
    role: fc.constantFrom('read', 'write', 'all', 'write,read', 'unknown', 5),
    units: fc.uniqueArray(fc.constantFrom('w/0', 'w/1', 'w/2', 'w/10', 'stranger/0')).chain(permutations),
  })
  const run = fc
    .array(worker, { maxLength: 5 })
    .map((some) => some.map(({ role, units }, id) => units.map((order) => workers(id, 'w', role, order))))
    .chain((relations) =>
      fc.record({
        relations: permutations(relations),
        labels: permutations(Object.entries({ b: '2', a: '1', c: '3' })),
      }),
    )

  fc.assert(
    fc.property(run, ({ relations, labels }) => {
      const [one, other] = [0, 1].map((order) =>
        coordination([], {
          relations: Object.fromEntries(
            (relations[order] ?? [])
              .flatMap((orders) => orders.slice(order, order + 1))
              .map((each) => [`r${each.id}`, each]),
          ),
          mesh: { labels: Object.fromEntries(labels[order] ?? []), elsewhere: {} },
        }),
      )
      expect(JSON.stringify(one)).toBe(JSON.stringify(other))
    }),
  )
})
