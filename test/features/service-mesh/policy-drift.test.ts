import { describe, expect, test } from 'vitest'
import type { AuthorizationPolicy } from '../../../src/mesh/istio/authorization-policy.ts'
import {
  ask,
  BEACON,
  configure,
  createMesh,
  edit,
  path,
  policiesIn,
  remove,
  wire,
  writes,
} from '../../helpers/beacon-world.ts'
import type { World } from '../../helpers/world.ts'

/** A beacon that grants `web` the Service of `db`, and its pods on a port. */
const createGranted = async (kind: 'Service' | 'pods') => {
  const world = createMesh([], false)
  await configure(world, { mesh: {} })
  await ask(world, [kind === 'Service' ? wire() : wire({ target_type: 'unit', endpoints: [{ ports: [80] }] })])
  const [policy] = policiesIn(world)
  if (policy === undefined) throw new Error('expected a policy')
  world.calls.length = 0
  return { world, policy }
}

const withoutVersion = ({ metadata, ...others }: AuthorizationPolicy) => ({
  ...others,
  metadata: {
    name: metadata.name,
    namespace: metadata.namespace,
    labels: metadata.labels,
    annotations: metadata.annotations,
  },
})

const now = (world: World) => policiesIn(world).map(withoutVersion)

const NO_LABELS = {
  'app.kubernetes.io/managed-by': null,
  'meshstep.dev/application': null,
  'meshstep.dev/namespace': null,
}

describe('what somebody changes in a policy is taken back at the next event', () => {
  test.each<[string, Record<string, unknown>]>([
    ['it lets everybody in', { spec: { rules: [{}] } }],
    ['it lets nobody in', { spec: { rules: null } }],
    ['it denies', { spec: { action: 'DENY' } }],
    ['it guards another Service', { spec: { targetRefs: [{ group: '', kind: 'Service', name: 'web' }] } }],
    ['it guards nothing', { spec: null }],
    ['it has none of our labels', { metadata: { labels: NO_LABELS } }],
    ['it has not the label of its namespace', { metadata: { labels: { 'meshstep.dev/namespace': null } } }],
    ['it carries other labels of ours', { metadata: { labels: { 'meshstep.dev/application': 'other' } } }],
    ['it does not say who asked for it', { metadata: { annotations: { 'meshstep.dev/requested-by': null } } }],
    ['it names another who asked for it', { metadata: { annotations: { 'meshstep.dev/requested-by': 'me' } } }],
  ])('%s', async (_, patch) => {
    const { world, policy } = await createGranted('Service')
    edit(world, path(policy), patch)
    expect(await world.send('resync', BEACON)).toMatchObject({ status: 'changed', conflicts: [] })
    expect(writes(world)).toEqual([`PATCH ${path(policy)}`])
    expect(now(world)).toEqual([withoutVersion(policy)])
    expect((await world.send('resync', BEACON)).status).toBe('unchanged')
  })

  test('it was deleted', async () => {
    const { world, policy } = await createGranted('Service')
    remove(world, path(policy))
    expect((await world.send('resync', BEACON)).status).toBe('changed')
    expect(now(world)).toEqual([withoutVersion(policy)])
  })

  test('it was changed while its source went: the new one holds', async () => {
    const { world, policy } = await createGranted('Service')
    edit(world, path(policy), { spec: { rules: [{}] } })
    await ask(world, [wire({ source_app_name: 'cart' })])
    expect(policiesIn(world)[0]?.spec.rules).toEqual([
      { from: [{ source: { principals: ['cluster.local/ns/shop/sa/cart'] } }] },
    ])
  })
})

describe('what somebody adds to a policy', () => {
  test.each<[string, Record<string, unknown>]>([
    ['a label that narrows its selector', { spec: { selector: { matchLabels: { version: 'v1' } } } }],
    ['a provider', { spec: { provider: { name: 'theirs' } } }],
  ])('what somebody adds to the spec of a policy is a conflict until it is gone: %s', async (_, patch) => {
    const { world, policy } = await createGranted('pods')
    edit(world, path(policy), patch)
    for (const __ of [1, 2])
      expect(await world.send('resync', BEACON)).toMatchObject({
        status: 'conflict',
        conflicts: [
          { object: `AuthorizationPolicy shop/${policy.metadata.name}`, manager: 'kubectl-edit', key: 'spec' },
        ],
      })
    expect(writes(world)).toEqual([])
    edit(world, path(policy), { spec: { selector: { matchLabels: { version: null } }, provider: null } })
    expect(await world.send('resync', BEACON)).toMatchObject({ status: 'unchanged', conflicts: [] })
  })

  test('what somebody adds to a policy as labels and annotations stays, and is no business of ours', async () => {
    const { world, policy } = await createGranted('Service')
    edit(world, path(policy), { metadata: { labels: { team: 'red' }, annotations: { seen: 'yes' } } })
    expect(await world.send('resync', BEACON)).toMatchObject({ status: 'unchanged', conflicts: [] })
    await ask(world, [])
    expect(policiesIn(world)).toEqual([])
  })
})

test('a copy of a policy under another name, labels and all, is not ours: it stays', async () => {
  const { world, policy } = await createGranted('Service')
  const { labels = {}, annotations = {} } = policy.metadata
  world.api.seed([{ ...policy, metadata: { name: 'copy', namespace: 'shop', labels, annotations } }], {
    manager: 'kubectl',
  })
  expect(await world.send('resync', BEACON)).toMatchObject({ status: 'unchanged', conflicts: [] })
  await world.send('application-removed', BEACON)
  expect(policiesIn(world).map(({ metadata }) => metadata.name)).toEqual(['copy'])
})
