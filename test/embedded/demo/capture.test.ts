import { expect, test } from 'vitest'
import { createEmbeddedApi, type EmbeddedApi } from '../../../src/embedded/api/api.ts'
import { startIstio } from '../../../src/embedded/demo/istio.ts'
import type { KubernetesObject } from '../../../src/platform/kubernetes/objects.ts'
import { workload } from '../../helpers/world.ts'

const MODE = 'istio.io/dataplane-mode'
const MARK = 'ambient.istio.io/redirection'
const POD = '/api/v1/namespaces/shop/pods/web-0'
const STATEFUL_SET = '/apis/apps/v1/namespaces/shop/statefulsets/web'

const patch = (api: Pick<EmbeddedApi, 'handle'>, path: string, change: object) =>
  api.handle({
    ...{ method: 'PATCH', path, headers: { 'content-type': 'application/merge-patch+json' } },
    body: JSON.stringify(change),
  })

const label = (mode: string | null) => ({ metadata: { labels: { [MODE]: mode } } })

const markOf = (objects: readonly KubernetesObject[], name = 'web-0'): string | undefined =>
  objects.find(({ kind, metadata }) => kind === 'Pod' && metadata.name === name)?.metadata.annotations?.[MARK]

const createCluster = (isMarking = true): EmbeddedApi => {
  const api = createEmbeddedApi()
  if (isMarking) startIstio({ api })
  api.seed([workload('StatefulSet', 'web')])
  return api
}

test('a pod has the mark of Istio’s CNI while a label puts it on the mesh', () => {
  const api = createCluster()
  const after = (path: string, change: object) => {
    patch(api, path, change)
    return markOf(api.objects())
  }
  expect(markOf(api.objects())).toBeUndefined()
  expect(after(POD, label('ambient'))).toBe('enabled')
  expect(after(POD, label(null))).toBeUndefined()
  expect(after('/api/v1/namespaces/shop', label('ambient'))).toBe('enabled')
  expect(after(POD, label('none'))).toBeUndefined()
  expect(after(STATEFUL_SET, { spec: { template: label('ambient') } })).toBe('enabled')
  expect(after(STATEFUL_SET, { spec: { template: { spec: { hostNetwork: true } } } })).toBeUndefined()
})

test('a pod that somebody has marked otherwise stays as it is', () => {
  const api = createCluster()
  patch(api, POD, { metadata: { ...label('ambient').metadata, annotations: { [MARK]: 'disabled' } } })
  expect(markOf(api.objects())).toBe('disabled')
})
