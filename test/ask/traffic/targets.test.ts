import { expect, test } from 'vitest'
import { samePodsIn, targetsOnMesh } from '../../../src/ask/traffic/targets.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'

const ON = { 'istio.io/dataplane-mode': 'ambient' }

const object = (kind: string, name: string, of: Partial<KubernetesObject['metadata']> = {}): KubernetesObject => ({
  ...{ apiVersion: 'v1', kind, metadata: { namespace: 'shop', name, ...of } },
})

/** A pod of the StatefulSet `owner`. */
const pod = (owner: string, labels: Record<string, string>, status = {}): KubernetesObject => ({
  ...object('Pod', `${owner}-0`, {
    labels: { app: owner, ...labels },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: owner, uid: 'x', controller: true }],
  }),
  status,
})

const service = (name: string, selector: Record<string, string>): KubernetesObject => ({
  ...object('Service', name),
  spec: { selector },
})

const HOME = object('Namespace', 'shop')

test('a target is on the mesh if all its pods are, by its own name and by those of its Services', () => {
  const pods = [pod('db', ON), pod('db', ON), pod('web', ON), pod('web', {}), pod('old', {})]
  const services = [service('data', { app: 'db' }), service('front', { app: 'web' }), service('none', {})]
  expect(targetsOnMesh(HOME, pods, services)).toEqual(['shop/data', 'shop/db'])
})

test('a Service over pods that are not all on the mesh is not on it', () => {
  const tier = { tier: 'back' }
  expect(targetsOnMesh(HOME, [pod('db', { ...ON, ...tier }), pod('old', tier)], [service('back', tier)])).toEqual([
    'shop/db',
  ])
})

test('a namespace puts its pods on the mesh, and pods that ended do not count', () => {
  const home = object('Namespace', 'shop', { labels: ON })
  const pods = [pod('db', {}), pod('db', { 'istio.io/dataplane-mode': 'none' }, { phase: 'Succeeded' })]
  expect(targetsOnMesh(home, pods, [])).toEqual(['shop/db'])
})

test('names that mean the same pods are told, if they differ', () => {
  const ended = { ...pod('job', {}), status: { phase: 'Succeeded' } }
  const services = [service('db', { app: 'db' }), service('data', { app: 'db' }), service('web', { app: 'web' })]
  expect(samePodsIn([pod('db', ON), pod('db', ON), pod('web', ON), ended], services)).toEqual([
    ['shop/data', 'shop/db'],
  ])
})
