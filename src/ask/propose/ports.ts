import type { KubernetesObject } from '../../platform/kubernetes/objects.ts'
import type { PodLike } from '../../platform/kubernetes/pod-like.ts'
import { findNamedPort } from '../authorization/pods.ts'
import { detectProtocol, tcpPorts } from '../authorization/protocol.ts'

/** The ports that clients of a Service may have used. Metrics name no port, but HTTP alone uses none that declares another protocol. */
export const servicePorts = (service: KubernetesObject, isHttpAlone: boolean): number[] => {
  const all = tcpPorts(service)
  const fitting = isHttpAlone ? all.filter((one) => detectProtocol(one) !== 'tcp') : all
  return [...new Set((fitting.length > 0 ? fitting : all).map(({ port }) => port))]
}

/** The ports of the pods behind Services. Undefined where one of them has a name that no container knows. */
export const podPorts = (services: readonly KubernetesObject[], template: PodLike): number[] | undefined => {
  const found = services.flatMap(tcpPorts).map(({ port, targetPort = port }) => {
    if (typeof targetPort === 'number') return targetPort
    return findNamedPort(template, targetPort)
  })
  const known = found.filter((port) => port !== undefined)
  return found.length > 0 && known.length === found.length ? [...new Set(known)] : undefined
}
