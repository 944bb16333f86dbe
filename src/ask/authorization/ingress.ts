import { gatewayAccount } from '../../mesh/istio/names.ts'
import { ownValue } from '../../platform/base/own-value.ts'
import type { Subject } from '../../platform/base/subject.ts'
import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import type { PodLike } from '../../platform/kubernetes/pod-like.ts'
import { Gateway, takesCertificates } from './gateway.ts'
import { GATEWAY_NAME, type ObservedPods } from './pods.ts'

/** Finds the Gateway of this name that takes traffic from outside. Waypoints and east-west gateways are left out. */
export const findIngress = (
  gateways: readonly KubernetesObject[] | undefined,
  { namespace, application }: Subject,
): KubernetesObject | undefined =>
  gateways?.find(
    ({ metadata, spec }) =>
      metadata.namespace === namespace && metadata.name === application && !MESH_CLASSES.includes(gatewayClass(spec)),
  )

const MESH_CLASSES = ['istio-waypoint', 'istio-east-west']

const gatewayClass = (spec: KubernetesObject['spec']): string => String(spec?.gatewayClassName)

/**
 * Returns the Gateway's running pods, or else the pod that Istio would create. That pod runs as `{name}-{class}` unless an annotation names another
 * ServiceAccount.
 */
export const gatewayPods = ({ metadata, spec }: KubernetesObject, running: readonly PodLike[]): ObservedPods => {
  const { name, annotations } = metadata
  const serviceAccountName = gatewayAccount(annotations, `${name}-${gatewayClass(spec)}`)
  const expected = { metadata: { labels: { [GATEWAY_NAME]: name } }, spec: { serviceAccountName } }
  return { running: running.length > 0 ? running : [expected] }
}

const CARRIES: Readonly<Record<string, 'http' | 'tcp'>> = { HTTP: 'http', HTTPS: 'http', TLS: 'tcp', TCP: 'tcp' }

/** Finds the protocol of the listener on a port, or reports that there is none. */
export const findListener = (
  gateway: KubernetesObject,
  port: number,
): { protocol?: 'http' | 'tcp' | undefined; takesCertificates?: boolean; lacking?: string } => {
  const parsed = Gateway.parse(gateway)
  const listener = parsed.spec.listeners.find((one) => one.port === port)
  if (listener === undefined) return { lacking: `the gateway has no listener on port ${port}` }
  return { protocol: ownValue(CARRIES, listener.protocol), takesCertificates: takesCertificates(parsed, port) }
}
