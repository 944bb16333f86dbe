import type { V1ContainerPort } from '@kubernetes/client-node'

/** A port of a Service, with the same number on the pod. */
export type NamedServicePort = { readonly name: string; readonly port: number; readonly protocol: string }

type Pod = { readonly containers: readonly { readonly ports?: readonly V1ContainerPort[] | undefined }[] }

/**
 * Computes the ports of a Service for these containers, in order, each number and protocol once. Every port has a name, because a Service
 * with several needs them: the container's own, or one that Istio does not read as a protocol, as it would read `tcp-80`.
 */
export const servicePorts = ({ containers }: Pod): NamedServicePort[] => {
  const ports = containers
    .flatMap(({ ports = [] }) => ports)
    .map(({ containerPort: port, name, protocol = 'TCP' }) => ({
      name: name ?? nameOf(port, protocol),
      port,
      protocol,
    }))
  return [...Map.groupBy(ports, ({ port, protocol }) => `${port}/${protocol}`).values()].flatMap((same) =>
    same.slice(0, 1),
  )
}

const nameOf = (port: number, protocol: string): string =>
  protocol === 'TCP' ? `port-${port}` : `port-${port}-${protocol.toLowerCase()}`
