import { MESH_LABELS } from '../../core/relations/mesh-labels.ts'
import { canonicalHash } from '../../platform/base/canonical-hash.ts'
import { type PodLike, podLabels, serviceAccountName } from '../../platform/kubernetes/pod-like.ts'
import type { ClusterSnapshot } from './evaluate.ts'
import { GATEWAY_NAME, isOnMesh, type ObservedPods, withEachCapture } from './pods.ts'

/** The properties of pods on which an answer may depend, besides enrolment, by their name in a sentence. */
export type Aspects = Readonly<Record<string, (pod: PodLike) => unknown>>

export const CLIENT_ASPECTS: Aspects = { ServiceAccounts: serviceAccountName }

/** Selects the properties of destination pods. Labels count only if something selects them, because controllers set other labels on each pod or revision. */
export const destinationAspects = (snapshot: ClusterSnapshot): Aspects => {
  const keys = selectedKeys(snapshot)
  return {
    labels: (pod) => Object.fromEntries(Object.entries(podLabels(pod)).filter(([key]) => keys.has(key))),
    'named ports': namedPorts,
  }
}

const selectedKeys = ({
  policies,
  unreadable = [],
  peerAuthentications = [],
  services,
}: ClusterSnapshot): ReadonlySet<string> => {
  const selectors = [
    ...policies.map(({ spec }) => spec?.selector?.matchLabels),
    ...unreadable.map(({ attachment }) => attachment?.selector?.matchLabels),
    ...[...peerAuthentications, ...services].map(({ selector }) => selector),
  ]
  return new Set([...READ_BY_ISTIO, ...selectors.flatMap((selector) => Object.keys(selector ?? {}))])
}

const READ_BY_ISTIO = [...MESH_LABELS.keys(), GATEWAY_NAME, 'gateway.istio.io/managed']

const namedPorts = ({ spec }: PodLike): unknown =>
  (spec?.containers ?? [])
    .flatMap(({ ports = [] }) => ports)
    .flatMap(({ name, containerPort }) => (name === undefined ? [] : [{ name, containerPort }]))

type Labels = Readonly<Record<string, string>>

/**
 * Divides pods into kinds that differ in capture or in another property. Each kind is represented by one running pod. A pod of which it is not known if the
 * mesh captures it is of both kinds.
 */
export const kindsOfPods = (pods: ObservedPods, namespace: Labels, aspects: Aspects): ObservedPods[] => {
  const { running } = withEachCapture(pods, namespace)
  if (running.length < 2) return [pods]
  const kinds = Map.groupBy(running, (pod) =>
    canonicalHash([isOnMesh(pod, namespace), ...Object.values(aspects).map((aspect) => aspect(pod))]),
  )
  return kinds.size > 1 ? [...kinds.values()].map((alike) => ({ ...pods, running: alike.slice(0, 1) })) : [pods]
}

/** Describes how the pods on the mesh differ, or all pods if none is on it. Returns undefined if they are alike. */
export const describeKinds = ({ running }: ObservedPods, namespace: Labels, aspects: Aspects): string | undefined => {
  const enrolled = running.filter((pod) => isOnMesh(pod, namespace))
  const pods = enrolled.length > 0 ? enrolled : running
  const different = Object.entries(aspects).filter(
    ([, aspect]) => new Set(pods.map((pod) => canonicalHash(aspect(pod)))).size > 1,
  )
  return different.length > 0 ? `the pods have different ${different.map(([name]) => name).join(' and ')}` : undefined
}
