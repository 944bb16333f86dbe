import { readAuthorizationPolicy } from '../../../mesh/istio/authorization-policy.ts'
import { perObject } from '../../../platform/base/per-object.ts'
import type { KubernetesObject } from '../../../platform/kubernetes/objects.ts'
import type { PodLike } from '../../../platform/kubernetes/pod-like.ts'
import { GATEWAY_NAME, type ObservedPods } from '../../authorization/pods.ts'

/** Lists the label keys that any selector uses. */
export const selectedKeys = (objects: readonly KubernetesObject[]): ReadonlySet<string> =>
  new Set(objects.flatMap((one) => Object.keys(selectorOf(one) ?? {})))

const selectorOf = (object: KubernetesObject): object | undefined => {
  const { selector }: { selector?: { matchLabels?: object } } = object.spec ?? {}
  if (object.kind === 'Service') return selector
  if (object.kind === 'PeerAuthentication') return selector?.matchLabels
  if (object.kind !== 'AuthorizationPolicy') return undefined
  const read = readAuthorizationPolicy(object)
  return ('policy' in read ? read.policy.spec : read.attachment)?.selector?.matchLabels
}

/** Keeps one pod for each set of pods that results cannot depend on. Controllers label each pod with its number or revision. */
export const distinctPods = ({ running, ...pods }: ObservedPods, keys: ReadonlySet<string>): ObservedPods => {
  if (running.length < 2) return { ...pods, running }
  const text = ({ metadata: { labels = {}, annotations = {} } = {}, spec = {} }: PodLike) =>
    JSON.stringify([
      Object.entries(labels).filter(([key]) => keys.has(key) || isOfMesh(key)),
      annotations,
      textOf(spec),
    ])
  return { ...pods, running: [...Map.groupBy(running, text).values()].flatMap((alike) => alike.slice(0, 1)) }
}

const isOfMesh = (key: string): boolean => key.includes('istio.io/') || key === GATEWAY_NAME

const textOf = perObject((spec: object): string => JSON.stringify(spec))
