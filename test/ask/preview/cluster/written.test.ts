import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPlannedCluster } from '../../../../src/ask/preview/cluster/planned-cluster.ts'
import { createEmbeddedApi } from '../../../../src/embedded/api/api.ts'
import { createKubernetes, type Kubernetes } from '../../../../src/platform/kubernetes/client.ts'
import type { FieldSet, KubernetesObject } from '../../../../src/platform/kubernetes/objects.ts'
import { fakeClock } from '../../../helpers/clock.ts'
import { workload } from '../../../helpers/world.ts'

type Labels = Readonly<Record<string, string>>
type Write =
  | { readonly how: 'apply'; readonly manager: string; readonly labels: Labels; readonly images: Labels }
  | { readonly how: 'remove'; readonly key: string }

const MANAGERS = ['one', 'two', 'three']
const some = (keys: readonly string[], values: readonly string[]) =>
  fc.dictionary(fc.constantFrom(...keys), fc.constantFrom(...values), { maxKeys: 3 })

const write: fc.Arbitrary<Write> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      how: fc.constant('apply' as const),
      manager: fc.constantFrom(...MANAGERS),
      labels: some(['a', 'b', 'tier/x'], ['1', '2']),
      images: some(['c', 'd'], ['x:1', 'y:2']),
    }),
  },
  { weight: 1, arbitrary: fc.record({ how: fc.constant('remove' as const), key: fc.constantFrom('a', 'b') }) },
)

const WEB = { kind: 'StatefulSet', namespace: 'shop', name: 'web' } as const

const sent = ({ labels, images }: Extract<Write, { how: 'apply' }>): KubernetesObject => {
  const containers = Object.entries(images).map(([name, image]) => ({ name, image }))
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'web', namespace: 'shop', ...(Object.keys(labels).length > 0 && { labels }) },
    ...(containers.length > 0 && { spec: { template: { spec: { containers } } } }),
  }
}

/** Writes as steps and people do, and ignores what is refused: both sides refuse the same. */
const perform = async (kubernetes: Kubernetes, writes: readonly Write[]): Promise<KubernetesObject> => {
  for (const one of writes) {
    const live = await kubernetes.find(WEB)
    if (one.how === 'apply') await kubernetes.apply(sent(one), one.manager, { force: true })
    else if (live?.metadata.labels?.[one.key] !== undefined)
      await kubernetes.patch(WEB, [{ op: 'remove', path: `/metadata/labels/${one.key}` }], 'patcher')
  }
  return (await kubernetes.find(WEB)) as KubernetesObject
}

type Template = { template: { spec: { containers: { name: string; image: string }[] } } }

/** The labels and images, and who holds each of them. */
const told = (object: KubernetesObject) => ({
  labels: object.metadata.labels ?? {},
  images: (object.spec as Template).template.spec.containers.map(({ name, image }) => `${name} ${image}`).toSorted(),
  managers: (object.metadata.managedFields ?? [])
    .filter(({ manager }) => MANAGERS.includes(manager))
    .map(({ manager, fieldsV1 = {} }) => [manager, held(fieldsV1)])
    .toSorted(),
})

const held = (fields: FieldSet, path = ''): string[] =>
  Object.entries(fields)
    .flatMap(([element, below]) =>
      element === '.' ? [] : Object.keys(below).length > 0 ? held(below, `${path} ${element}`) : [`${path} ${element}`],
    )
    .toSorted()

const place = () => {
  const clock = fakeClock()
  const [real, base] = [createEmbeddedApi(), createEmbeddedApi()]
  for (const api of [real, base]) api.seed([workload('StatefulSet', 'web')], { manager: 'owner' })
  const deadline = clock.now() + 20_000
  const clientOf = (api: typeof real) =>
    createKubernetes({ transport: async (request) => api.handle(request), clock, deadline })
  return { real: clientOf(real), planned: createPlannedCluster(clientOf(base), clock, deadline), base }
}

test('an apply changes plain objects as an API server changes its own, whoever applied before', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(write, { maxLength: 8 }), async (writes) => {
      const { real, planned } = place()
      expect(told(await perform(planned.kubernetes, writes))).toEqual(told(await perform(real, writes)))
    }),
    { numRuns: 100, seed: 49 },
  )
})

test('an apply replaces a selector as a whole, as the API server does', async () => {
  const { planned, base } = place()
  const service = (selector: Labels): KubernetesObject => ({
    ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'shop' } },
    spec: { selector, ports: [{ port: 80 }] },
  })
  base.seed([service({ app: 'web' })])
  const applied = await planned.kubernetes.apply(service({ tier: 'b' }), 'one', { force: true })
  expect(applied.spec?.selector).toEqual({ tier: 'b' })
})

describe('a planned cluster', () => {
  test('reads each object once, and writes none', async () => {
    const { planned, base } = place()
    const before = JSON.stringify(base.objects())
    await perform(planned.kubernetes, [{ how: 'apply', manager: 'one', labels: { a: '1' }, images: {} }])
    expect(JSON.stringify(base.objects())).toBe(before)
    const { before: was, after: is } = planned.objects()
    expect([was, is].map((side) => side.find(({ kind }) => kind === 'StatefulSet')?.metadata.labels?.a)).toEqual([
      undefined,
      '1',
    ])
  })

  test('refuses a write that is bound to an earlier version, as two steps may write at once', async () => {
    const { kubernetes } = place().planned
    const seen = (await kubernetes.find(WEB)) as KubernetesObject
    await kubernetes.apply(sent({ how: 'apply', manager: 'one', labels: { a: '1' }, images: {} }), 'one', {
      force: true,
    })
    await expect(kubernetes.replace(seen, 'two')).rejects.toThrow('409')
    const now = (await kubernetes.find(WEB)) as KubernetesObject
    const labelled = (name: string) => ({ ...now, metadata: { ...now.metadata, labels: { name } } })
    const both = await Promise.allSettled(['three', 'four'].map((name) => kubernetes.replace(labelled(name), name)))
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    await expect(kubernetes.remove(seen)).rejects.toThrow('409')
    await expect(kubernetes.create(seen)).rejects.toThrow('409')
  })

  test('does not bring back what was removed, by whichever list it is read again', async () => {
    const { kubernetes } = place().planned
    await kubernetes.remove((await kubernetes.find(WEB)) as KubernetesObject)
    expect(await kubernetes.list('StatefulSet', 'shop')).toEqual([])
    expect(await kubernetes.list('Pod', 'shop', 'app.kubernetes.io/name in (web),!x')).toEqual([])
  })

  test('keeps a namespace that is being deleted while it is written, as it ends with all that is in it', async () => {
    const { planned } = place()
    const metadata = { name: 'ending', deletionTimestamp: '2026-01-01T00:00:00Z' }
    await planned.take({ apiVersion: 'v1', kind: 'Namespace', metadata })
    const labelled = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ending', labels: { a: '1' } } }
    await planned.kubernetes.apply(labelled, 'one', { force: true })
    const found = await planned.kubernetes.find({ kind: 'Namespace', name: 'ending' })
    expect(found?.metadata).toMatchObject({ labels: { a: '1' }, deletionTimestamp: expect.any(String) })
  })

  test('lists by any selector, beside what it wrote', async () => {
    const { kubernetes } = place().planned
    const policy = (name: string, labels: Labels): KubernetesObject => ({
      ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop', labels } },
    })
    for (const [name, labels] of [
      ['a', { x: '1' }],
      ['b', { x: '2', y: '' }],
      ['c', {}],
    ] as const)
      await kubernetes.create(policy(name, labels))
    const found = async (selector: string) =>
      (await kubernetes.list('ConfigMap', 'shop', selector)).map(({ metadata }) => metadata.name)
    expect(await Promise.all(['x=1', 'x!=1', 'x', '!x', 'x in (1, 2),!y', 'x notin (1),x', 'y='].map(found))).toEqual([
      ...[['a'], ['b', 'c'], ['a', 'b'], ['c'], ['a'], ['b'], ['b']],
    ])
  })

  test.each([
    ['a template that changes renews the pods', { labels: { team: 'red' } }, 'red', 2],
    ['but not those that wait for a person', { labels: { team: 'red' }, strategy: 'OnDelete' }, 'blue', 2],
    ['fewer replicas take pods away', { replicas: 1 }, 'blue', 1],
    ['and more bring some', { replicas: 3 }, 'blue', 3],
  ] as const)('follows a workload: %s', async (_, change, team, count) => {
    const { planned } = place()
    const { labels, strategy, replicas }: { labels?: Labels; strategy?: string; replicas?: number } = change
    const spec = {
      ...(labels && { template: { metadata: { labels } } }),
      ...(strategy && { updateStrategy: { type: strategy } }),
      ...(replicas && { replicas }),
    }
    const applied = { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'web', namespace: 'shop' }, spec }
    await planned.kubernetes.apply(applied, 'person', { force: true })
    const pods = await planned.kubernetes.list('Pod', 'shop')
    expect(pods.map(({ metadata }) => [metadata.name, metadata.labels?.team])).toEqual(
      Array.from({ length: count }, (_, index) => [`web-${index}`, team]),
    )
  })

  test('gives a paused Deployment that grows pods of the template that it had', async () => {
    const { planned, base } = place()
    base.seed([workload('Deployment', 'api')])
    const spec = { paused: true, replicas: 3, template: { metadata: { labels: { team: 'red' } } } }
    const applied = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'api', namespace: 'shop' }, spec }
    await planned.kubernetes.apply(applied, 'person', { force: true })
    const pods = await planned.kubernetes.list('Pod', 'shop', 'app.kubernetes.io/name=api')
    expect(pods.map(({ metadata }) => metadata.labels?.team)).toEqual(['blue', 'blue', 'blue'])
  })

  test.each([true, false])('marks new pods where its cluster marks them, and nowhere else: %s', async (isMarking) => {
    const { planned, base } = place()
    const labels = { 'istio.io/dataplane-mode': 'ambient' }
    for (const index of isMarking ? [0, 1] : [])
      base.handle({
        method: 'PATCH',
        path: `/api/v1/namespaces/shop/pods/web-${index}`,
        headers: { 'content-type': 'application/merge-patch+json' },
        body: JSON.stringify({ metadata: { annotations: { 'ambient.istio.io/redirection': 'enabled' } } }),
      })
    const applied = {
      ...{ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'web', namespace: 'shop' } },
      spec: { template: { metadata: { labels } } },
    }
    await planned.kubernetes.apply(applied, 'person', { force: true })
    const marks = (await planned.kubernetes.list('Pod', 'shop')).map(
      ({ metadata }) => metadata.annotations?.['ambient.istio.io/redirection'],
    )
    expect(new Set(marks)).toEqual(new Set([isMarking ? 'enabled' : undefined]))
  })
})
