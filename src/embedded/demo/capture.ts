import { at, type Json, listOf } from '../../platform/base/json.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import type { EmbeddedApi } from '../api/api.ts'

const MODE = 'istio.io/dataplane-mode'
export const MARK = 'ambient.istio.io/redirection'

type Options = {
  readonly api: EmbeddedApi
  /** Tells if the CNI runs. @default always */
  readonly runs?: () => boolean
}

/**
 * Does what Istio's CNI does, as far as others see it: it marks each pod that it captures, and takes the mark off a pod that it captures no more. A pod that
 * somebody has marked otherwise stays as it is, so that one can be seen that is not captured.
 */
export const startCapture = ({ api, runs = () => true }: Options): { stop(): void } => {
  const react = ({ kind, metadata }: KubernetesObject): void => {
    if (!runs()) return
    if (kind === 'Pod') markAll(api, metadata.namespace, metadata.name)
    if (kind === 'Namespace') markAll(api, metadata.name)
  }
  for (const object of api.objects()) react(object)
  return { stop: api.subscribe(({ object }) => react(object)) }
}

/** Marks the pods of a namespace, or one of them, as they are now. */
const markAll = (api: EmbeddedApi, namespace: string | undefined, name?: string): void => {
  const pods = `/api/v1/namespaces/${namespace}/pods`
  const found = name === undefined ? at(read(api, pods), 'items') : [read(api, `${pods}/${name}`) ?? []].flat()
  const labels = at(read(api, `/api/v1/namespaces/${namespace}`), 'metadata', 'labels')
  for (const pod of listOf(found)) mark(api, pod, labels)
}

/** See Istio's cni/pkg/util/podutil.go. */
const mark = (api: EmbeddedApi, pod: Json, namespace: Json | undefined): void => {
  const { name, namespace: home } = at(pod, 'metadata') as KubernetesObject['metadata']
  const modes = [at(pod, 'metadata', 'labels', MODE), at(namespace, MODE)]
  const isMeant = modes.includes('ambient') && modes[0] !== 'none'
  const isFit =
    at(pod, 'spec', 'hostNetwork') !== true &&
    at(pod, 'metadata', 'annotations', 'sidecar.istio.io/status') === undefined
  const present = at(pod, 'metadata', 'annotations', MARK)
  const isCaptured = isMeant && isFit && at(pod, 'status', 'phase') === 'Running'
  const wanted = isCaptured ? 'enabled' : undefined
  if (present === wanted || (present !== undefined && present !== 'enabled')) return
  // Istio writes it with the status of the pod, which is no way to write annotations here
  api.handle({
    method: 'PATCH',
    path: `/api/v1/namespaces/${home}/pods/${name}?fieldManager=install-cni`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify({ metadata: { annotations: { [MARK]: wanted ?? null } } }),
  })
}

const read = (api: EmbeddedApi, path: string): Json | undefined => {
  const { status, body } = api.handle({ method: 'GET', path, headers: {} })
  return status === 200 ? JSON.parse(body) : undefined
}
