import { describe, expect, test } from 'vitest'
import type { Operation } from '../../../../src/core/reconcile/decide/operation.ts'
import { planSecrets } from '../../../../src/core/reconcile/decide/plan-secret-store.ts'
import type { Observed } from '../../../../src/core/reconcile/observe/cluster.ts'
import { emptyState } from '../../../../src/core/state/state.ts'
import { storeName } from '../../../../src/core/workload/secrets.ts'
import { features } from '../../../../src/features.ts'
import type { KubernetesObject } from '../../../../src/platform/kubernetes/objects.ts'
import { owned, situationOf } from '../../../helpers/situations.ts'
import { NAMESPACE, workload } from '../../../helpers/world.ts'

const STORE = storeName('web')

const store = (...keys: string[]): KubernetesObject =>
  owned({
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: STORE, namespace: NAMESPACE } },
    data: Object.fromEntries(keys.map((key) => [key, ''])),
  })

const env = (...keys: string[]) =>
  keys.map((key) => ({ name: key.toUpperCase(), valueFrom: { secretKeyRef: { name: STORE, key } } }))

/** A config whose workload refers to keys of the Secret. */
const using = (...keys: string[]) => ({
  ...emptyState(),
  config: features.config.parse({
    workload: { podSpec: { containers: [{ name: 'web', image: 'x:1', env: env(...keys) }] } },
  }),
})

const pod = (...keys: string[]): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web-0', namespace: NAMESPACE } },
  spec: { containers: [{ env: env(...keys) }] },
})

const available = (...keys: string[]): KubernetesObject => ({
  ...{ ...workload(), ...pod(...keys), kind: 'StatefulSet' },
  status: { replicas: 1, availableReplicas: 1, updatedReplicas: 1 },
})

const planned = (
  found: Observed['owned']['store'] | KubernetesObject,
  state: ReturnType<typeof using>,
  running: Observed['running'] = { pods: [] },
  operations: readonly Operation[] = [],
) => {
  const read = found && 'kind' in found ? { object: found } : found
  return planSecrets(situationOf({ state, observed: { owned: { kinds: [], store: read }, running } }), operations)
}

const keysIn = (...args: Parameters<typeof planned>) =>
  planned(...args).operations.map((operation) => (operation.verb === 'forget' ? operation.keys : operation.verb))

const NOT_USING = { ...emptyState(), config: features.config.parse({}) }

describe('the Secret with the secret values of a workload', () => {
  test('the Secret with the secret values of a workload loses the keys to which nothing refers', () => {
    expect(keysIn(store('a', 'b', 'c'), using('b'))).toEqual([['a', 'c']])
    expect(keysIn(store('a', 'b'), using('a', 'b'))).toEqual([])
  })

  test('the Secret with the secret values of a workload goes with the last of them', () => {
    expect(keysIn(store('a'), NOT_USING)).toEqual(['remove'])
    expect(keysIn(store(), NOT_USING)).toEqual(['remove'])
    expect(keysIn(store('a'), using('b'))).toEqual([['a']])
    expect(keysIn(store(), using('b'))).toEqual([])
  })

  test.each<[string, Observed['running'], readonly unknown[]]>([
    ['a pod of an earlier template', { pods: [pod('b'), pod('a')] }, []],
    ['a workload that is not available', { workload: { ...available(), status: {} } }, []],
    ['an available workload', { workload: available('a') }, []],
    ['no pod', { pods: [pod('b')] }, [['a']]],
    ['no available workload', { workload: available('b') }, [['a']]],
    ['pods that are unknown', {}, []],
  ])('a key to which %s refers stays, as a container that restarts reads it again', (_, running, keys) => {
    expect(keysIn(store('a', 'b'), using('b'), running)).toEqual(keys)
  })

  test('a key of a workload that is gone stays for nobody', () => {
    expect(keysIn(store('a'), NOT_USING, {})).toEqual(['remove'])
    expect(keysIn(store('a'), NOT_USING, { pods: [pod('a')] })).toEqual(['remove'])
  })

  test('the Secret with the secret values of a workload goes after the Secrets and the workload that refer to it', () => {
    const operation = (verb: 'remove' | 'apply', object: string) =>
      ({ id: `${verb} ${object}`, object, verb }) as unknown as Operation
    const others = [
      ...[operation('remove', 'Secret shop/other'), operation('remove', 'StatefulSet shop/web')],
      ...[operation('remove', 'ConfigMap shop/web'), operation('apply', 'Secret shop/third')],
    ]
    const [gone] = planned(store('a'), NOT_USING, undefined, others).operations
    expect(gone).toMatchObject({
      ...{ id: `remove Secret shop/${STORE}`, manager: 'meshstep/web' },
      needs: ['remove Secret shop/other', 'remove StatefulSet shop/web'],
    })
  })

  test('a Secret with the name that somebody else made stays as it is', () => {
    const foreign = { ...store('a'), metadata: { name: STORE, namespace: NAMESPACE } }
    expect(planned(foreign, NOT_USING)).toEqual({ operations: [], problems: [] })
  })

  test('values that were lost are named', () => {
    const lost = (keys: string) =>
      `Secret shop/${STORE}: it no longer has ${keys}, which the config refers to. Send the config again; what runs stays`
    expect(planned(store('a'), using('a', 'b', 'c')).problems).toEqual([lost('b, c')])
    expect(planned({ object: undefined }, using('a')).problems).toEqual([lost('a')])
    expect(planned(store(), using('a', 'b', 'c', 'd', 'e', 'f')).problems).toEqual([lost('a, b, c, d, e')])
    expect(planned({ object: undefined }, NOT_USING)).toEqual({ operations: [], problems: [] })
  })

  test('a Secret that cannot be read is a problem where the config refers to it', () => {
    expect(planned({ problem: 'no' }, using('a'))).toEqual({ operations: [], problems: ['no'] })
    expect(planned({ problem: 'no' }, NOT_USING)).toEqual({ operations: [], problems: [] })
    expect(planned(undefined, using('a'))).toEqual({ operations: [], problems: [] })
  })
})
