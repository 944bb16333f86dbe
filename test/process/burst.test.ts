import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import type { KubernetesObject } from '../../src/platform/kubernetes/objects.ts'
import { createControlGroup } from '../helpers/control-group.ts'
import { configDocument, crowd, documentEvent } from '../helpers/crowd.ts'
import { event, service, workload } from '../helpers/world.ts'
import { ensureBundle, post, serve, startCluster } from './helpers.ts'

beforeAll(ensureBundle)

const MEBIBYTE = 1024 * 1024

/** The bounds of the image. */
const IMAGE = {
  MALLOC_ARENA_MAX: '2',
  NODE_OPTIONS: '--max-old-space-size-percentage=45 --max-semi-space-size=8',
}

const AT_ONCE = 20

const NOT_TESTED = 'no control group can be made here: that a process lives within a bound of memory was not tested'

test.for([256, 128])(
  'a process of %s MiB lives through 20 events at once beside 100 memories of 100 kB, and all are applied',
  async (mebibytes, { skip }) => {
    const limit = `${mebibytes * MEBIBYTE}`
    const group = await createControlGroup([
      { root: '/sys/fs/cgroup/memory', file: 'memory.limit_in_bytes', text: limit },
      { root: '/sys/fs/cgroup', file: 'memory.max', text: limit },
    ])
    if (!group) return skip(NOT_TESTED)
    onTestFinished(() => group.remove())
    const names = Array.from({ length: AT_ONCE }, (_, index) => `new-${index}`)
    const cluster = await startCluster([
      ...(await crowd(100)),
      ...names.flatMap((name) => [workload('StatefulSet', name), service(name), configDocument(name)]),
    ])
    const { url, end } = await serve({ environment: { ...cluster.environment, ...IMAGE }, enter: group.enter })
    const statuses: number[] = []
    const deliver = async (application: string): Promise<void> => {
      const told = documentEvent(application)
      for (;;) {
        const response = await post(url, told)
        await response.arrayBuffer()
        statuses.push(response.status)
        if (![429, 503].includes(response.status)) return
        expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
        await sleep(1_000)
      }
    }
    await Promise.all(names.map(deliver))
    expect(statuses.filter((one) => ![200, 429, 503].includes(one))).toEqual([])
    expect(names.filter((name) => cluster.labels(name).template.tier !== 'gold')).toEqual([])
    expect(await end('SIGTERM')).toEqual({ code: 0, signal: null })
  },
)

const PLANTED = 60

/** Almost as much as the API server keeps of one object. */
const PATHS = Array.from({ length: 9_000 }, (_, index) => `/${index}`.padEnd(99, 'x'))

const plantedPolicy = (index: number): KubernetesObject => ({
  apiVersion: 'security.istio.io/v1',
  kind: 'AuthorizationPolicy',
  metadata: {
    ...{ name: `planted-${index}`, namespace: 'attacker' },
    labels: {
      ...{ 'app.kubernetes.io/managed-by': 'meshstep' },
      ...{ 'meshstep.dev/application': 'web', 'meshstep.dev/namespace': 'shop' },
    },
  },
  spec: { rules: [{ to: [{ operation: { paths: PATHS } }] }] },
})

const plantedDocument = (index: number): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: `planted-${index}`, namespace: 'shop', labels: { 'meshstep.dev/kind': 'relation' } },
  data: {
    application: 'web',
    relation: JSON.stringify({ id: index, endpoint: 'api', interface: 'http', role: 'provides' }),
    remote: JSON.stringify({ application: 'db', data: { paths: JSON.stringify(PATHS) } }),
  },
})

const policy = {
  ...{ apiVersion: 'security.istio.io/v1', kind: 'AuthorizationPolicy' },
  ...{ metadata: { name: 'web-own' }, spec: {} },
}

test.each([
  ['policies of others in another namespace, labelled as its own', plantedPolicy, 'attacker', 200],
  ['policies in another namespace, written in its name', plantedPolicy, 'meshstep/web', 429],
  ['documents of one application', plantedDocument, 'attacker', 429],
])('a process of 128 MiB lives through 60 MB of %s', async (_, planted, manager, status) => {
  const cluster = await startCluster([
    ...[workload(), service()],
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'prod' } },
  ])
  const heap = { NODE_OPTIONS: '--max-old-space-size=57 --max-semi-space-size=8' }
  const { url, end } = await serve({ environment: { ...cluster.environment, ...heap } })
  const statusOf = async (answering: Promise<Response>): Promise<number> => {
    const answer = await answering
    await answer.arrayBuffer()
    return answer.status
  }
  expect(await statusOf(post(url, event('config-changed', { config: { rawPolicies: [policy] } })))).toBe(200)
  const objects = Array.from({ length: PLANTED }, (_unused, index) => planted(index))
  cluster.api.seed(objects, { manager })
  expect(await statusOf(fetch(`${url}/applications/shop/web`))).toBe(status)
  expect(await statusOf(fetch(`${url}/applications`))).toBe(200)
  expect(await statusOf(post(url, event('resync', {})))).toBe(status)
  // others are served
  const other = { namespace: 'prod', application: 'api', config: {} }
  expect(await statusOf(post(url, event('config-changed', other)))).toBe(200)
  expect(await end('SIGTERM')).toEqual({ code: 0, signal: null })
})
